/* Copies a finished profile from the disk on which it was written to its final place: one
 * sequential copy, which suits network file systems. */
#include "analyzer/profile/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

int moved_reserve(struct moved *m, const char *path, int as, struct err *e)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    m->lock = -1;
    if (place_make(&m->place, path, as, NULL, e) < 0)
        return -1;
    m->lock = open(m->place.partial, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (m->lock < 0) {
        err_set(e, "%s: cannot be created: %s", path, strerror(errno));
        place_release(&m->place);
        return -1;
    }
    fcntl(m->lock, F_SETLK, &all); /* if the file system has no locks, other writers of this
                                      name cannot be refused */
    place_taken(&m->place);
    return 0;
}

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, bytes, n);
        if (w < 0 && errno != EINTR)
            return -1;
        bytes += w > 0 ? w : 0;
        n -= w > 0 ? (size_t)w : 0;
    }
    return 0;
}

/* 0, or -1 with errno set. */
static int copy(int in, int out)
{
    char *block = malloc(BLOCK);
    ssize_t n = block ? 1 : -1;
    while (n > 0) {
        n = read(in, block, BLOCK);
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0 && write_all(out, block, (size_t)n) < 0)
            n = -1;
    }
    int why = errno;
    free(block);
    errno = why;
    return n < 0 ? -1 : fsync(out);
}

int moved_put(struct moved *m, const char *from, struct err *e)
{
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int rc = in < 0 ? -1 : copy(in, m->lock), why = errno;
    if (in >= 0)
        close(in);
    if (rc < 0)
        return err_set(e, "%s: the profile cannot be copied there (%s); it is %s", m->place.path,
                       strerror(why), from);
    struct err cause = ERR_INIT;
    place_close(&m->place);
    rc = place_put(&m->place, &cause);
    close(m->lock);
    m->lock = -1;
    if (rc < 0)
        return err_set(e, "%s", cause.text);
    unlink(from);
    return 0;
}

void moved_release(struct moved *m)
{
    if (m->lock >= 0)
        close(m->lock);
    m->lock = -1;
    place_release(&m->place);
}
