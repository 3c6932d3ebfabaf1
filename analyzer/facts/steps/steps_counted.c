/* Finds marks whose names count up: "Coarse Level 0", "Coarse Level 1", "epoch 2 batch 7". Such
 * names are no plain step marks; only the number shows that the ranges follow each other. Layers
 * are numbered too, so the word before the number decides. Cost: one pass over the ranges, and one
 * over the operations for each group that counts up. */
#include "analyzer/facts/steps/step_marks.h"

#include "analyzer/facts/limits.h"
#include "analyzer/measure/median.h"
#include "analyzer/timeline/name_test.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { GROUPS = 32 /* per thread; if there are more, the thread has no such marks */ };

struct number { /* the digits [from, to) within a name */
    size_t from, to;
};

/* Finds the last of these words that is followed by a number; *n: that number. False: none. */
static bool find_number(const char *name, struct number *n)
{
    static const char *const words[] = {"step",  "timestep", "iter",  "iteration",  "level",
                                        "round", "sweep",    "frame", "generation", "cycle",
                                        "batch", "run",      "trial"};
    bool found = false;
    if (strncasecmp(name, "micro", 5) == 0 || strstr(name, "micro"))
        return false; /* a micro-batch is a part of a step */
    for (size_t i = 0; name[i]; i++) {
        if (!isalpha((unsigned char)name[i]) || (i && isalpha((unsigned char)name[i - 1])))
            continue;
        size_t end = i;
        while (isalpha((unsigned char)name[end]))
            end++;
        size_t from = end + strspn(name + end, "#:=_- .");
        size_t to = from + strspn(name + from, "0123456789");
        for (size_t w = 0; to > from && w < sizeof words / sizeof *words; w++)
            if (strlen(words[w]) == end - i && strncasecmp(name + i, words[w], end - i) == 0) {
                *n = (struct number){from, to};
                found = true;
            }
    }
    return found;
}

static bool counts(const char *name)
{
    struct number n;
    return find_number(name, &n);
}

/* True if both names are equal apart from their numbers. */
bool steps_counted_alike(const char *a, const char *b)
{
    while (*a && *b) {
        size_t x = strspn(a, "0123456789"), y = strspn(b, "0123456789");
        if ((x > 0) != (y > 0) || (!x && *a != *b))
            return false;
        a += x ? x : 1;
        b += y ? y : 1;
    }
    return *a == *b;
}

/* True if the count in `b` is higher than in `a`, or if an earlier number in the name differs (a
 * new epoch starts a new count). */
static bool follows(const char *a, const char *b)
{
    struct number x, y;
    if (!find_number(a, &x) || !find_number(b, &y))
        return false;
    bool same = x.from == y.from && strncmp(a, b, x.from) == 0;
    return !same || strtoull(b + y.from, NULL, 10) > strtoull(a + x.from, NULL, 10);
}

struct counting {
    struct mark_group group;
    uint32_t last; /* index of the group's last range so far */
    bool rises;
};

static struct counting *counting_of(struct counting *all, size_t n, const struct timeline *t,
                                    const struct range *r)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].group.depth == r->depth &&
            steps_counted_alike(tl_text(t, t->ranges[all[i].last].name), tl_text(t, r->name)))
            return &all[i];
    return NULL;
}

/* Finds the groups of one thread. Returns their number, 0 if there are more than GROUPS. */
static size_t find_groups(struct counting all[GROUPS], const struct timeline *t, uint32_t thread,
                          const struct name_test *test)
{
    const struct thread *th = &t->threads[thread];
    size_t n = 0;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        if (!name_test(test, r->name))
            continue;
        struct counting *c = counting_of(all, n, t, r);
        if (!c && n == GROUPS)
            return 0;
        if (!c) {
            c = &all[n++];
            *c = (struct counting){{thread, r->depth, i, 0, 0, 0, SPOOL_STEP_NVTX,
                                    t->processes[th->process].rank, true},
                                   i,
                                   true};
        } else
            c->rises &= follows(tl_text(t, t->ranges[c->last].name), tl_text(t, r->name));
        c->last = i;
        c->group.count++;
        c->group.covered_ns += r->end_ns - r->start_ns;
        c->group.end_ns = r->end_ns > c->group.end_ns ? r->end_ns : c->group.end_ns;
    }
    return n;
}

/* Copies of the group's ranges, in order. NULL: out of memory; the caller frees them. */
static struct range *ranges_of(const struct mark_group *g, const struct timeline *t)
{
    const struct thread *th = &t->threads[g->thread];
    const char *name = tl_text(t, t->ranges[g->first].name);
    struct range *r = malloc((g->count + 1) * sizeof *r);
    size_t n = 0;
    for (uint32_t i = g->first; r && n < g->count && i < th->first_range + th->ranges; i++)
        if (t->ranges[i].depth == g->depth &&
            steps_counted_alike(name, tl_text(t, t->ranges[i].name)))
            r[n++] = t->ranges[i];
    return r;
}

static bool within(const struct range *r, size_t n, int64_t ns)
{
    size_t low = 0;
    while (low < n) {
        size_t mid = low + (n - low) / 2;
        if (r[mid].end_ns <= ns)
            low = mid + 1;
        else if (r[mid].start_ns <= ns)
            return true;
        else
            n = mid;
    }
    return false;
}

/* True if at least half of the process' GPU time was launched inside these ranges. */
static bool hold_most(const struct mark_group *g, const struct timeline *t, const struct range *r)
{
    uint32_t process = t->threads[g->thread].process;
    int64_t all = 0, held = 0;
    for (size_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (t->streams[o->stream].process != process)
            continue;
        all += o->end_ns - o->start_ns;
        if (o->api != TL_NONE && within(r, g->count, t->apis[o->api].start_ns))
            held += o->end_ns - o->start_ns;
    }
    return held > 0 && held * 2 >= all;
}

/* True if at least half of the ranges have a length within half of the median. Levels that halve in
 * size are parts of something else. False also if out of memory. */
static bool regular(const struct mark_group *g, const struct range *r)
{
    int64_t *v = malloc((g->count + 1) * sizeof *v);
    if (!v)
        return false;
    for (size_t i = 0; i < g->count; i++)
        v[i] = r[i].end_ns - r[i].start_ns;
    int64_t median = median_ns(v, g->count);
    for (size_t i = 0; i < g->count; i++)
        v[i] = v[i] > median ? v[i] - median : median - v[i];
    bool alike = median_ns(v, g->count) * 2 <= median;
    free(v);
    return alike;
}

static bool are_steps(const struct counting *c, const struct timeline *t)
{
    if (!c->rises || c->group.count < FACTS_COUNTED)
        return false;
    struct range *r = ranges_of(&c->group, t);
    bool yes = r && regular(&c->group, r) && hold_most(&c->group, t, r);
    free(r);
    return yes;
}

/* The outermost group of each thread, and among threads the one that takes
 * longest; count 0: none. */
struct mark_group steps_counted(const struct timeline *t, uint32_t process)
{
    struct mark_group best = {0};
    struct name_test test = name_test_open(t, counts);
    for (uint32_t th = 0; th < t->thread_count && t->op_count; th++) {
        struct counting all[GROUPS];
        const struct counting *outer = NULL;
        if (process != TL_NONE && t->threads[th].process != process)
            continue;
        size_t n = find_groups(all, t, th, &test);
        for (size_t i = 0; i < n; i++)
            if ((!outer || all[i].group.depth < outer->group.depth) && are_steps(&all[i], t))
                outer = &all[i];
        if (outer && outer->group.covered_ns > best.covered_ns)
            best = outer->group;
    }
    name_test_close(&test);
    return best;
}
