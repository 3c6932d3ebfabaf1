/* Serves one file, once, on loopback, to one web page, with as much of HTTP as that needs. The
 * client must know the address, which cannot be guessed. It must use a name of this machine, so
 * that no other site can make its own name point here. It must be a program of the same user, if
 * the kernel tells. If it is a web page, it must be that one. Slow, long and wrong requests do not
 * delay others.
 *   serve.c       connections
 *   serve_http.c  requests and answers
 *   serve_peer.c  the user of the client's program */
#ifndef GPUPROF_CLI_VIEW_SERVE_H
#define GPUPROF_CLI_VIEW_SERVE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum { SERVE_PORT = 9001 }; /* the only local port from which the page may fetch */
#define SERVE_ORIGIN "https://ui.perfetto.dev"

struct server {
    int listening, file;
    long long size;
    char path[128]; /* the only one served: "/", 32 random digits, "/", the file's name */
};

/* Takes over `file`, and serves it as `name` at http://127.0.0.1:SERVE_PORT and s->path. -1 with *e
 * set; then `file` is closed. */
int server_open(struct server *s, int file, const char *name, struct err *e);
/* Returns 0 once the whole file was sent; -1 with *e set if that has not happened within
 * timeout_s. */
int server_run(struct server *s, int timeout_s, struct err *e);
void server_close(struct server *s);

/* ---- serve_http.c ---- */

enum { SERVE_HEAD = 8192 }; /* bytes of a request that are read */

enum serve_reply {
    SERVE_FILE,    /* the file */
    SERVE_HEADERS, /* only its headers: HEAD */
    SERVE_ALLOWED, /* a page asks for permission first (CORS) */
    SERVE_BAD,
    SERVE_FORBIDDEN,
    SERVE_NOT_FOUND,
    SERVE_METHOD,
    SERVE_BUSY,
    SERVE_LONG
};

/* The reply to a request whose head is s[0..n), with its empty line; `path` is the one served.
 * *page: the page may read the reply. */
enum serve_reply serve_judge(const char *s, size_t n, const char *path, bool *page);
/* Writes the head of the answer. Returns its length. */
size_t serve_answer(char *out, size_t cap, enum serve_reply reply, long long size, bool page);

/* ---- serve_peer.c ---- */

/* True if the program at the other end belongs to another user. False also if the kernel does not
 * tell. */
bool serve_stranger(int connection);

#endif
