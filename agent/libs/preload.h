/* Hooks on library calls, seen because the agent is preloaded: a hook calls the real function and,
 * around the outermost one, writes a CALL record with what the call was about.
 *
 * Cost: two loads while passive; two clock reads, one 112-byte record and the library's own Get*
 * functions (host memory only) while recording. A hook never changes arguments or results. */
#ifndef GPUPROF_AGENT_LIBS_PRELOAD_H
#define GPUPROF_AGENT_LIBS_PRELOAD_H

#include "agent/core/spool.h"

enum hook_library { HOOK_CUBLAS, HOOK_CUBLASLT, HOOK_CUDART, HOOK_CUDNN, HOOK_CUPTI, HOOK_NCCL };

struct hook {
    const char *name;
    enum hook_library library;
    _Atomic(void *) real; /* HOOK_ABSENT: looked for and not there */
};

struct hook_call {
    struct thread *t;
    int64_t start_ns;
};

/* The same function as the calling library finds it: where several versions of the runtime are
 * loaded, each library launches its kernels by the one that it was linked to. `from`: an address in
 * the caller, the return address; a function that ends with the call looks like its own caller. Cost: a compare for each library that has called it before. */
enum { HOOK_CALLERS = 16 };
struct hook_by_caller {
    struct hook hook; /* for callers that are not told apart */
    struct hook_caller {
        _Atomic unsigned long low; /* of its code; 0 free, 1 being filled */
        unsigned long high;
        void *real;
    } callers[HOOK_CALLERS];
};
void *hook_real_for(struct hook_by_caller *h, const void *from);

/* The function behind a hook, or any other function of that library; NULL: not there. */
void *hook_real(struct hook *h);
/* False: call through, record nothing (passive, or inside another hooked call). */
bool hook_begin(struct hook_call *c);
/* The record, to be filled and committed; NULL: no room. Must follow hook_begin. */
struct spool_rec_call *hook_end(struct hook_call *c, struct hook *h);
void hook_commit(struct hook_call *c);
/* Instead of both: somebody else has written the record. */
void hook_cancel(void);

/* Defines the wrapper of function FN. The statements after ARGS fill `rec`. */
#define HOOK(LIBRARY, RET, FAILED, FN, PARAMS, ARGS, ...)                                          \
    AGENT_EXPORT RET FN PARAMS;                                                                    \
    RET FN PARAMS                                                                                  \
    {                                                                                              \
        static struct hook hook = {.name = #FN, .library = LIBRARY};                               \
        __typeof__(FN) *real = (__typeof__(FN) *)hook_real(&hook);                                 \
        struct hook_call call;                                                                     \
        if (!real)                                                                                 \
            return FAILED;                                                                         \
        if (!hook_begin(&call))                                                                    \
            return real ARGS;                                                                      \
        RET status = real ARGS;                                                                    \
        struct spool_rec_call *rec = hook_end(&call, &hook);                                       \
        if (rec) {                                                                                 \
            __VA_ARGS__;                                                                           \
            hook_commit(&call);                                                                    \
        }                                                                                          \
        return status;                                                                             \
    }

/* Another function of the library, looked up once: GETTER(HOOK_CUDNN, cudnnGetX)(...). */
#define GETTER(LIBRARY, FN)                                                                        \
    ({                                                                                             \
        static struct hook getter_ = {.name = #FN, .library = LIBRARY};                            \
        (__typeof__(FN) *)hook_real(&getter_);                                                     \
    })

#endif
