/* A sink before another that moves points in time: rows of a recording with a start of its own go
 * into one that started at another moment. */
#ifndef GPUPROF_IMPORT_MOVED_H
#define GPUPROF_IMPORT_MOVED_H

#include "analyzer/profile/rows.h"

struct moved {
    struct sink *out;
    int64_t by_ns;
};

/* Rows that count from `epoch_ns` (Unix time; 0 = not known) go into `out`, which takes this start
 * over if it has none. *m must live as long as the sink. */
struct sink moved_sink(struct moved *m, struct sink *out, int64_t epoch_ns);

#endif
