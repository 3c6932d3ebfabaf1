/* Collects requests to a running gpuprof, and passes them to the recorder in turn (run_asked.h). */
#include "cli/run/run_asked.h"

#include "cli/run/signals.h"
#include "base/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_STEPS = 20 };
static const char record[] = "record", status[] = "status";
static const int64_t look_ns = 200000000, most_steps = 1000000, most_s = 86400;

/* Reads "steps=20", "seconds=2.5" and "number=3", in any order, each optional. */
static bool parse(const char *text, struct wish *w)
{
    char word[64];
    int used;
    for (; sscanf(text, "%63s%n", word, &used) == 1; text += used) {
        char *value = strchr(word, '='), *end;
        if (!value)
            return false;
        *value++ = 0;
        double v = strtod(value, &end);
        if (end == value || *end || !(v > 0 && v <= (double)most_steps))
            return false;
        if (strcmp(word, "steps") == 0)
            w->steps = (int64_t)v;
        else if (strcmp(word, "seconds") == 0 && v <= (double)most_s)
            w->duration_ns = (int64_t)(v * 1e9);
        else if (strcmp(word, "number") == 0)
            w->number = (int64_t)v;
        else
            return false;
    }
    if (!w->steps && !w->duration_ns)
        w->steps = DEFAULT_STEPS;
    return !w->steps || !w->duration_ns;
}

static void add(struct wishes *w, const char *text, const struct asked *from)
{
    struct wish wish = {.from = *from};
    if (w->n == WISHES)
        asked_say(from, "refused %d recordings wait already\n", WISHES);
    else if (!parse(text, &wish))
        asked_say(from, "refused the run does not understand '%s'\n", text);
    else {
        if (w->n)
            asked_say(from, "waits for another recording\n");
        w->at[w->n++] = wish;
        return;
    }
    asked_done(&wish.from);
}

static bool older(const struct stat *a, const struct stat *b)
{
    return a->st_mtim.tv_sec != b->st_mtim.tv_sec ? a->st_mtim.tv_sec < b->st_mtim.tv_sec
                                                  : a->st_mtim.tv_nsec < b->st_mtim.tv_nsec;
}

void wishes_begin(struct wishes *w, const struct run_folders *folders, const char *profile)
{
    const char *slash = strrchr(profile, '/');
    struct stat ours;
    *w = (struct wishes){.folder = folders->spools};
    snprintf(w->path, sizeof w->path, "%.*sgpuprof.record", slash ? (int)(slash - profile + 1) : 0,
             profile);
    if (stat(w->path, &w->seen) != 0 ||
        (stat(folders->meeting, &ours) == 0 && !older(&w->seen, &ours)))
        /* A file from an earlier run is older than our folder: otherwise it is a new request. */
        w->seen.st_nlink = 0;
}

/* Reads gpuprof.record if it is new. The file stays, since each rank must see it; writing it again
 * is a new request. */
static void look_at_file(struct wishes *w)
{
    struct stat now;
    char text[256] = "";
    if (stat(w->path, &now) != 0) {
        w->seen.st_nlink = 0;
        return;
    }
    bool same = w->seen.st_nlink && now.st_ino == w->seen.st_ino &&
                now.st_size == w->seen.st_size && now.st_mtim.tv_sec == w->seen.st_mtim.tv_sec &&
                now.st_mtim.tv_nsec == w->seen.st_mtim.tv_nsec;
    w->seen = now;
    int fd = same ? -1 : open(w->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    if (strncmp(text, status, sizeof status - 1) == 0 && w->show)
        w->show(w->self);
    else
        add(w, text, &(struct asked){.fd = -1});
}

void wishes_look(struct wishes *w)
{
    int64_t now = clock_monotonic_ns();
    struct asked from;
    if (now < w->next_look_ns)
        return;
    w->next_look_ns = now + look_ns;
    look_at_file(w);
    while (asked_next(&from, w->folder))
        if (strncmp(from.text, record, sizeof record - 1) == 0) {
            add(w, from.text + sizeof record - 1, &from);
        } else if (strcmp(from.text, status) == 0 && w->status) {
            w->status(w->self, &from);
            asked_say(&from, "end\n");
            asked_done(&from);
        } else {
            asked_say(&from, "refused the run does not understand '%s'\n", from.text);
            asked_done(&from);
        }
}

void wishes_signal(struct wishes *w)
{
    add(w, "", &(struct asked){.fd = -1});
}

bool wishes_next(struct wishes *w, struct wish *out)
{
    if (!w->n)
        return false;
    *out = w->at[0];
    memmove(w->at, w->at + 1, --w->n * sizeof *w->at);
    return true;
}

void wishes_refuse(struct wishes *w, const char *why)
{
    struct wish wish;
    while (wishes_next(w, &wish)) {
        asked_say(&wish.from, "refused %s\n", why);
        asked_done(&wish.from);
    }
}

void wish_text(const struct wish *w, char *out, size_t n)
{
    if (w->steps)
        snprintf(out, n, "%" PRId64 " step%s", w->steps, w->steps == 1 ? "" : "s");
    else
        snprintf(out, n, "%.4g s", (double)w->duration_ns / 1e9);
}
