/* The table of names that an entry of PTX declares or uses, with scopes. The decoder looks up
 * registers, labels and symbols in it. */
#include "ptx/ptx_names.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t symbols_from = (uint64_t)0x70 << 40, symbol_room = (uint64_t)1 << 32;

static int slot_of(const struct names *n, const char *text, size_t length)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    int at = (int)(h & (uint32_t)(n->slots - 1));
    while (n->slot[at]) {
        const struct name *x = &n->name[n->slot[at] - 1];
        if (x->length == length && memcmp(x->text, text, length) == 0)
            break;
        at = (at + 1) & (n->slots - 1);
    }
    return at;
}

static bool grow(struct names *n)
{
    int room = n->room ? n->room * 2 : 256, slots = room * 4;
    struct name *names = realloc(n->name, (size_t)room * sizeof *names);
    if (names)
        n->name = names;
    int *fresh = names ? calloc((size_t)slots, sizeof *fresh) : NULL;
    if (!fresh)
        return false;
    free(n->slot);
    n->slot = fresh;
    n->slots = slots;
    n->room = room;
    for (int i = 0; i < n->count; i++)
        n->slot[slot_of(n, n->name[i].text, n->name[i].length)] = i + 1;
    return true;
}

struct name *names_get(struct names *n, const char *text, size_t length, bool make)
{
    if (n->count == n->room && !grow(n))
        return NULL;
    int at = slot_of(n, text, length);
    if (n->slot[at])
        return &n->name[n->slot[at] - 1];
    if (!make || length == 0)
        return NULL;
    struct name *x = &n->name[n->count++];
    n->slot[at] = n->count;
    *x = (struct name){.text = text,
                       .length = length,
                       .kind = *text == '%' ? NAME_REG : NAME_SYMBOL,
                       .reg = -1,
                       .value = symbols_from + (uint64_t)n->count * symbol_room};
    return x;
}

void names_free(struct names *n)
{
    free(n->name);
    free(n->slot);
}
