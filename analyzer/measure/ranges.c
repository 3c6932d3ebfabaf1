/* Finds the range that a thread is in: a binary search for the last range that began, then outwards
 * through its parents. */
#include "analyzer/measure/ranges.h"

#include "wire/step_mark.h"

#include <string.h>

uint32_t range_from(const struct timeline *t, const struct thread *th, int64_t ns)
{
    uint32_t low = th->first_range, high = low + th->ranges;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (t->ranges[mid].start_ns < ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

uint32_t range_at(const struct timeline *t, uint32_t thread, int64_t at_ns)
{
    if (thread == TL_NONE)
        return TL_NONE;
    const struct thread *th = &t->threads[thread];
    uint32_t next = range_from(t, th, at_ns < INT64_MAX ? at_ns + 1 : at_ns),
             i = next > th->first_range ? next - 1 : TL_NONE;
    while (i != TL_NONE && t->ranges[i].end_ns <= at_ns)
        i = t->ranges[i].parent;
    return i;
}

/* True for names that show no place in the program: marks of steps, Python's own functions, code
 * without a file, and the function through which all modules of PyTorch are called. */
static bool no_place(const char *name)
{
    return spool_step_mark(name) != SPOOL_STEP_NONE || strncmp(name, "<built-in ", 10) == 0 ||
           strncmp(name, "<string>(", 9) == 0 || strstr(name, "torch/nn/modules/module.py(");
}

uint32_t range_place_at(const struct timeline *t, uint32_t thread, int64_t at_ns)
{
    uint32_t i = range_at(t, thread, at_ns);
    while (i != TL_NONE && no_place(tl_text(t, t->ranges[i].name)))
        i = t->ranges[i].parent;
    return i;
}

uint32_t range_place_of(const struct timeline *t, uint32_t thread, struct span most_of)
{
    int64_t length = most_of.end_ns - most_of.start_ns;
    uint32_t i = range_at(t, thread, most_of.start_ns + length / 2);
    for (; i != TL_NONE; i = t->ranges[i].parent) {
        const struct range *r = &t->ranges[i];
        int64_t from = r->start_ns > most_of.start_ns ? r->start_ns : most_of.start_ns;
        int64_t to = r->end_ns < most_of.end_ns ? r->end_ns : most_of.end_ns;
        if ((to - from) * 2 >= length && !no_place(tl_text(t, r->name)))
            break;
    }
    return i;
}
