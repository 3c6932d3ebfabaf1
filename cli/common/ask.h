/* How one gpuprof asks another one that records: by a file in the folder of its spools, which only
 * the user can access. The asker writes its request as one line and keeps the file open. The
 * recorder removes the oldest file from the folder and appends its answers, one line each. There is
 * no socket, because the folder may be on a file system that has none. */
#ifndef GPUPROF_CLI_COMMON_ASK_H
#define GPUPROF_CLI_COMMON_ASK_H

#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* ---- the gpuprof that asks ---- */

struct ask {
    int fd;     /* of the file; -1: none */
    off_t read; /* bytes of the file read so far */
    char folder[PATH_MAX], path[PATH_MAX + 64];
};

int ask_send(struct ask *a, const char *folder, const char *text, struct err *e);
enum ask_news { ASK_LINE, ASK_NOTHING, ASK_GONE };
/* Waits up to timeout_ms for the next line of an answer. ASK_GONE: no gpuprof records into the
 * folder any more, and there is no further line. */
enum ask_news ask_answer(struct ask *a, int timeout_ms, char *line, size_t n);
void ask_stop(struct ask *a); /* tells the recorder that it has recorded enough */
void ask_close(struct ask *a);

/* ---- the gpuprof that records ---- */

struct asked {
    int fd; /* -1: no asker waits for an answer */
    char path[PATH_MAX + 64], text[256];
};

/* Takes the oldest request in the folder. False: there is none. */
bool asked_next(struct asked *a, const char *folder);
void asked_say(const struct asked *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool asked_to_stop(const struct asked *a);
void asked_done(struct asked *a);

#endif
