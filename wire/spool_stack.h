/* The ring record of a long wait: from which stack a thread called CUDA. The target copies bytes,
 * and the collector unwinds them. */
#ifndef GPUPROF_WIRE_SPOOL_STACK_H
#define GPUPROF_WIRE_SPOOL_STACK_H

#include "wire/spool_format.h"

/* A call of CUDA that took SPOOL_LONG_NS or more, and the stack of its thread at its end. `stack`
 * numbers the way there; the stack's bytes, from the stack pointer up, follow the first record of a
 * number, others have none. The registers are those at the lowest byte (x86-64: rip rsp rbp rbx r12
 * r13 r14 r15). */
#define SPOOL_LONG_NS INT64_C(500000)
enum { SPOOL_STACK_BYTES = 16384, SPOOL_STACK_REGISTERS = 8 };
struct spool_rec_stack {
    struct spool_rec head;
    uint32_t correlation; /* CUPTI's */
    uint32_t function;    /* string id: cudaStreamSynchronize */
    uint16_t layer;       /* 0 runtime, 1 driver */
    uint16_t bytes;       /* of the stack, behind this */
    uint32_t unused;
    uint64_t stack; /* never 0 */
    uint64_t registers[SPOOL_STACK_REGISTERS];
};

_Static_assert(sizeof(struct spool_rec_stack) == 112, "struct spool_rec_stack changed size");

#endif
