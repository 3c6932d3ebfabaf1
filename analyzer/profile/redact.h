/* A sink in front of another that keeps secrets out of it. Rows pass through it, and each text that
 * they name is passed on without secrets (base/secrets/secrets.h). With `all`, it also removes what
 * shows who made the recording and where: arguments, folders, user, host, serial numbers of GPUs.
 * Cost: one look-up per text, and a copy of each row with a text; memory: each distinct text. */
#ifndef GPUPROF_PROFILE_REDACT_H
#define GPUPROF_PROFILE_REDACT_H

#include "analyzer/profile/rows.h"

#include <stdbool.h>

struct redact;

/* NULL with *e set: out of memory. */
struct redact *redact_open(struct sink inner, bool all, struct err *e);
struct sink redact_sink(struct redact *r); /* valid until redact_close */
void redact_close(struct redact *r);       /* accepts NULL */
/* The path as outputs show it: with `all` only its last part. Points into `path`. */
const char *redact_path(const char *path, bool all);

#endif
