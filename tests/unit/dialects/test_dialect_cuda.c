/* The dialects of CUDA C, libtorch and directives; the latter two use CUDA's words where they have
 * none of their own. */
#include "tests/unit/test.h"
#include "tests/unit/dialects/say_case.h"

extern const struct dialect dialect_libtorch, dialect_directives;

#define CUDA_WAIT                                                                                  \
    "cudaStreamWaitEvent instead of cudaEventSynchronize: streams wait for each other, and the "   \
    "host continues"
#define WORKERS "4 reader threads filling a ring of batch slots ahead of the loop"

TEST(calls)
{
    static const struct said said[] = {
        {{.action = ACTION_LET_STREAMS_WAIT, .object.name = "cudaEventSynchronize"}, CUDA_WAIT},
        {{.action = ACTION_SET_WORKERS, .params[PARAM_WORKERS] = NUMBER(4)}, WORKERS},
        {{.action = ACTION_SET_WORKERS, .params[PARAM_WORKERS] = NUMBER(1)},
         "1 reader thread filling a ring of batch slots ahead of the loop"},
        /* of none there is nothing to say but the general words */
        {{.action = ACTION_SET_WORKERS, .params[PARAM_WORKERS] = NUMBER(0)},
         "reader threads that fill a ring of batch slots ahead of the loop"},
        {{.action = ACTION_REMOVE_SYNCHRONIZE, .conditions[CONDITION_ALSO_READ] = true},
         "cudaMemcpyAsync the result into pinned memory, record an event, and read it one step "
         "later; remove cudaDeviceSynchronize from the loop; wait only for the event of the result "
         "that you need"},
        {{.action = ACTION_USE_CHANNELS_LAST}, "CUDNN_TENSOR_NHWC for tensors and filters (KRSC)"},
    };
    says(&dialect_cuda, said, sizeof said / sizeof *said);
}

TEST(libtorch)
{
    static const struct said said[] = {
        {{.action = ACTION_MEASURE_ALGORITHMS}, "at::globalContext().setBenchmarkCuDNN(true)"},
        {{.action = ACTION_LET_STREAMS_WAIT, .object.name = "cudaEventSynchronize"}, CUDA_WAIT},
        {{.action = ACTION_SET_WORKERS, .params[PARAM_WORKERS] = NUMBER(4)}, WORKERS},
    };
    says(&dialect_libtorch, said, sizeof said / sizeof *said);
    ck_assert_ptr_null(dialect_title(&dialect_libtorch, ACTION_LAUNCH_AS_GRAPH));
    ck_assert_ptr_nonnull(dialect_title(&dialect_libtorch, ACTION_MAKE_ON_GPU));
}

/* Their compilers make the calls: general words about constructs before exact ones about calls. */
TEST(directives)
{
    static const struct said said[] = {
        {{.action = ACTION_LET_STREAMS_WAIT, .object.name = "cudaEventSynchronize"},
         "queue the constructs (OpenACC: async(1), OpenMP: nowait with depend), and wait once "
         "before the host reads (wait, taskwait); keep what the host need not see on the GPU: acc "
         "data or omp target data around the loop"},
        {{.action = ACTION_SET_WORKERS, .params[PARAM_WORKERS] = NUMBER(4)}, WORKERS},
    };
    says(&dialect_directives, said, sizeof said / sizeof *said);
    ck_assert_str_eq(dialect_title(&dialect_directives, ACTION_LAUNCH_FEWER),
                     "Queue the step without waits, in fewer constructs");
}
