/* Stacks as a tree: each frame is stored once below its caller. */
#ifndef GPUPROF_SAMPLER_STACKS_H
#define GPUPROF_SAMPLER_STACKS_H

#include "analyzer/pyframes/pyframes.h"
#include "analyzer/sampler/sampler.h"
#include "base/str.h"

/* Limit of frames (some 20 MB). Beyond it, a stack ends at the innermost frame that is stored. */
enum { STACKS_MOST = 200000 };

struct stacks {
    struct str_table texts;
    struct VEC(struct stack_frame) at; /* entry 0 is no frame */
    uint32_t *slots;                   /* open addressing: index in `at`; 0 = free */
    uint32_t mask;
    char *hidden; /* frames in this folder are left out; NULL: none */
};

int stacks_init(struct stacks *s, const char *hidden_folder); /* -1: out of memory */
void stacks_release(struct stacks *s);
/* The number of a stack; `frames` has the innermost first. 0: no frames. Frames that a forked
 * process has from its parent are cut off. */
uint32_t stacks_add(struct stacks *s, const struct pyframe *frames, size_t n);

#endif
