/* Serves one file, once, on loopback, to one web page: HTTP as far as that needs. */
#ifndef GPUPROF_CLI_SERVE_H
#define GPUPROF_CLI_SERVE_H

#include "analyzer/base/err.h"

#include <stddef.h>

enum { SERVE_PORT = 9001 }; /* the one local port that the page may fetch from */
#define SERVE_ORIGIN "https://ui.perfetto.dev"

struct server {
    int listening, file;
    long long size;
    char name[64]; /* the one path that is answered */
};

int server_open(struct server *s, const char *path, const char *name, struct err *e);
/* Returns 0 once the file was sent whole, -1 with *e set after timeout_s without that. */
int server_run(struct server *s, int timeout_s, struct err *e);
void server_close(struct server *s);

#endif
