/* Opens files that come from others, if they are regular files: a FIFO could make gpuprof wait for
 * ever, and a device may have no end. */
#ifndef GPUPROF_BASE_PLAIN_H
#define GPUPROF_BASE_PLAIN_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a file for reading. -1 with errno; EINVAL if it is not a regular file. */
static inline int plain_open(const char *path)
{
    struct stat st;
    /* O_NONBLOCK: does not wait for the writer of a FIFO. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

/* The same as a stream. NULL with errno. */
static inline FILE *plain_file(const char *path)
{
    int fd = plain_open(path);
    FILE *f = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (fd >= 0 && !f)
        close(fd);
    return f;
}

#endif
