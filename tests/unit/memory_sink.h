/* A sink that remembers every row as it was put, by kind, with its texts. `limit`: how many rows of
 * one kind it takes before it fails (0: no limit). */
#ifndef GPUPROF_TESTS_MEMORY_SINK_H
#define GPUPROF_TESTS_MEMORY_SINK_H

#include "analyzer/profile/rows.h"
#include "analyzer/profile/tables.h"
#include "base/str.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct memory {
    struct str_table strings;
    int64_t (*rows[ROW_KINDS])[TABLE_MAX_ROW / sizeof(int64_t) + 1];
    int count[ROW_KINDS], limit;
    /* Set to 1 at the first kernel, to say that the recorded process ends meanwhile. */
    _Atomic uint32_t *ends;
};

static inline uint32_t memory_intern(void *self, const char *s, size_t n)
{
    return str_intern(&((struct memory *)self)->strings, s, n);
}

static inline int memory_put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct memory *m = self;
    int n = m->count[kind];
    if (m->ends && kind == ROW_KERNEL)
        atomic_store(m->ends, 1);
    if (m->limit && n == m->limit)
        return err_set(e, "the memory is full");
    if ((n & (n - 1)) == 0)
        m->rows[kind] = realloc(m->rows[kind], (n ? 2 * (size_t)n : 1) * sizeof *m->rows[kind]);
    if (!m->rows[kind])
        abort();
    memcpy(m->rows[kind][m->count[kind]++], row, tables[kind].row_size);
    return 0;
}

static inline struct memory *memory_new(struct sink *out)
{
    struct memory *m = calloc(1, sizeof *m);
    if (!m || str_table_init(&m->strings) < 0)
        abort();
    *out = (struct sink){.self = m, .intern = memory_intern, .put = memory_put};
    return m;
}

static inline void memory_free(struct memory *m)
{
    for (int k = 0; k < ROW_KINDS; k++)
        free(m->rows[k]);
    str_table_release(&m->strings);
    free(m);
}

/* Row i (from 0) of a kind, as a struct row_TYPE; i must be less than count[kind]. */
#define MEMORY_ROW(m, type, kind, i) ((const struct row_##type *)(const void *)(m)->rows[kind][i])

static inline const char *memory_text(const struct memory *m, uint32_t id)
{
    return str_text(&m->strings, id);
}

/* The last value of a meta key; NULL: none. */
static inline const char *memory_meta(const struct memory *m, const char *key)
{
    for (int i = m->count[ROW_META]; i-- > 0;)
        if (strcmp(memory_text(m, MEMORY_ROW(m, meta, ROW_META, i)->key), key) == 0)
            return memory_text(m, MEMORY_ROW(m, meta, ROW_META, i)->value);
    return NULL;
}

/* The value of a health code; -1: none. */
static inline int64_t memory_health(const struct memory *m, const char *code)
{
    for (int i = 0; i < m->count[ROW_HEALTH]; i++)
        if (strcmp(memory_text(m, MEMORY_ROW(m, health, ROW_HEALTH, i)->code), code) == 0)
            return MEMORY_ROW(m, health, ROW_HEALTH, i)->value;
    return -1;
}

#endif
