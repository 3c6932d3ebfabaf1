#include "analyzer/profile/place.h"

#include "analyzer/profile/spools_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char suffix[] = ".partial";
enum {
    UNIQUE = SPOOLS_FOLDER_LETTERS, /* between the dots */
    TURN_TRIES = 300,               /* of 10 ms */
    OLD_S = 60,                     /* younger: its writer may have no turn, and no lock yet */
    MOST_NAMES = 100000
};

/* Refused here, before anything was recorded: what place_put could not, or must not, replace. */
static int check_place(const char *path, bool force, struct err *e)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return err_set(e, "%s is a folder; name a file in it", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, "%s is not a regular file: a profile cannot replace it", path);
    return force ? 0 : err_set(e, "%s exists already; -f replaces it", path);
}

/* The folder of a path, "." where it names none; malloc'ed. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* NAME.XXXXXX.partial of this NAME. */
static bool is_partial_of(const char *file, const char *name)
{
    size_t n = strlen(name);
    return strncmp(file, name, n) == 0 && file[n] == '.' &&
           strlen(file) == n + 1 + UNIQUE + sizeof suffix - 1 &&
           strcmp(file + n + 1 + UNIQUE, suffix) == 0;
}

/* The process that writes it, 0 = none, -1 = not known, or no file of ours. SQLite holds a lock on
 * a file that grows; it goes with the process. */
static pid_t writer(int folder, const char *file)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat st;
    int fd = openat(folder, file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -1;
    bool ours = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
    int rc = ours ? fcntl(fd, F_GETLK, &lock) : -1;
    close(fd);
    if (rc < 0)
        return -1;
    return lock.l_type == F_UNLCK ? 0 : lock.l_pid > 0 ? lock.l_pid : -1;
}

/* Written to of late, or its spools are still there: the two can be imported. */
static bool is_wanted(int folder, const char *file)
{
    char spools[sizeof SPOOLS_FOLDER_TEMPLATE];
    struct stat st, with;
    const char *tag = file + strlen(file) - (sizeof suffix - 1) - UNIQUE;
    if (fstatat(folder, file, &st, AT_SYMLINK_NOFOLLOW) < 0 || time(NULL) - st.st_mtime < OLD_S)
        return true;
    snprintf(spools, sizeof spools, "%s%.*s", SPOOLS_FOLDER_PREFIX, UNIQUE, tag);
    return fstatat(folder, spools, &with, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(with.st_mode) &&
           st.st_size > 0;
}

static void remove_partial(int folder, const char *file)
{
    char journal[NAME_MAX + 1];
    if ((size_t)snprintf(journal, sizeof journal, "%s-journal", file) < sizeof journal)
        unlinkat(folder, journal, 0);
    unlinkat(folder, file, 0);
}

/* Somebody else who writes the same profile: his process, 0 = nobody. What the dead left goes, in
 * time. */
static pid_t look_for_others(int folder, const char *name, bool alone)
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
        else if (pid == 0 && alone && !is_wanted(folder, f->d_name))
            remove_partial(folder, f->d_name);
    }
    closedir(d);
    return found;
}

static int make_tagged(char *name, const char *tag)
{
    memcpy(name + strlen(name) - (sizeof suffix - 1) - UNIQUE, tag, UNIQUE);
    return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static int make_file(struct place *p, const char *tag, struct err *e)
{
    struct stat st;
    if (asprintf(&p->partial, "%s.XXXXXX%s", p->path, suffix) < 0) {
        p->partial = NULL;
        return err_set(e, "out of memory");
    }
    int fd = tag && strlen(tag) == UNIQUE ? make_tagged(p->partial, tag)
                                          : mkostemps(p->partial, sizeof suffix - 1, O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        err_set(e, "%s: cannot be created: %s", p->path, strerror(errno));
        if (fd >= 0)
            close(fd);
        free(p->partial);
        p->partial = NULL;
        return -1;
    }
    p->device = st.st_dev;
    p->inode = st.st_ino;
    close(fd);
    return 0;
}

/* Nobody else starts to write in this folder meanwhile. Where that cannot be had (others may hold
 * the lock for ever) we go on. */
static bool take_turn(struct place *p, struct err *e)
{
    char *folder = folder_of(p->path);
    p->turn = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (p->turn < 0)
        err_set(e, "%s: cannot be created: %s", p->path, strerror(errno));
    free(folder);
    int rc = -1;
    for (int i = 0; p->turn >= 0 && rc < 0 && i < TURN_TRIES; i++) {
        rc = flock(p->turn, LOCK_EX | LOCK_NB);
        if (rc < 0 && errno != EWOULDBLOCK && errno != EINTR)
            break;
        if (rc < 0)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return rc == 0;
}

/* PATH, then PATH.2.gpuprof and so on; malloc'ed. */
static char *numbered(const char *path, int number)
{
    static const char ending[] = ".gpuprof";
    size_t n = strlen(path), end = sizeof ending - 1;
    bool has = n > end && strcmp(path + n - end, ending) == 0;
    char *name = NULL;
    if (number < 2)
        return strdup(path);
    if (asprintf(&name, "%.*s.%d%s", (int)(n - (has ? end : 0)), path, number, has ? ending : "") <
        0)
        return NULL;
    return name;
}

/* May p->path be had? -1 with *e set: no; *taken: because another has it. */
static int try_name(struct place *p, bool alone, bool *taken, struct err *e)
{
    const char *slash = strrchr(p->path, '/');
    struct stat st;
    *taken = lstat(p->path, &st) == 0 && S_ISREG(st.st_mode);
    if (check_place(p->path, p->as & PLACE_REPLACE, e) < 0)
        return -1;
    pid_t other = look_for_others(p->turn, slash ? slash + 1 : p->path, alone);
    *taken = other != 0;
    return !other ? 0
                  : err_set(e,
                            "%s is being written by another gpuprof (process %d); name another "
                            "with -o",
                            p->path, (int)other);
}

/* Sets p->path to the first name that is free. */
static int choose_name(struct place *p, const char *path, bool alone, struct err *e)
{
    bool taken = true;
    for (int number = 1; taken && number < MOST_NAMES; number++) {
        free(p->path);
        if (!(p->path = numbered(path, number)))
            return err_set(e, "out of memory");
        if (try_name(p, alone, &taken, e) == 0)
            return 0;
        if (!(p->as & PLACE_SPARE))
            return -1;
    }
    return -1;
}

int place_make(struct place *p, const char *path, int as, const char *tag, struct err *e)
{
    *p = (struct place){.as = as, .turn = -1};
    if (!(as & PLACE_SPARE) && check_place(path, as & PLACE_REPLACE, e) < 0)
        return -1;
    if (!(p->path = strdup(path)))
        return err_set(e, "out of memory");
    bool alone = take_turn(p, e);
    if (p->turn >= 0 && choose_name(p, path, alone, e) == 0 && make_file(p, tag, e) == 0)
        return 0;
    place_release(p);
    return -1;
}

void place_taken(struct place *p)
{
    if (p->turn >= 0)
        close(p->turn);
    p->turn = -1;
}

void place_close(struct place *p)
{
    struct err ignored = ERR_INIT;
    if (p->turn < 0)
        take_turn(p, &ignored);
}

/* Is it still the file that we made? */
static bool is_ours(const struct place *p)
{
    struct stat st;
    return p->partial && lstat(p->partial, &st) == 0 && st.st_dev == p->device &&
           st.st_ino == p->inode;
}

/* What SQLite left beside a profile of this name belongs to the one before. */
static void remove_siblings(const char *path)
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

/* 0, or -1 with errno. File systems that cannot rename so can make a link. */
static int rename_to_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    return link(from, to) == 0 ? unlink(from) : -1;
}

/* Another took the name meanwhile: the next free one. 0, or -1 with errno. */
static int rename_to_spare(struct place *p)
{
    int rc = -1;
    for (int number = 2; rc < 0 && number < MOST_NAMES; number++) {
        char *name = numbered(p->path, number);
        rc = name ? rename_to_new(p->partial, name) : -1;
        if (rc == 0) {
            free(p->path);
            p->path = name;
            return 0;
        }
        free(name);
        if (errno != EEXIST)
            return -1;
    }
    return rc;
}

static int put(struct place *p, struct err *e)
{
    if (!is_ours(p))
        return err_set(e, "%s: another program removed the unfinished file", p->path);
    struct stat st;
    bool there = lstat(p->path, &st) == 0, replace = p->as & PLACE_REPLACE;
    if (replace || !there)
        remove_siblings(p->path);
    remove_siblings(p->partial);
    int rc = replace ? rename(p->partial, p->path) : rename_to_new(p->partial, p->path);
    if (rc < 0 && errno == EEXIST && p->as & PLACE_SPARE)
        rc = rename_to_spare(p);
    if (rc < 0) {
        if (errno != EEXIST)
            return err_set(e, "%s: cannot move the finished file there: %s", p->path,
                           strerror(errno));
        err_set(e, "another program created %s meanwhile; the new profile is %s", p->path,
                p->partial);
    }
    free(p->partial);
    p->partial = NULL; /* in place, or whole: then it is kept */
    return rc;
}

int place_put(struct place *p, struct err *e)
{
    int rc = put(p, e);
    place_taken(p);
    return rc;
}

void place_release(struct place *p)
{
    if (!p->path)
        return;
    place_taken(p);
    if (is_ours(p)) {
        remove_siblings(p->partial);
        unlink(p->partial);
    }
    free(p->partial);
    free(p->path);
    *p = (struct place){.turn = -1};
}

int place_unfinished(const char *path, struct err *e)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = strlen(name), end = sizeof suffix - 1;
    bool partial = n > end && strcmp(name + n - end, suffix) == 0;
    char *folder = partial || access(path, F_OK) != 0 ? folder_of(path) : NULL;
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    if (fd < 0)
        return 0;
    pid_t pid = partial ? writer(fd, name) : look_for_others(fd, name, false);
    close(fd);
    if (pid <= 0)
        return 0;
    return err_set(e,
                   "%s: gpuprof (process %d) is still writing this profile; it is complete when "
                   "the run has ended",
                   path, (int)pid);
}

/* NAME.XXXXXX.partial of any name. */
static bool has_tag(const char *file, const char *tag)
{
    size_t n = strlen(file), end = UNIQUE + sizeof suffix - 1;
    return n > end + 1 && file[n - end - 1] == '.' && strncmp(file + n - end, tag, UNIQUE) == 0 &&
           strcmp(file + n - (sizeof suffix - 1), suffix) == 0;
}

char *place_left(const char *spools)
{
    char *real = realpath(spools, NULL), *found = NULL;
    char *folder = real ? folder_of(real) : NULL, *name = real ? strrchr(real, '/') + 1 : NULL;
    bool ours = name && spools_folder_is(name);
    DIR *d = folder && ours ? opendir(folder) : NULL;
    for (struct dirent *f; d && !found && (f = readdir(d));) {
        struct stat st;
        if (!has_tag(f->d_name, spools_folder_tag(name)) ||
            fstatat(dirfd(d), f->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
            st.st_size == 0 || writer(dirfd(d), f->d_name) != 0)
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
    remove_siblings(partial);
    unlink(partial);
}
