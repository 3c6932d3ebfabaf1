/* Creates, recognises and removes the folder of a run's spools; see spools_folder.h. */
#include "analyzer/profile/spools_folder.h"

#include "wire/spool_format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The mark is an empty file, which fits on a full disk, with a name that no user would choose. */
static const char mark[] = ".made-by-gpuprof-run";

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

int spools_folder_make(char *path)
{
    if (!mkdtemp(path))
        return -1;
    int folder = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), fd = -1;
    if (folder >= 0)
        fd = openat(folder, mark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int why = errno;
    if (fd >= 0)
        close(fd);
    else
        rmdir(path);
    if (folder >= 0)
        close(folder);
    errno = why;
    return fd < 0 ? -1 : 0;
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
    if (!holds_more(d) && unlinkat(fd, mark, 0) == 0)
        rmdir(path); /* rmdir removes only an empty folder, whatever is at this path by now */
    closedir(d);
}
