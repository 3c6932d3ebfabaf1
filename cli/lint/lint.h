/* The checker of Chrome traces. It reads a trace event by event, and keeps what the checks across
 * events need (slices and flows: 56 bytes each). The rules are those of docs/trace.md, with their
 * names there. */
#ifndef GPUPROF_CLI_LINT_LINT_H
#define GPUPROF_CLI_LINT_LINT_H

#include "base/err.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum lint_rule {
    LINT_F1, /* object form, header first, not minified */
    LINT_F2, /* strict JSON */
    LINT_F4, /* file name */
    LINT_T1, /* ts and dur: three decimals, not negative */
    LINT_T2, /* times relative to a base */
    LINT_T5, /* dur present */
    LINT_N1, /* X instead of B and E */
    LINT_N2, /* order on a row */
    LINT_N3, /* slices nest, or do not overlap */
    LINT_N4, /* steps do not overlap when read as doubles */
    LINT_I1, /* ids are integers in range */
    LINT_I2, /* tid 0 */
    LINT_I3, /* ids as text */
    LINT_L1, /* flows have both ends */
    LINT_L2, /* flow bound to the slice around it */
    LINT_L3, /* flow ids unique */
    LINT_C2, /* args is an object */
    LINT_C3, /* every slice has a category */
    LINT_V1, /* words of the vocabulary */
    LINT_RULES
};
extern const char *const lint_name[LINT_RULES], *const lint_text[LINT_RULES];

struct lint_slice {
    int64_t pid, tid, start_ns, end_ns;
    uint64_t at; /* index of the event in the file */
    bool step;   /* ProfilerStep#N */
};

struct lint_flow {
    int64_t pid, tid, at_ns, id;
    uint64_t at, category; /* at: index of the event; category: hash; ids are unique within one */
    bool finish;
};

struct lint {
    uint64_t events;
    uint64_t count[LINT_RULES];
    char example[LINT_RULES][160]; /* the first fault against each rule */
    struct VEC(struct lint_slice) slices;
    struct VEC(struct lint_flow) flows;
    bool has_events, out_of_memory;
};

void lint_found(struct lint *l, enum lint_rule rule, uint64_t event, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Reads the whole trace. -1 with *e set if it is no readable Chrome trace. */
int lint_read(struct lint *l, const char *path, struct err *e);
/* The checks across events. */
void lint_check(struct lint *l);
void lint_release(struct lint *l);

#endif
