/* A sink in front of another one that shifts times: for rows of a recording that starts at another
 * moment than the recording they are added to. */
#ifndef GPUPROF_IMPORT_MOVED_H
#define GPUPROF_IMPORT_MOVED_H

#include "analyzer/profile/rows.h"

struct moved {
    struct sink *out;
    int64_t by_ns;
};

/* A sink for rows whose times count from `epoch_ns` (Unix time; 0 = not known). They go to `out`,
 * which takes over this epoch if it has none. *m must live as long as the sink. */
struct sink moved_sink(struct moved *m, struct sink *out, int64_t epoch_ns);

#endif
