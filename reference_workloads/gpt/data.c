/* See data.h. */
#include "reference_workloads/gpt/data.h"

#include <string.h>

size_t data_offset(int rows, enum data_part part)
{
    return part == DATA_COUNT ? (size_t)part * (size_t)rows + 1 : (size_t)part * (size_t)rows;
}

size_t data_bytes(int rows)
{
    return (data_offset(rows, DATA_COUNT) + 1) * sizeof(int32_t);
}

struct data data_open(int vocab, int rows, int context, int seed)
{
    return (struct data){vocab, rows, context, (uint64_t)seed * 0x9e3779b97f4a7c15u + 1};
}

static uint32_t next_random(struct data *d)
{
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(d->state >> 33);
}

/* Three times in four the next token follows from this one; else it is a new word, often a small
 * number: words of a language are unevenly frequent. */
static int32_t follow(struct data *d, int32_t token)
{
    uint32_t r = next_random(d);
    if (r % 4 != 0)
        return (int32_t)(((uint32_t)token * 7 + 11) % (uint32_t)d->vocab);
    uint32_t range = (uint32_t)d->vocab >> (r / 4 % 8);
    return (int32_t)(next_random(d) % (range > 1 ? range : 2));
}

static void write_text(struct data *d, int32_t *tokens, int32_t *targets)
{
    for (int i = 0; i < d->rows; i += d->context) {
        int32_t token = (int32_t)(next_random(d) % (uint32_t)d->vocab);
        for (int j = i; j < i + d->context; j++) {
            tokens[j] = token;
            token = targets[j] = follow(d, token);
        }
    }
}

/* Rows in the order of their tokens, by counting. */
static void group(const struct data *d, const int32_t *tokens, int32_t *order, int32_t *starts,
                  int32_t *count, int32_t *at)
{
    memset(at, 0, (size_t)d->vocab * sizeof *at);
    for (int i = 0; i < d->rows; i++)
        at[tokens[i]]++;
    int32_t sum = 0;
    *count = 0;
    for (int v = 0; v < d->vocab; v++) {
        int32_t n = at[v];
        at[v] = sum;
        if (n > 0)
            starts[(*count)++] = sum;
        sum += n;
    }
    starts[*count] = sum;
    for (int i = 0; i < d->rows; i++)
        order[at[tokens[i]]++] = i;
}

void data_batch(struct data *d, int32_t *batch, int32_t *scratch)
{
    int32_t *tokens = batch + data_offset(d->rows, DATA_TOKENS);
    write_text(d, tokens, batch + data_offset(d->rows, DATA_TARGETS));
    group(d, tokens, batch + data_offset(d->rows, DATA_ORDER),
          batch + data_offset(d->rows, DATA_STARTS), batch + data_offset(d->rows, DATA_COUNT),
          scratch);
}
