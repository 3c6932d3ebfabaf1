/* Builds the index of a fixed set of words (words.h). */
#include "base/words.h"

void words_index(struct words *w, const struct word *at, size_t count)
{
    *w = (struct words){.at = at};
    for (size_t i = 0; i < count && i < WORDS_MOST; i++) {
        unsigned k = words_slot(at[i].text, at[i].length);
        while (w->slot[k])
            k = (k + 1) % WORDS_SLOTS;
        w->slot[k] = (uint8_t)(i + 1);
    }
}
