/* Remembers the files that gpuprof was started with, and closes them once the program has them. */
#include "cli/common/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 1024 };

static int noted[MOST];
static size_t count;

void files_remember(void)
{
    DIR *d = opendir("/proc/self/fd");
    if (!d)
        return;
    for (struct dirent *f; (f = readdir(d)) && count < MOST;) {
        int fd = atoi(f->d_name);
        if (fd > 2 && fd != dirfd(d))
            noted[count++] = fd;
    }
    closedir(d);
}

void files_close_inherited(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; nothing >= 0 && fd < 2; fd++)
        dup2(nothing, fd);
    if (nothing > 2)
        close(nothing);
    for (size_t i = 0; i < count; i++)
        close(noted[i]);
    count = 0;
}
