/* Words for OpenACC and OpenMP, whose compilers make the CUDA calls. */
#include "analyzer/dialects/dialect.h"
#include "analyzer/queries/query.h"

const struct dialect dialect_directives = {
    .id = "directives",
    .name = "OpenACC, OpenMP",
    .base = &dialect_cuda,
    .spoken = query_of_directives,
    .no_calls = true,
    .titles = {[ACTION_LAUNCH_AS_GRAPH] = "Queue the step without waits, in fewer constructs"},
    .words =
        {
            [ACTION_ALLOCATE_ONCE] =
                "a data region around the loop: #pragma acc data copyin(...) create(...), or "
                "#pragma omp target data map(...): the runtime then allocates once, and constructs "
                "in it find their arrays (present)",
            [ACTION_LAUNCH_AS_GRAPH] =
                "queue the constructs without waits (OpenACC: async(1), OpenMP: nowait), and join "
                "neighbouring loops in one construct",
            [ACTION_MOVE_HOST_WORK] =
                "give that loop to the GPU as well (acc parallel loop, omp target teams loop), or "
                "do it while constructs run (async, nowait)",
            [ACTION_WAIT_LESS] =
                "queue the constructs (OpenACC: async(1), OpenMP: nowait with depend), and wait "
                "once before the host reads (wait, taskwait); keep what the host need not see on "
                "the GPU: acc data or omp target data around the loop",
            [ACTION_COPY_LESS_TO_GPU] =
                "keep the arrays on the GPU over the loop: acc data or omp target data around it, "
                "and acc update or omp target update for the part that the host reads",
            [ACTION_PREFETCH_MANAGED] =
                "compile for memory of its own (nvc -gpu=mem:separate, and no -gpu=managed), with "
                "acc data or omp target data around the loop",
            [ACTION_OVERLAP_COPIES] =
                "update the next part with async(2) while async(1) computes (OpenMP: target update "
                "nowait with depend), and wait only before its use",
            [ACTION_PIN_BATCHES] = "let the compiler allocate pinned memory (nvc -gpu=pinned; "
                                   "OpenMP: an allocator with the trait pinned), and copy less "
                                   "often: acc data or omp target data around the loop",
            [ACTION_MAKE_ON_GPU] =
                "acc data or omp target data around the loop, so that constructs copy nothing; "
                "firstprivate for scalars; one update for neighbouring parts",
            [ACTION_FILL_GPU] =
                "parallelize more of the loops: collapse(N), gang and vector on the right ones "
                "(OpenMP: target teams distribute parallel for), reduction clauses in place of a "
                "loop that runs alone; num_gangs and vector_length (num_teams, thread_limit) only "
                "where the compiler chose too few",
        },
};
