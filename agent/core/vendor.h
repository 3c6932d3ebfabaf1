/* CUPTI as a table of functions, filled by dlopen: the agent links no CUDA library, and one binary
 * serves CUPTI 11.8 to 13.x. Functions marked optional may be NULL. */
#ifndef GPUPROF_AGENT_CORE_VENDOR_H
#define GPUPROF_AGENT_CORE_VENDOR_H

#include <cupti.h>

#define VENDOR_CUPTI_REQUIRED(X)                                                                   \
    X(GetVersion)                                                                                  \
    X(ActivityRegisterCallbacks)                                                                   \
    X(ActivityEnable)                                                                              \
    X(ActivityDisable)                                                                             \
    X(ActivityFlushAll)                                                                            \
    X(ActivityGetNextRecord)                                                                       \
    X(GetTimestamp)                                                                                \
    X(GetResultString)

#define VENDOR_CUPTI_OPTIONAL(X)                                                                   \
    X(Subscribe)                                                                                   \
    X(Subscribe_v2)                                                                                \
    X(Unsubscribe)                                                                                 \
    X(EnableCallback)                                                                              \
    X(EnableDomain)                                                                                \
    X(GetCallbackName)                                                                             \
    X(SetThreadIdType)                                                                             \
    X(ActivitySetAttribute)                                                                        \
    X(ActivityEnableAndDump)                                                                       \
    X(ActivityEnableRuntimeApi)                                                                    \
    X(ActivityEnableDriverApi)                                                                     \
    X(ActivityGetNumDroppedRecords)

struct vendor_cupti {
    void *library;
    char path[4096];
#define X(name) __typeof__(&cupti##name) name;
    VENDOR_CUPTI_REQUIRED(X)
    VENDOR_CUPTI_OPTIONAL(X)
#undef X
};

/* Finds the CUPTI that fits this process: the copy already in use, else the one beside the CUDA
 * runtime in use, else an installed one. -1: there is none; `why` then holds one sentence. */
int vendor_load_cupti(struct vendor_cupti *v, char *why, size_t size);

#endif
