/* Opens the output of a command, and gives a file its name when it is complete. */
#include "cli/common/output.h"

#include "base/mode.h"
#include "cli/common/output_behind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static bool is_stdout(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

static bool ends_gz(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".gz") == 0;
}

int output_check(const char *path, bool force, struct err *e)
{
    struct stat st;
    if (is_stdout(path) || stat(path, &st) != 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return err_set(e, "%s is a folder; name a file", path);
    if (!force && S_ISREG(st.st_mode))
        return err_set(e, "%s exists; -f replaces it", path);
    return 0;
}

static int gz_write(void *to, const char *data, size_t n)
{
    return n == 0 || gzwrite(to, data, (unsigned)n) == (int)n ? 0 : -1;
}

static int gz_close(void *to)
{
    return gzclose(to) == Z_OK ? 0 : -1;
}

static int fd_write(void *to, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t wrote = write((int)(intptr_t)to, data, n);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return -1;
        data += wrote;
        n -= (size_t)wrote;
    }
    return 0;
}

static int fd_close(void *to)
{
    return close((int)(intptr_t)to);
}

/* A stream that writes into fd. NULL: failed; fd is still open. */
static FILE *open_behind(int fd, bool gzip)
{
    if (!gzip)
        return behind_open((struct behind_to){(void *)(intptr_t)fd, fd_write, fd_close});
    int own = dup(fd);
    gzFile gz = own < 0 ? NULL : gzdopen(own, "wb4");
    if (!gz) {
        if (own >= 0)
            close(own);
        return NULL;
    }
    gzbuffer(gz, 1 << 17);
    FILE *f = behind_open((struct behind_to){gz, gz_write, gz_close});
    if (f)
        close(fd);
    else
        gzclose(gz);
    return f;
}

int output_open(struct output *o, const char *path, bool force, struct err *e)
{
    struct stat st;
    *o = (struct output){.f = stdout};
    if (is_stdout(path))
        return 0;
    if (output_check(path, force, e))
        return -1;
    o->path = path;
    /* A device or a pipe is written directly: it cannot be renamed. */
    bool in_place = stat(path, &st) == 0 && !S_ISREG(st.st_mode);
    if (in_place) {
        o->f = fopen(path, "w");
        return o->f ? 0 : err_set(e, "cannot write %s: %s", path, strerror(errno));
    }
    int n = snprintf(o->temporary, sizeof o->temporary, "%s.%d.tmp", path, (int)getpid());
    if (n < 0 || (size_t)n >= sizeof o->temporary)
        return err_set(e, "cannot write %s: the name is too long", path);
    int fd =
        open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode_of_output());
    if (fd < 0)
        return err_set(e, "cannot write %s: %s", path, strerror(errno));
    o->f = open_behind(fd, ends_gz(path));
    if (!o->f) {
        close(fd);
        unlink(o->temporary);
        return err_set(e, "cannot write %s: %s", path, strerror(errno));
    }
    return 0;
}

int output_open_fd(struct output *o, int fd, struct err *e)
{
    *o = (struct output){.path = "the trace"};
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    o->f = own < 0 ? NULL : open_behind(own, true);
    if (o->f)
        return 0;
    if (own >= 0)
        close(own);
    return err_set(e, "out of memory");
}

int output_commit(struct output *o, struct err *e)
{
    if (!o->path)
        return 0; /* main checks stdout */
    errno = 0;
    bool bad = ferror(o->f);
    if (fclose(o->f))
        bad = true;
    o->f = NULL;
    if (bad) {
        int why = errno ? errno : EIO;
        output_discard(o);
        return err_set(e, "cannot write %s: %s", o->path, strerror(why));
    }
    if (*o->temporary && rename(o->temporary, o->path)) {
        int why = errno;
        output_discard(o);
        return err_set(e, "cannot write %s: %s", o->path, strerror(why));
    }
    return 0;
}

void output_discard(struct output *o)
{
    if (o->path && o->f)
        fclose(o->f);
    if (*o->temporary)
        unlink(o->temporary);
    o->f = NULL;
    *o->temporary = 0;
}
