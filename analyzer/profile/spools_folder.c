/* Creates, recognises and removes the folder of a run's spools; see spools_folder.h. */
#include "analyzer/profile/spools_folder.h"

#include "wire/spool_format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The mark is an empty file, which fits on a full disk, with a name that no user would choose. */
static const char mark[] = SPOOLS_FOLDER_MARK;

/* All files that gpuprof creates in the folder, except for the mark. */
static const char *const names[] = {
    "[0-9]*-[0-9]*" SPOOL_SUFFIX,        /* by the agent (wire/spool_format.h) */
    "[0-9]*-[0-9]*" SPOOL_FAILED_SUFFIX, /* by the agent */
    "ask-[0-9]*",                        /* by gpuprof record (cli/common/ask.c) */
    "new.[0-9]*",                        /* by gpuprof record, temporary */
    "where",                             /* positions of waiting ranks (collector/stuck_folder.c) */
    "where.new",                         /* the same, temporary */
    "missing_call",                      /* by the virtual GPU */
    "unreached",                         /* by the virtual GPU */
    "kernel_times",                      /* by the virtual GPU */
};

/* The name of the folder while it lacks the mark. The caller frees it. It is allocated, because the
 * stack may be small. NULL: out of memory. */
static char *path_of_unmarked(const char *path)
{
    char *unmarked;
    int n = asprintf(&unmarked, "%.*s" SPOOLS_FOLDER_UNMARKED "%s",
                     (int)(strlen(path) - (sizeof SPOOLS_FOLDER_TEMPLATE - 1)), path,
                     spools_folder_tag(path));
    return n < 0 ? NULL : unmarked;
}

static int put_mark(const char *path)
{
    int folder = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), fd = -1;
    if (folder >= 0)
        fd = openat(folder, mark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
    errno = why;
    return fd < 0 ? -1 : 0;
}

/* Renames, but never replaces a folder: rename() would replace an empty one of a user. Some file
 * systems cannot refuse that (RENAME_NOREPLACE); there we look for a folder of that name first. */
static int rename_to_new(const char *from, const char *to)
{
    struct stat st;
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if ((errno != EINVAL && errno != ENOSYS) || lstat(to, &st) == 0)
        return -1;
    return rename(from, to);
}

int spools_folder_make(char *path)
{
    char *unmarked = path_of_unmarked(path);
    int rc = -1;
    if (unmarked && mkdtemp(unmarked)) {
        memcpy(path + strlen(path) - SPOOLS_FOLDER_LETTERS, spools_folder_tag(unmarked),
               SPOOLS_FOLDER_LETTERS);
        rc = put_mark(unmarked) < 0 ? -1 : rename_to_new(unmarked, path);
        int why = errno;
        if (rc < 0)
            spools_folder_remove_unmarked(unmarked);
        errno = why;
    }
    free(unmarked);
    return rc;
}

bool spools_folder_is_ours(int folder)
{
    struct stat of_folder, of_mark;
    return fstat(folder, &of_folder) == 0 && S_ISDIR(of_folder.st_mode) &&
           of_folder.st_uid == geteuid() &&
           fstatat(folder, mark, &of_mark, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(of_mark.st_mode) &&
           of_mark.st_size == 0 && of_mark.st_uid == of_folder.st_uid;
}

static bool is_own_name(const char *name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fnmatch(names[i], name, FNM_PERIOD) == 0)
            return true;
    return false;
}

/* True if the folder contains anything but the mark. */
static bool holds_more(DIR *d)
{
    rewinddir(d);
    for (struct dirent *f; (f = readdir(d));)
        if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0 &&
            strcmp(f->d_name, mark) != 0)
            return true;
    return false;
}

void spools_folder_remove(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 && spools_folder_is_ours(fd) ? fdopendir(fd) : NULL;
    if (!d) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *f; (f = readdir(d));)
        if (is_own_name(f->d_name))
            unlinkat(fd, f->d_name, 0);
    char *unmarked = holds_more(d) ? NULL : path_of_unmarked(path);
    if (unmarked && rename(path, unmarked) == 0) {
        /* a file was added after the first look; by the old name no more can be added */
        if (holds_more(d))
            rename(unmarked, path);
        else
            spools_folder_remove_unmarked(unmarked);
    }
    free(unmarked);
    closedir(d);
}

void spools_folder_remove_unmarked(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid()) {
        unlinkat(fd, mark, 0);
        rmdir(path); /* rmdir removes only an empty folder, whatever is at this path by now */
    }
    if (fd >= 0)
        close(fd);
}
