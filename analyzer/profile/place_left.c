/* Finds files to which other processes write profiles, or wrote until they were killed. */
#include "analyzer/profile/place.h"

#include "analyzer/profile/place_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char suffix[] = PLACE_SUFFIX;
enum { OLD_S = 60 /* seconds; the writer of a younger file may not have locked it yet */ };

char *place_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

void place_remove_siblings(const char *path)
{
    static const char *const endings[] = {"-journal", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char *name = NULL;
        struct stat st;
        if (asprintf(&name, "%s%s", path, endings[i]) < 0)
            return;
        if (lstat(name, &st) == 0 && S_ISREG(st.st_mode))
            unlink(name);
        free(name);
    }
}

/* True if `file` is NAME.XXXXXX.partial for this NAME. */
static bool is_partial_of(const char *file, const char *name)
{
    size_t n = strlen(name);
    return strncmp(file, name, n) == 0 && file[n] == '.' &&
           strlen(file) == n + 1 + PLACE_UNIQUE + sizeof suffix - 1 &&
           strcmp(file + n + 1 + PLACE_UNIQUE, suffix) == 0;
}

/* The process that writes the file; 0 = none; -1 = not known, or no file of this user. While SQLite
 * writes a file it holds a lock on it, which ends with the process. */
static pid_t writer(int folder, const char *file)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat st;
    int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -1;
    bool ours = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
    int rc = ours ? fcntl(fd, F_GETLK, &lock) : -1;
    close(fd);
    if (rc < 0)
        return -1;
    return lock.l_type == F_UNLCK ? 0 : lock.l_pid > 0 ? lock.l_pid : -1;
}

/* True if the file must be kept: it was written recently, or its folder of spools still exists, so
 * that both can be imported. */
static bool is_wanted(int folder, const char *file)
{
    char spools[sizeof SPOOLS_FOLDER_TEMPLATE];
    struct stat st, with;
    const char *tag = file + strlen(file) - (sizeof suffix - 1) - PLACE_UNIQUE;
    if (fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW) < 0 || time(NULL) - st.st_mtime < OLD_S)
        return true;
    snprintf(spools, sizeof spools, "%s%.*s", SPOOLS_FOLDER_PREFIX, PLACE_UNIQUE, tag);
    return fstatat(folder, spools, &with, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(with.st_mode) &&
           st.st_size > 0;
}

/* True if the file looks like one that gpuprof leaves: a database, one whose first page
 * was not written yet, or empty. A user's own file with such a name
 * (x.gpuprof.backup.partial) begins differently. */
static bool is_left_by_us(int folder, const char *file)
{
    static const char database[16] = "SQLite format 3", nothing[16];
    char head[sizeof database];
    int fd = openat(folder, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, head, sizeof head) : -1;
    if (fd >= 0)
        close(fd);
    return n == 0 || (n == (ssize_t)sizeof head && (memcmp(head, database, sizeof head) == 0 ||
                                                    memcmp(head, nothing, sizeof head) == 0));
}

static void remove_partial(int folder, const char *file)
{
    char journal[NAME_MAX + 1];
    if ((size_t)snprintf(journal, sizeof journal, "%s-journal", file) < sizeof journal)
        unlinkat(folder, journal, 0);
    unlinkat(folder, file, 0);
}

pid_t place_look_for_others(int folder, const char *name, bool alone)
{
    int copy = dup(folder);
    DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
    pid_t found = 0;
    if (!d) {
        if (copy >= 0)
            close(copy);
        return 0;
    }
    rewinddir(d);
    for (struct dirent *f; (f = readdir(d));) {
        if (!is_partial_of(f->d_name, name))
            continue;
        pid_t pid = writer(folder, f->d_name);
        if (pid > 0)
            found = pid;
        else if (pid == 0 && alone && !is_wanted(folder, f->d_name) &&
                 is_left_by_us(folder, f->d_name))
            remove_partial(folder, f->d_name);
    }
    closedir(d);
    return found;
}

int place_unfinished(const char *path, struct err *e)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name), end = sizeof suffix - 1;
    bool partial = n > end && strcmp(name + n - end, suffix) == 0;
    char *folder = partial || access(path, F_OK) != 0 ? place_folder(path) : NULL;
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    if (fd < 0)
        return 0;
    pid_t pid = partial ? writer(fd, name) : place_look_for_others(fd, name, false);
    close(fd);
    if (pid <= 0)
        return 0;
    return err_set(e,
                   "%s: gpuprof (process %d) is still writing this profile; it is complete when "
                   "the run has ended",
                   path, (int)pid);
}

/* True if `file` is ANY.XXXXXX.partial with this tag as XXXXXX. */
static bool has_tag(const char *file, const char *tag)
{
    size_t n = strlen(file), end = PLACE_UNIQUE + sizeof suffix - 1;
    return n > end + 1 && file[n - end - 1] == '.' &&
           strncmp(file + n - end, tag, PLACE_UNIQUE) == 0 &&
           strcmp(file + n - (sizeof suffix - 1), suffix) == 0;
}

char *place_left(const char *spools)
{
    char *real = realpath(spools, NULL), *found = NULL;
    char *folder = real ? place_folder(real) : NULL, *name = real ? strrchr(real, '/') + 1 : NULL;
    bool ours = name && spools_folder_is(name);
    DIR *d = folder && ours ? opendir(folder) : NULL;
    for (struct dirent *f; d && !found && (f = readdir(d));) {
        struct stat st;
        if (!has_tag(f->d_name, spools_folder_tag(name)) ||
            fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
            writer(dirfd(d), f->d_name) != 0)
            continue;
        if (asprintf(&found, "%s/%s", folder, f->d_name) < 0)
            found = NULL;
    }
    if (d)
        closedir(d);
    free(folder);
    free(real);
    return found;
}

void place_remove_left(const char *partial)
{
    place_remove_siblings(partial);
    unlink(partial);
}
