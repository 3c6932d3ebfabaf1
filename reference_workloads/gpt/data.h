/* Generated text as tokens: words of a small language with some order in it, so that a model can
 * learn. Made by the training thread: a batch takes microseconds. */
#ifndef GPT_DATA_H
#define GPT_DATA_H

#include <stddef.h>
#include <stdint.h>

struct data {
    int vocab, rows, context;
    uint64_t state;
};

/* A batch is one block of int32: (rows) tokens, (rows) targets, (rows) order, (rows + 1) starts,
 * and the number of groups; see struct token_groups in kernels.h. */
enum data_part { DATA_TOKENS, DATA_TARGETS, DATA_ORDER, DATA_STARTS, DATA_COUNT };
size_t data_offset(int rows, enum data_part part); /* in int32 */
size_t data_bytes(int rows);

struct data data_open(int vocab, int rows, int context, int seed);
void data_batch(struct data *d, int32_t *batch, int32_t *scratch /* (vocab) */);

#endif
