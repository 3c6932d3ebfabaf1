/* A remedy as a value: what to do, to what, with which numbers, what is there now, and what else is
 * so. Rules fill it; the dialects (analyzer/dialects/) find words for it, and JSON carries it, so
 * that programs can act on it. */
#ifndef GPUPROF_REMEDY_REMEDY_H
#define GPUPROF_REMEDY_REMEDY_H

#include "analyzer/remedy/actions.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

/* What is to be changed, X(NAME, ID): OBJECT_NAME in C, ID in JSON. */
#define REMEDY_OBJECTS(X)                                                                          \
    X(PROGRAM, "program")                                                                          \
    X(LOADER, "loader")                                                                            \
    X(CALL, "call")                                                                                \
    X(COPY, "copy")                                                                                \
    X(KERNEL, "kernel")                                                                            \
    X(PARAMETERS, "parameters") /* a group of them, that an optimizer updates */                   \
    X(RANK, "rank")                                                                                \
    X(RECORDING, "recording")

enum object {
#define X(name, id) OBJECT_##name,
    REMEDY_OBJECTS(X)
#undef X
        OBJECT_COUNT
};

struct remedy_object {
    enum object kind;
    const char *name;    /* "cudaStreamSynchronize"; NULL */
    const char *place;   /* the line to change, "train.py:9"; NULL: not known */
    const char *made_by; /* of a loader: the packages whose code makes it, innermost first,
                            "torch transformers"; of a wait: those whose loop waits; NULL: the
                            program itself, or not known */
    bool fixed;          /* of a loader: a library's own class, which no setting reaches */
};

/* What the action takes, X(NAME, ID): PARAM_NAME in C, ID in templates and in JSON.
 * Text, or a number. */
#define REMEDY_PARAMS(X)                                                                           \
    X(WORKERS, "workers") /* of a loader */                                                        \
    X(START_METHOD,                                                                                \
      "start_method")       /* by which worker processes start, where that is not fork: "spawn" */ \
    X(THREADS, "threads")   /* that compute */                                                     \
    X(BATCH, "batch")       /* samples */                                                          \
    X(CALL, "call")         /* "cudaStreamSynchronize" */                                          \
    X(PACKAGE, "package")   /* whose code makes the call */                                        \
    X(OPERATOR, "operator") /* "aten::cat" */                                                      \
    X(OPTIMIZER, "optimizer")   /* its class, "AdamW" */                                           \
    X(ENGINE, "engine")         /* what shards the weights: "ZeRO 3" */                            \
    X(DTYPE, "dtype")           /* "bf16" */                                                       \
    X(TF32_SAVES, "tf32_saves") /* what TF32 alone saves: "44.6 ms" */                             \
    X(RANKS, "ranks")           /* "rank 3", "ranks 4 to 7" */                                     \
    X(CAUSE, "cause")           /* why a rank is late: "work", "gpu", "host", "unknown" */

/* What is so besides, X(NAME, ID): CONDITION_NAME in C, ID in templates and in JSON. */
#define REMEDY_CONDITIONS(X)                                                                       \
    X(PERSISTENT, "persistent")         /* workers should outlive a loop over the loader */        \
    X(MADE_ANEW, "made_anew")           /* the loader is made anew for each loop */                \
    X(ONE_OF_LOADERS, "one_of_loaders") /* the program has several, and this is about one */       \
    X(FEWER_THAN_NOW, "fewer_than_now") /* workers */                                              \
    X(WAITS_UNKNOWN, "waits_unknown")   /* it is not recorded what workers wait for */             \
    X(CORES_UNKNOWN, "cores_unknown")   /* nor how many cores there are; the cost of a batch is */ \
    X(SHARDS_ITSELF, "shards_itself")   /* a dataset that divides itself among workers */          \
    X(NO_LOADER, "no_loader")           /* no loader makes the batches */                          \
    X(ONLY_INFERS, "only_infers")       /* nothing is learnt */                                    \
    X(REPEATS, "repeats")               /* a part of the window's work repeats */                  \
    X(CACHED, "cached")                 /* generate() has a cache of fixed size */                 \
    X(SPREAD, "spread")                 /* the work lies in many places */                         \
    X(COMPUTES, "computes")             /* the line computes, rather than waits */                 \
    X(FILLS, "fills")                   /* the work writes values into parts of tensors */         \
    X(LINES_KNOWN, "lines_known")       /* the lines of the program were recorded */               \
    X(ALSO_READ, "also_read")           /* reading results later saves most, beside the action */  \
    X(OFFLOADED, "offloaded")           /* weights or states live in the host's memory */          \
    X(IMAGES, "images")                 /* the work is about pictures */                           \
    X(WAITED, "waited")                 /* the host waits for the copies */                        \
    X(LOADER_PINS, "loader_pins")       /* the loader pins its batches already */                  \
    X(PLAIN_NORM, "plain_norm") /* normalisation by calls that have no fast kernels for NHWC */    \
    X(SEARCHES, "searches")     /* the program searches algorithms itself ... */                   \
    X(SEARCHES_TWICE,                                                                              \
      "searches_twice")             /* ... often enough that no kernel is loaded in a search */    \
    X(BENCHMARK_ON, "benchmark_on") /* the framework searches algorithms */                        \
    X(ODD_CHANNELS, "odd_channels") /* channels are no multiples of 8 */                           \
    X(OF_CONVOLUTIONS, "of_convolutions") /* the sizes are channels of convolutions */             \
    X(HAS_TF32, "has_tf32")               /* what could use it uses TF32 */                        \
    X(CONVOLVES, "convolves")             /* convolutions compute in FP32 */                       \
    X(TF32_FIRST, "tf32_first")           /* TF32 alone saves most */                              \
    X(TO_CHANNELS_LAST,                                                                            \
      "to_channels_last")       /* model and input should change their layout as well */           \
    X(OF_WEIGHTS, "of_weights") /* most casts are of weights */                                    \
    X(BY_LISTS, "by_lists")     /* the optimizer updates lists of parameters already */            \
    X(NO_BF16, "no_bf16")       /* this GPU does not compute in bf16 */                            \
    X(NEVER_OVERLAPPED, "never_overlapped") /* nothing runs beside the collectives */              \
    X(NOT_DDP, "not_ddp")                   /* what exchanges gradients is not DDP */              \
    X(ONE_BY_ONE, "one_by_one")             /* more workers by and by, up to the free cores */     \
    X(TOGETHER, "together")                 /* several ranks are late for one cause */             \
    X(MAYBE_PIPELINE, "maybe_pipeline")     /* the exchanges may be those of a pipeline's stages */

enum param {
#define X(name, id) PARAM_##name,
    REMEDY_PARAMS(X)
#undef X
        PARAM_COUNT
};

enum condition {
#define X(name, id) CONDITION_##name,
    REMEDY_CONDITIONS(X)
#undef X
        CONDITION_COUNT
};

struct remedy_value { /* set: a text, or a number where that is NULL */
    bool set;
    const char *text;
    int64_t number;
};

struct remedy {
    enum action action; /* ACTION_NONE: nothing is advised */
    struct remedy_object object;
    struct remedy_value params[PARAM_COUNT];
    const char *now; /* what the program has there now, "DataLoader(num_workers=0)"; NULL */
    bool conditions[CONDITION_COUNT];
};

void remedy_number(struct remedy *r, enum param key, int64_t value);
void remedy_text(struct remedy *r, enum param key, const char *text); /* NULL: none is set */

const char *object_id(enum object o);           /* "loader" */
const char *param_id(enum param key);           /* "workers" */
const char *condition_id(enum condition which); /* "made_anew" */

/* The text that GPUPROF_APPLY takes to try it, "num_workers=4"; NULL: there is none, or a number is
 * missing. */
const char *remedy_setting(const struct remedy *r, struct arena *arena);
/* "num_workers": the first setting that the action has at all; NULL. From the arena. */
const char *remedy_setting_name(enum action action, struct arena *arena);

#endif
