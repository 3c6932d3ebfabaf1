/* Reads lines of source code from the program's files. */
#include "analyzer/collector/spool/sources.h"

#include "base/clock.h"
#include "wire/python_owner.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILES = 64, MOST_BYTES = 1 << 20 };

static bool is_older(const struct sources *s, const struct stat *st)
{
    int64_t began_ns = clock_ns(CLOCK_REALTIME) - (clock_monotonic_ns() - s->start_ns);
    return st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec <= began_ns;
}

static char *read_file(const struct sources *s, const char *path)
{
    struct stat st;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MOST_BYTES &&
        is_older(s, &st) && (text = malloc((size_t)st.st_size + 1))) {
        ssize_t n = pread(fd, text, (size_t)st.st_size, 0);
        text[n > 0 ? n : 0] = 0;
    }
    close(fd);
    return text;
}

static const char *text_of(struct sources *s, const char *path)
{
    for (size_t i = 0; i < s->files.n; i++)
        if (strcmp(s->files.at[i].path, path) == 0)
            return s->files.at[i].text;
    char *copy = s->files.n < MOST_FILES ? strdup(path) : NULL;
    struct source_file *f = copy ? vec_push(&s->files) : NULL;
    if (!f) {
        free(copy);
        return NULL;
    }
    *f = (struct source_file){copy, read_file(s, path)};
    return f->text;
}

bool source_line(struct sources *s, const char *path, int64_t line, char *out, size_t size)
{
    bool own = path[0] == '/' && python_owner(path) == PYTHON_OF_USER;
    const char *at = own && line > 0 ? text_of(s, path) : NULL;
    while (at && --line > 0)
        at = (at = strchr(at, '\n')) ? at + 1 : NULL;
    if (!at)
        return false;
    at += strspn(at, " \t\f");
    size_t n = strcspn(at, "\r\n");
    if (n >= size)
        for (n = size - 1; n > 0 && ((unsigned char)at[n] & 0xc0) == 0x80;)
            n--;
    while (n > 0 && (at[n - 1] == ' ' || at[n - 1] == '\t'))
        n--;
    memcpy(out, at, n);
    out[n] = 0;
    return n > 0;
}

void sources_release(struct sources *s)
{
    for (size_t i = 0; i < s->files.n; i++) {
        free(s->files.at[i].path);
        free(s->files.at[i].text);
    }
    vec_release(&s->files);
}
