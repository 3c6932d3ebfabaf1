/* Files of others are read only if they are regular files: a FIFO would make us wait for ever, and
 * a device may have no end. */
#ifndef GPUPROF_BASE_PLAIN_H
#define GPUPROF_BASE_PLAIN_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* For reading. -1 with errno: EINVAL where it is something else. */
static inline int plain_open(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* waits for no writer of a FIFO */
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

/* The same; NULL with errno. */
static inline FILE *plain_file(const char *path)
{
    int fd = plain_open(path);
    FILE *f = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (fd >= 0 && !f)
        close(fd);
    return f;
}

#endif
