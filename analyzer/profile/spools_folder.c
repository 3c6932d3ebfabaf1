/* The folder of a run's spools: how it is marked, and how it goes; see spools_folder.h. */
#include "analyzer/profile/spools_folder.h"

#include "wire/spool_format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* An empty file, so that a full disk has room for it, with a name that nobody else would give. */
static const char mark[] = ".made-by-gpuprof-run";

/* All that gpuprof puts there, but for the mark. */
static const char *const names[] = {
    "[0-9]*-[0-9]*" SPOOL_SUFFIX,        /* the agent (wire/spool_format.h) */
    "[0-9]*-[0-9]*" SPOOL_FAILED_SUFFIX, /* the same */
    "ask-[0-9]*",                        /* gpuprof record (cli/common/ask.c) */
    "new.[0-9]*",                        /* the same, for a moment */
    "where",                             /* ranks that wait (collector/stuck_folder.c) */
    "where.new",                         /* the same, for a moment */
    "missing_call",                      /* the virtual GPU */
    "unreached",                         /* the same */
    "kernel_times",                      /* the same */
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

/* Is there anything but the mark? */
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
        rmdir(path); /* whatever lies there: only an empty folder can go */
    closedir(d);
}
