/* Sorts keys by merging runs, unless they are already in order, and rearranges an array in place
 * along the cycles of the permutation. */
#include "analyzer/timeline/sort.h"

#include <stdlib.h>
#include <string.h>

static int after(const struct sort_key *a, const struct sort_key *b)
{
    return a->group != b->group ? a->group > b->group : a->time > b->time;
}

/* Insertion sort for short runs, which sort_keys then merges in doubling widths. */
static void insertion(struct sort_key *k, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct sort_key x = k[i];
        size_t j = i;
        for (; j > 0 && after(&k[j - 1], &x); j--)
            k[j] = k[j - 1];
        k[j] = x;
    }
}

static void merge(const struct sort_key *a, size_t na, const struct sort_key *b, size_t nb,
                  struct sort_key *out)
{
    while (na && nb) {
        if (after(a, b)) {
            *out++ = *b++;
            nb--;
        } else {
            *out++ = *a++;
            na--;
        }
    }
    memcpy(out, na ? a : b, (na ? na : nb) * sizeof *out);
}

int sort_keys(struct sort_key *keys, size_t n)
{
    enum { RUN = 8 };
    size_t i = 1;
    while (i < n && !after(&keys[i - 1], &keys[i]))
        i++;
    if (i >= n)
        return 0;
    struct sort_key *spare = malloc(n * sizeof *spare);
    if (!spare)
        return -1;
    for (i = 0; i < n; i += RUN)
        insertion(keys + i, n - i < RUN ? n - i : RUN);
    struct sort_key *from = keys, *to = spare;
    for (size_t w = RUN; w < n; w *= 2) {
        for (i = 0; i < n; i += 2 * w) {
            size_t left = n - i < w ? n - i : w;
            size_t right = n - i - left < w ? n - i - left : w;
            merge(from + i, left, from + i + left, right, to + i);
        }
        struct sort_key *t = from;
        from = to;
        to = t;
    }
    if (from != keys)
        memcpy(keys, from, n * sizeof *keys);
    free(spare);
    return 1;
}

int sort_apply(const struct sort_key *keys, size_t n, void *base, size_t size)
{
    unsigned char *b = base;
    unsigned char *done = calloc((n + 7) / 8 + 1, 1), *held = malloc(size);
    if (!done || !held) {
        free(done);
        free(held);
        return -1;
    }
    for (size_t i = 0; i < n; i++) { /* follow each cycle of the permutation once */
        if (done[i / 8] >> i % 8 & 1)
            continue;
        memcpy(held, b + i * size, size);
        size_t at = i;
        for (;;) {
            done[at / 8] |= (unsigned char)(1u << at % 8);
            size_t from = keys[at].index;
            if (from == i)
                break;
            memcpy(b + at * size, b + from * size, size);
            at = from;
        }
        memcpy(b + at * size, held, size);
    }
    free(done);
    free(held);
    return 0;
}
