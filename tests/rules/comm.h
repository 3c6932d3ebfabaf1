/* Fills the steps of cases about communication: collectives of one or several ranks. */
#ifndef GPUPROF_TESTS_RULES_COMM_H
#define GPUPROF_TESTS_RULES_COMM_H

#include "tests/unit/rule_case.h"

static const char nccl[] = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage)";

/* The name of the kernel by which exchange() moves bytes. */
static const char *moved_by = nccl;

static const char everything[] = "kernels,copies,memsets,api,syncs,ranges,collectives";

/* `group` is the program's name for its process group, `what` the collective in it; NULL: not
 * recorded. */
static inline void exchange_in(struct builder *b, const char *group, const char *what,
                               int64_t stream, int64_t bytes, int64_t call, int64_t start,
                               int64_t length)
{
    struct row_collective c = {.id = ++b->next_id,
                               .process = 1,
                               .thread = b->thread,
                               .start_ns = call,
                               .end_ns = call + US(9),
                               .name = build_text(b, what),
                               .group_name = group ? build_text(b, group) : 0,
                               .kernel = -1,
                               .communicator = 77,
                               .sequence = b->next_id,
                               .bytes = bytes,
                               .ranks = 2};
    int64_t before = b->stream;
    b->stream = stream;
    build_kernel(b, moved_by, call + US(1), start, length);
    b->stream = before;
    build_put(b, ROW_COLLECTIVE, &c);
}

/* ncclAllReduce called at `call`, whose kernel runs on stream `stream` from `start` on. */
static inline void exchange(struct builder *b, int64_t stream, int64_t bytes, int64_t call,
                            int64_t start, int64_t length)
{
    exchange_in(b, NULL, "ncclAllReduce", stream, bytes, call, start, length);
}

static inline const struct advice *looked(struct builder *b, case_fill *fill)
{
    *b = build_start();
    build_stream(b, 2, 1);
    build_meta(b, "have", everything);
    case_loop(b, fill);
    return build_analyze(b);
}

/* Only the kernels are recorded, not the collectives: so the sizes are unknown. */
static inline void fill_unrecorded(struct builder *b, int64_t at)
{
    build_kernel(b, case_gemm, at + US(10), at + US(100), US(7900));
    build_kernel(b, nccl, at + US(30), at + MS(8), US(1900));
}

#endif
