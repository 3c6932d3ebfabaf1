/* Passes requests, as files, from a gpuprof that asks to one that records (ask.h). */
#include "cli/common/ask.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char prefix[] = "ask-", stop[] = ".stop";
enum { LOOK_MS = 20 };

/* ---- the gpuprof that asks ---- */

/* If the superuser asks, the file must belong to the folder's owner, who alone may read it. */
static int give(int fd, const char *folder)
{
    struct stat st;
    return geteuid() != 0 || stat(folder, &st) < 0 || fchown(fd, st.st_uid, st.st_gid) == 0 ? 0
                                                                                            : -1;
}

int ask_send(struct ask *a, const char *folder, const char *text, struct err *e)
{
    struct timespec now;
    char fresh[sizeof a->path];
    clock_gettime(CLOCK_MONOTONIC, &now);
    a->read = (off_t)strlen(text) + 1;
    if ((size_t)snprintf(a->folder, sizeof a->folder, "%s", folder) >= sizeof a->folder)
        return err_set(e, "%s: this name is too long", folder);
    snprintf(a->path, sizeof a->path, "%s/%s%012" PRId64 ".%09ld.%d", a->folder, prefix,
             (int64_t)now.tv_sec, now.tv_nsec, (int)getpid());
    snprintf(fresh, sizeof fresh, "%s/new.%d", a->folder, (int)getpid());
    a->fd = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (a->fd < 0)
        return err_set(e, "cannot ask the run: %s: %s", folder, strerror(errno));
    if (give(a->fd, folder) == 0 && dprintf(a->fd, "%s\n", text) == (int)a->read &&
        rename(fresh, a->path) == 0)
        return 0;
    err_set(e, "cannot ask the run: %s: %s", folder, strerror(errno));
    unlink(fresh);
    close(a->fd);
    a->fd = -1;
    return -1;
}

/* True if no gpuprof records into the folder: a recorder holds a lock on it. */
static bool is_gone(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    bool gone = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return gone;
}

static bool next_line(struct ask *a, char *line, size_t n)
{
    ssize_t got = pread(a->fd, line, n - 1, a->read);
    char *end = got > 0 ? memchr(line, '\n', (size_t)got) : NULL;
    if (!end)
        return false;
    *end = 0;
    a->read += end - line + 1;
    return true;
}

enum ask_news ask_answer(struct ask *a, int timeout_ms, char *line, size_t n)
{
    for (int waited = 0;; waited += LOOK_MS) {
        bool gone = is_gone(a->folder); /* before reading, so that its last line is not missed */
        if (next_line(a, line, n))
            return ASK_LINE;
        if (gone)
            return ASK_GONE;
        if (waited >= timeout_ms || (poll(NULL, 0, LOOK_MS) < 0 && errno == EINTR))
            return ASK_NOTHING;
    }
}

void ask_stop(struct ask *a)
{
    char path[sizeof a->path + sizeof stop];
    snprintf(path, sizeof path, "%s%s", a->path, stop);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

void ask_close(struct ask *a)
{
    if (a->fd < 0)
        return;
    unlink(a->path); /* in case no recorder has taken it */
    close(a->fd);
    a->fd = -1;
}

/* ---- the gpuprof that records ---- */

static bool is_request(const char *name)
{
    size_t n = strlen(name), m = sizeof stop - 1;
    return strncmp(name, prefix, sizeof prefix - 1) == 0 &&
           (n < m || strcmp(name + n - m, stop) != 0);
}

bool asked_next(struct asked *a, const char *folder)
{
    char oldest[NAME_MAX + 1] = "";
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));)
        if (is_request(f->d_name) && (!*oldest || strcmp(f->d_name, oldest) < 0))
            snprintf(oldest, sizeof oldest, "%s", f->d_name);
    if (d)
        closedir(d);
    if (!*oldest ||
        (size_t)snprintf(a->path, sizeof a->path, "%s/%s", folder, oldest) >= sizeof a->path)
        return false;
    a->fd = open(a->path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = a->fd >= 0 ? pread(a->fd, a->text, sizeof a->text - 1, 0) : -1;
    a->text[n > 0 ? n : 0] = 0;
    a->text[strcspn(a->text, "\n")] = 0;
    unlink(a->path); /* whatever it is, perhaps a link */
    return a->fd >= 0;
}

void asked_say(const struct asked *a, const char *fmt, ...)
{
    va_list args;
    if (a->fd < 0)
        return;
    va_start(args, fmt);
    vdprintf(a->fd, fmt, args);
    va_end(args);
}

bool asked_to_stop(const struct asked *a)
{
    char path[sizeof a->path + sizeof stop];
    if (a->fd < 0)
        return false;
    snprintf(path, sizeof path, "%s%s", a->path, stop);
    return access(path, F_OK) == 0;
}

void asked_done(struct asked *a)
{
    char path[sizeof a->path + sizeof stop];
    if (a->fd < 0)
        return;
    snprintf(path, sizeof path, "%s%s", a->path, stop);
    unlink(path);
    close(a->fd);
    a->fd = -1;
}
