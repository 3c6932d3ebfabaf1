/* A remedy as a value: what to do (action), to what (object), with which numbers (parameters), what
 * the program has there now, and which conditions hold. Rules fill it, dialects
 * (analyzer/dialects/) write it in words, and JSON contains it so that programs can act on it. */
#ifndef GPUPROF_REMEDY_REMEDY_H
#define GPUPROF_REMEDY_REMEDY_H

#include "analyzer/remedy/actions.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;

/* What to change. X(NAME, ID): OBJECT_NAME in C, ID in JSON. */
#define REMEDY_OBJECTS(X)                                                                          \
    X(PROGRAM, "program")                                                                          \
    X(LOADER, "loader")                                                                            \
    X(CALL, "call")                                                                                \
    X(COPY, "copy")                                                                                \
    X(KERNEL, "kernel")                                                                            \
    X(PARAMETERS, "parameters") /* of an optimizer */                                              \
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
    const char *name;  /* e.g. "cudaStreamSynchronize", or NULL */
    const char *place; /* the line to change, e.g. "train.py:9"; NULL: not known */
    /* Of a loader: the packages whose code makes it, innermost first, e.g. "torch transformers". Of
     * a wait: the package whose loop waits. NULL: the program itself, or not known. */
    const char *made_by;
    bool fixed; /* of a loader: a library's own class, which no setting reaches */
};

/* Parameters of an action, a text or a number each. X(NAME, ID): PARAM_NAME in C, ID in templates
 * and in JSON. */
#define REMEDY_PARAMS(X)                                                                           \
    X(WORKERS, "workers")           /* number of them, for a loader */                             \
    X(START_METHOD, "start_method") /* how worker processes start, if not by fork: "spawn" */      \
    X(THREADS, "threads")           /* number of computing threads */                              \
    X(BATCH, "batch")               /* samples per batch */                                        \
    X(CALL, "call")                 /* "cudaStreamSynchronize" */                                  \
    X(PACKAGE, "package")           /* whose code makes the call */                                \
    X(OPERATOR, "operator")         /* "aten::cat" */                                              \
    X(OPTIMIZER, "optimizer")       /* its class, "AdamW" */                                       \
    X(ENGINE, "engine")             /* what shards the weights, e.g. "ZeRO 3" */                   \
    X(DTYPE, "dtype")               /* "bf16" */                                                   \
    X(TF32_SAVES, "tf32_saves")     /* what TF32 alone saves, e.g. "44.6 ms" */                    \
    X(RANKS, "ranks")               /* e.g. "rank 3", "ranks 4 to 7" */                            \
    X(TIMES, "times")               /* calls in one forward pass, micro-batches at a time */       \
    X(CAUSE, "cause")               /* why a rank is late: "work", "gpu", "host", "unknown" */

/* Conditions that hold besides. X(NAME, ID): CONDITION_NAME in C, ID in templates and in JSON. */
#define REMEDY_CONDITIONS(X)                                                                       \
    X(PERSISTENT, "persistent") /* keep workers from one loop over the loader to the next */       \
    X(MADE_ANEW, "made_anew")   /* each loop makes a new loader */                                 \
    X(ONE_OF_LOADERS, "one_of_loaders") /* the program has several loaders, and this is one */     \
    X(FEWER_THAN_NOW, "fewer_than_now") /* fewer workers than now */                               \
    X(WAITS_UNKNOWN, "waits_unknown")   /* the recording lacks what workers wait for */            \
    X(CORES_UNKNOWN, "cores_unknown")   /* the recording lacks the number of cores */              \
    X(SHARDS_ITSELF, "shards_itself")   /* the dataset divides itself among workers */             \
    X(NO_LOADER, "no_loader")           /* no loader makes the batches */                          \
    X(ONLY_INFERS, "only_infers")       /* the program does not train */                           \
    X(REPEATS, "repeats")               /* a part of the window's work repeats */                  \
    X(CACHED, "cached")                 /* generate() has a cache of fixed size already */         \
    X(SPREAD, "spread")                 /* the work lies in many places */                         \
    X(COMPUTES, "computes")             /* the line computes, rather than waits */                 \
    X(SPARSE, "sparse")                 /* the optimizer is one for sparse gradients */            \
    X(FILLS, "fills")                   /* the work writes values into parts of tensors */         \
    X(READS, "reads")                   /* the host reads numbers in between */                    \
    X(LOOP, "loop")                     /* lines of a loop launch the work, of several kinds */    \
    X(LINES_KNOWN, "lines_known")       /* the lines of the program were recorded */               \
    X(ALSO_READ, "also_read")           /* reading results later helps as well */                  \
    X(OFFLOADED, "offloaded")           /* weights or states live in host memory */                \
    X(IMAGES, "images")                 /* the work is about images */                             \
    X(WAITED, "waited")                 /* the host waits for the copies */                        \
    X(LOADER_PINS, "loader_pins")       /* the loader pins its batches already */                  \
    X(PLAIN_NORM, "plain_norm") /* normalisation uses calls without fast kernels for NHWC */       \
    X(SEARCHES, "searches")     /* the program itself searches for algorithms */                   \
    X(SEARCHES_TWICE, "searches_twice")   /* ... at least twice for each shape */                  \
    X(BENCHMARK_ON, "benchmark_on")       /* the framework searches for algorithms */              \
    X(ODD_CHANNELS, "odd_channels")       /* channels that are no multiples of 8 */                \
    X(OF_CONVOLUTIONS, "of_convolutions") /* the sizes are channels of convolutions */             \
    X(HAS_TF32, "has_tf32")               /* matrix work uses TF32 already */                      \
    X(CONVOLVES, "convolves")             /* convolutions compute in FP32 */                       \
    X(TF32_FIRST, "tf32_first")           /* TF32 alone saves more than 16 bits */                 \
    X(TO_CHANNELS_LAST,                                                                            \
      "to_channels_last")       /* model and input should change their layout as well */           \
    X(OF_WEIGHTS, "of_weights") /* most casts are of weights */                                    \
    X(BY_LISTS, "by_lists")     /* the optimizer updates lists of parameters */                    \
    X(NO_BF16, "no_bf16")       /* this GPU does not compute in bf16 */                            \
    X(NEVER_OVERLAPPED, "never_overlapped") /* nothing runs beside the collectives */              \
    X(NOT_DDP, "not_ddp")                   /* the program does not use DDP */                     \
    X(ONE_BY_ONE, "one_by_one")             /* add workers one by one, up to the free cores */     \
    X(TOGETHER, "together")                 /* several ranks are late for the same reason */       \
    X(MAYBE_PIPELINE, "maybe_pipeline")     /* the exchanges may be those of pipeline stages */    \
    X(COMPILED, "compiled")                 /* a compiler makes many of the program's kernels */   \
    X(GRAPHS_ASKED, "graphs_asked")         /* ... and was asked for CUDA graphs */                \
    X(IN_TURN, "in_turn")                   /* each call gets what the one before computed */      \
    X(SEQUENCE, "sequence")                 /* ... and takes whole sequences as well */            \
    X(CELL, "cell")                         /* ... and is one point in time of such a layer */     \
    X(FROZEN, "frozen")                     /* no weight of it learns or changes */                \
    X(SAME_INPUT, "same_input")             /* it gets the same tensors again */                   \
    X(KEEPS_GRAPH, "keeps_graph")           /* an evaluation makes a graph that nobody uses */     \
    X(IN_A_STEP, "in_a_step")               /* ... within a step, and its weights learn */         \
    X(PARAMETRIZED, "parametrized")         /* it computes a weight from others (parametrize) */   \
    X(IN_MODULES, "in_modules")             /* the work is launched in calls of modules */         \
    X(NO_SYNC_USED, "no_sync_used")         /* the program calls no_sync() */                      \
    X(PASSED_THROUGH, "passed_through")     /* gradients of other weights go through it */

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

/* A text if that is not NULL, else a number; `set` is false if there is none. */
struct remedy_value {
    bool set;
    const char *text;
    int64_t number;
};

struct remedy {
    enum action action; /* ACTION_NONE: no advice */
    struct remedy_object object;
    struct remedy_value params[PARAM_COUNT];
    const char *now; /* the present code, e.g. "DataLoader(num_workers=0)", or NULL */
    bool conditions[CONDITION_COUNT];
};

void remedy_number(struct remedy *r, enum param key, int64_t value);
void remedy_text(struct remedy *r, enum param key, const char *text); /* NULL: the parameter is not
                                                                         set */

const char *object_id(enum object o);           /* e.g. "loader" */
const char *param_id(enum param key);           /* e.g. "workers" */
const char *condition_id(enum condition which); /* e.g. "made_anew" */

/* Returns the text by which GPUPROF_APPLY tries the remedy, e.g. "num_workers=4", or NULL if there
 * is none or a value is missing. The arena owns it. */
const char *remedy_setting(const struct remedy *r, struct arena *arena);
/* Returns the name of the action's first setting, e.g. "num_workers", or NULL. The arena owns
 * it. */
const char *remedy_setting_name(enum action action, struct arena *arena);

#endif
