/* Stacks as a tree, each frame once below its caller. */
#ifndef GPUPROF_SAMPLER_STACKS_H
#define GPUPROF_SAMPLER_STACKS_H

#include "analyzer/pyframes/pyframes.h"
#include "analyzer/sampler/sampler.h"
#include "base/str.h"

/* With more frames than this (some 20 MB), a stack ends at the innermost one that is known. */
enum { STACKS_MOST = 200000 };

struct stacks {
    struct str_table texts;
    struct VEC(struct stack_frame) at; /* 0 is no frame */
    uint32_t *slots;                   /* open addressing: number of a frame; 0 = free */
    uint32_t mask;
    char *hidden; /* folder whose frames are left out; NULL: none */
};

int stacks_init(struct stacks *s, const char *hidden_folder); /* -1: out of memory */
void stacks_release(struct stacks *s);
/* The number of a stack, its frames innermost first; 0: it has none. What a forked process has from
 * its parent is cut off. */
uint32_t stacks_add(struct stacks *s, const struct pyframe *frames, size_t n);

#endif
