/* Serves one file, once, on loopback, to one web page: HTTP as far as that needs. Who asks must
 * know the address, which nobody can guess; must have come by a name of this machine, so that no
 * other site can point its own name here; must be a program of the same user, where the kernel
 * tells; and if it is a web page, then that one. Slow, long and wrong requests hold nobody up.
 *   serve.c       connections
 *   serve_http.c  what is asked, and what is answered
 *   serve_peer.c  whose program asks */
#ifndef GPUPROF_CLI_VIEW_SERVE_H
#define GPUPROF_CLI_VIEW_SERVE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { SERVE_PORT = 9001 }; /* the one local port that the page may fetch from */
#define SERVE_ORIGIN "https://ui.perfetto.dev"

struct server {
    int listening, file;
    long long size;
    char path[128]; /* the one that is answered: "/", 32 digits by chance, "/", the file's name */
};

/* Takes over `file`, whose content goes out under `name`. The address is then
 * http://127.0.0.1:SERVE_PORT and s->path. -1 with *e set; then `file` is closed. */
int server_open(struct server *s, int file, const char *name, struct err *e);
/* Returns 0 once the file was sent whole, -1 with *e set after timeout_s without that. */
int server_run(struct server *s, int timeout_s, struct err *e);
void server_close(struct server *s);

/* ---- serve_http.c ---- */

enum { SERVE_HEAD = 8192 }; /* bytes of a request that are read */

enum serve_reply {
    SERVE_FILE,    /* the file */
    SERVE_HEADERS, /* its headers alone: HEAD */
    SERVE_ALLOWED, /* a page asks whether it may ask */
    SERVE_BAD,
    SERVE_FORBIDDEN,
    SERVE_NOT_FOUND,
    SERVE_METHOD,
    SERVE_BUSY,
    SERVE_LONG
};

/* What to answer to a request whose head is s[0..n), up to and with its empty line; `path` is the
 * one that is served. *page: the page may read the answer. */
enum serve_reply serve_judge(const char *s, size_t n, const char *path, bool *page);
/* The head of the answer; its bytes. */
size_t serve_answer(char *out, size_t cap, enum serve_reply reply, long long size, bool page);

/* ---- serve_peer.c ---- */

/* Is the program at the other end of this connection somebody else's? false where the kernel does
 * not tell. */
bool serve_stranger(int connection);

#endif
