/* Finds the line at which the training thread mostly is during given
 * stretches: see lines_within.h. */
#include "analyzer/facts/lines/lines_within.h"

#include "analyzer/facts/lines/lines_parts.h"

#include <stdlib.h>

static bool within(const struct line_stretch *at, size_t n, int64_t ns)
{
    size_t low = 0, high = n; /* search for the first stretch that ends after ns */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (at[middle].end_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && at[low].start_ns <= ns;
}

/* Fills looks[], by index in timeline.stacks: looks at the line of that frame, counted at the first
 * frame with the same line. Returns their sum. */
static int64_t count_looks(const struct facts *f, const struct line_stretch *at, size_t n,
                           const struct stack_line *stacks, int64_t *looks)
{
    const struct timeline *t = f->tl;
    int64_t all = 0;
    for (size_t i = 0; i < t->stack_sample_count; i++) {
        const struct row_stack_sample *s = &t->stack_samples[i];
        uint32_t stack = timeline_stack_index(t, s->stack);
        uint32_t line = stack == TL_NONE ? TL_NONE : stacks[stack].line;
        if (line == TL_NONE || !within(at, n, s->start_ns + (s->end_ns - s->start_ns) / 2) ||
            timeline_thread_index(t, s->thread) != f->steps.main_thread)
            continue;
        uint32_t first = 0;
        while (first < line && !(looks[first] && stack_same_line(t, first, line)))
            first++;
        looks[first] += s->looks;
        all += s->looks;
    }
    return all;
}

struct line_found facts_line_within(const struct facts *f, struct arena *arena,
                                    const struct line_stretch *at, size_t n)
{
    const struct timeline *t = f->tl;
    struct line_found out = {NULL, NULL};
    struct stack_line *stacks = t->stack_sample_count ? stack_lines_find(f) : NULL;
    int64_t *looks = stacks ? calloc(t->stack_count + 1, sizeof *looks) : NULL;
    if (looks && count_looks(f, at, n, stacks, looks) >= LINES_LEAST) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < t->stack_count; i++)
            if (looks[i] > looks[best])
                best = i;
        out.function = stack_function(t, best, arena);
        out.place = stack_place(t, best, arena);
    }
    free(stacks);
    free(looks);
    return out;
}

const char *line_found_text(const struct line_found *l, struct arena *arena)
{
    const char *text = l->place ? arena_printf(arena, "%s%s%s", l->function ? l->function : "",
                                               l->function && *l->function ? "() " : "", l->place)
                                : NULL;
    return text ? text : "";
}
