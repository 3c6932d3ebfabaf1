/* Interned strings: each distinct text is kept once, and known by a small number. Id 0 is the empty
 * string. A look-up costs one hash and one comparison. Texts live until str_table_release. */
#ifndef GPUPROF_BASE_STR_H
#define GPUPROF_BASE_STR_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct str_table {
    struct arena arena;
    const char **text; /* by id */
    uint32_t *length;  /* by id, without the NUL */
    uint32_t n, cap;
    uint32_t *slots;    /* open addressing: id + 1; 0: empty */
    uint32_t slot_mask; /* number of slots - 1; that number is a power of two */
};

#define STR_NONE UINT32_MAX /* out of memory */

int str_table_init(struct str_table *t); /* 0, or -1 if out of memory */
void str_table_release(struct str_table *t);
uint32_t str_intern(struct str_table *t, const char *s, size_t n);
const char *str_text(const struct str_table *t, uint32_t id); /* "" for an unknown id */

bool str_ends_with(const char *s, const char *suffix);

/* A 64-bit hash in the manner of FNV-1a with a final mix; the same in every run. */
uint64_t str_hash(const char *s, size_t n);

#endif
