/* A fixed set of words, each with a value. A word is found by its length and two of its bytes, and
 * then compared once. Meant for millions of texts that are mostly one of a few words, such as the
 * keys of a trace. Cost: one hash and one comparison a look-up, 128 bytes a set. */
#ifndef GPUPROF_BASE_WORDS_H
#define GPUPROF_BASE_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct word {
    const char *text;
    uint8_t length, value;
};
#define WORD(text, value)                                                                          \
    {                                                                                              \
        text, sizeof text - 1, value                                                               \
    }

enum { WORDS_SLOTS = 128, WORDS_MOST = WORDS_SLOTS / 2 };

struct words {
    const struct word *at;
    uint8_t slot[WORDS_SLOTS]; /* index + 1; 0 = empty */
};

static inline unsigned words_slot(const char *text, size_t n)
{
    unsigned first = (unsigned char)text[0], last = (unsigned char)text[n - 1];
    return ((unsigned)n * 7 + first * 31 + last * 5) % WORDS_SLOTS;
}

/* Indexes words. No word is empty, none occurs twice, and there are at most WORDS_MOST. The words
 * stay the caller's and must not move. */
void words_index(struct words *w, const struct word *at, size_t count);

/* NULL: the text is none of the words. */
static inline const struct word *words_find(const struct words *w, const char *text, size_t n)
{
    for (unsigned i = n ? words_slot(text, n) : 0; n && w->slot[i]; i = (i + 1) % WORDS_SLOTS) {
        const struct word *found = &w->at[w->slot[i] - 1];
        if (found->length == n && memcmp(found->text, text, n) == 0)
            return found;
    }
    return NULL;
}

#endif
