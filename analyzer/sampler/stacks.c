/* Stores stacks as a tree: see stacks.h. */
#include "analyzer/sampler/stacks.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

int stacks_init(struct stacks *s, const char *hidden_folder)
{
    *s = (struct stacks){.mask = FIRST_SLOTS - 1};
    s->slots = calloc(FIRST_SLOTS, sizeof *s->slots);
    s->hidden = hidden_folder ? strdup(hidden_folder) : NULL;
    return s->slots && str_table_init(&s->texts) == 0 && vec_push(&s->at) ? 0 : -1;
}

void stacks_release(struct stacks *s)
{
    str_table_release(&s->texts);
    vec_release(&s->at);
    free(s->slots);
    free(s->hidden);
    *s = (struct stacks){0};
}

/* Compares texts by pointer: they are interned, so equal texts have equal pointers. */
static uint64_t hash(const struct stack_frame *f)
{
    uint64_t h = f->caller + 1;
    h = (h ^ (uint64_t)(uintptr_t)f->file) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 29 ^ (uint64_t)(uintptr_t)f->function) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 32 ^ (uint64_t)f->line) * 0x94d049bb133111ebu;
    return h ^ h >> 31;
}

static bool same(const struct stack_frame *a, const struct stack_frame *b)
{
    return a->caller == b->caller && a->line == b->line && a->file == b->file &&
           a->function == b->function;
}

static uint32_t *slot_of(const struct stacks *s, const struct stack_frame *f)
{
    uint32_t i = (uint32_t)hash(f) & s->mask;
    while (s->slots[i] && !same(&s->at.at[s->slots[i]], f))
        i = (i + 1) & s->mask;
    return &s->slots[i];
}

static bool grow(struct stacks *s)
{
    uint32_t *old = s->slots, mask = s->mask;
    uint32_t *slots = calloc((size_t)(mask + 1) * 2, sizeof *slots);
    if (!slots)
        return false;
    s->slots = slots;
    s->mask = mask * 2 + 1;
    for (size_t i = 1; i < s->at.n; i++)
        *slot_of(s, &s->at.at[i]) = (uint32_t)i;
    free(old);
    return true;
}

static const char *intern(struct stacks *s, const char *text)
{
    uint32_t id = str_intern(&s->texts, text, strlen(text));
    return id == STR_NONE ? "" : str_text(&s->texts, id);
}

/* Number of the frame called by `caller`, added if it is new; `caller` if there is no room. */
static uint32_t add(struct stacks *s, uint32_t caller, const struct pyframe *p)
{
    struct stack_frame f = {caller, p->line, intern(s, p->file), intern(s, p->function)};
    uint32_t *slot = slot_of(s, &f);
    if (*slot)
        return *slot;
    if (s->at.n >= STACKS_MOST || (s->at.n > s->mask / 2 && !grow(s)))
        return caller;
    struct stack_frame *new = vec_push(&s->at);
    if (!new)
        return caller;
    *new = f;
    *slot_of(s, &f) = (uint32_t)s->at.n - 1;
    return (uint32_t)s->at.n - 1;
}

/* True for the function in which a forked worker begins. Its callers are frames of its parent from
 * before the fork, which say what the parent did then. */
static bool starts_worker(const struct pyframe *f)
{
    static const char *const functions[][2] = {
        {"_worker_loop", "torch/utils/data/_utils/worker.py"},
        {"_bootstrap", "multiprocessing/process.py"},
        {"BaseProcess._bootstrap", "multiprocessing/process.py"},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(f->function, functions[i][0]) == 0 && str_ends_with(f->file, functions[i][1]))
            return true;
    return false;
}

static bool is_hidden(const struct stacks *s, const struct pyframe *f)
{
    size_t n = s->hidden ? strlen(s->hidden) : 0;
    return n && strncmp(f->file, s->hidden, n) == 0 && f->file[n] == '/';
}

uint32_t stacks_add(struct stacks *s, const struct pyframe *frames, size_t n)
{
    uint32_t stack = 0;
    for (size_t i = 0; i < n; i++)
        if (starts_worker(&frames[i]))
            n = i + 1;
    for (size_t i = n; i-- > 0;)
        if (!is_hidden(s, &frames[i]))
            stack = add(s, stack, &frames[i]);
    return stack;
}
