/* Keeps each distinct text once, under a number (str.h). */
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

uint64_t str_hash(const char *s, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u ^ n;
    for (; n >= 8; s += 8, n -= 8) {
        uint64_t w;
        memcpy(&w, s, 8);
        h = (h ^ w) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

int str_table_init(struct str_table *t)
{
    *t = (struct str_table){0};
    t->slot_mask = 1023;
    t->slots = calloc(t->slot_mask + 1u, sizeof *t->slots);
    if (!t->slots || str_intern(t, "", 0) != 0) {
        str_table_release(t);
        return -1;
    }
    return 0;
}

void str_table_release(struct str_table *t)
{
    arena_release(&t->arena);
    free(t->text);
    free(t->length);
    free(t->slots);
    *t = (struct str_table){0};
}

static int grow_ids(struct str_table *t)
{
    uint32_t cap = t->cap ? t->cap * 2 : 256;
    const char **text = realloc(t->text, cap * sizeof *text);
    if (text)
        t->text = text;
    uint32_t *length = realloc(t->length, cap * sizeof *length);
    if (length)
        t->length = length;
    if (!text || !length)
        return -1;
    t->cap = cap;
    return 0;
}

static int grow_slots(struct str_table *t)
{
    uint32_t mask = t->slot_mask * 2 + 1;
    uint32_t *slots = calloc(mask + 1u, sizeof *slots);
    if (!slots)
        return -1;
    for (uint32_t id = 0; id < t->n; id++) {
        uint32_t i = (uint32_t)str_hash(t->text[id], t->length[id]) & mask;
        while (slots[i])
            i = (i + 1) & mask;
        slots[i] = id + 1;
    }
    free(t->slots);
    t->slots = slots;
    t->slot_mask = mask;
    return 0;
}

uint32_t str_intern(struct str_table *t, const char *s, size_t n)
{
    if (n > UINT32_MAX / 2)
        n = UINT32_MAX / 2;
    uint32_t i = (uint32_t)str_hash(s, n) & t->slot_mask;
    for (; t->slots[i]; i = (i + 1) & t->slot_mask) {
        uint32_t id = t->slots[i] - 1;
        if (t->length[id] == n && memcmp(t->text[id], s, n) == 0)
            return id;
    }
    if (t->n == t->cap && grow_ids(t) < 0)
        return STR_NONE;
    char *copy = arena_alloc(&t->arena, n + 1);
    if (!copy)
        return STR_NONE;
    if (n)
        memcpy(copy, s, n);
    t->text[t->n] = copy;
    t->length[t->n] = (uint32_t)n;
    t->slots[i] = ++t->n;
    if (t->n > t->slot_mask / 2 && grow_slots(t) < 0)
        return STR_NONE;
    return t->n - 1;
}

const char *str_text(const struct str_table *t, uint32_t id)
{
    return id < t->n ? t->text[id] : "";
}

bool str_ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && strcmp(s + n - m, suffix) == 0;
}
