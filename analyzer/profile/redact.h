/* A sink before another that keeps secrets out of it: rows pass, and each text that they name is
 * handed on without secrets (base/secrets/secrets.h). With `all` also without what tells who made
 * the recording and where: arguments, folders, user, host, serial numbers of GPUs.
 * Cost: one look-up a text, and a copy of each row that names one; memory: each distinct text. */
#ifndef GPUPROF_PROFILE_REDACT_H
#define GPUPROF_PROFILE_REDACT_H

#include "analyzer/profile/rows.h"

#include <stdbool.h>

struct redact;

/* NULL with *e set: out of memory. */
struct redact *redact_open(struct sink inner, bool all, struct err *e);
struct sink redact_sink(struct redact *r); /* until redact_close */
void redact_close(struct redact *r);       /* NULL is fine */
/* How a path is shown: with `all` without its folders. A part of `path`. */
const char *redact_path(const char *path, bool all);

#endif
