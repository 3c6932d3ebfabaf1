/* Hooks on library calls. They see the calls because the agent is preloaded, so its symbols come
 * first. A hook calls the real function and, around the outermost one, writes a CALL record with
 * what the call was about.
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
    _Atomic(void *) real; /* HOOK_ABSENT: looked for and not found */
};

struct hook_call {
    struct thread *t;
    int64_t start_ns;
    enum spool_rec_kind kind;
};

/* A hook that calls the function of the caller's own library. If several versions of the runtime
 * are loaded, each library launches its kernels by the one that it was linked to. from: the return
 * address in the caller. (A function whose last action is the call looks like its own caller.)
 * Cost: a compare for each library that has called the function before. */
enum { HOOK_CALLERS = 16 };
struct hook_by_caller {
    struct hook hook; /* used if the caller is unknown */
    struct hook_caller {
        _Atomic unsigned long low; /* start of the caller's code; 0: free; 1: being filled */
        unsigned long high;
        void *real;
    } callers[HOOK_CALLERS];
};
void *hook_real_for(struct hook_by_caller *h, const void *from);

/* The function behind a hook, or any other function of that library; NULL: there is none. */
void *hook_real(struct hook *h);
/* Begins a call. False: only call the real function, record nothing (the agent is passive, or the
 * thread is inside another hooked call). */
bool hook_begin(struct hook_call *c, const struct hook *h);
/* Returns the record, which the caller fills and commits; NULL: no room. Call it after
 * hook_begin. */
struct spool_rec_call *hook_end(struct hook_call *c, struct hook *h);
void hook_commit(struct hook_call *c);
/* Ends the call without a record, because other code has written it. */
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
        if (!hook_begin(&call, &hook))                                                             \
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
