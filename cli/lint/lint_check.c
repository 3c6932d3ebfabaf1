/* The checks that need the whole trace: rows, overlaps, steps. */
#include "cli/lint/lint.h"

#include <stdlib.h>

const char *const lint_name[LINT_RULES] = {"F1", "F2", "F4", "T1", "T2", "T5", "N1",
                                           "N2", "N3", "N4", "I1", "I2", "I3", "L1",
                                           "L2", "L3", "C2", "C3", "V1"};

const char *const lint_text[LINT_RULES] = {
    [LINT_F1] = "object form with header keys first, not minified",
    [LINT_F2] = "strict JSON in UTF-8",
    [LINT_F4] = "the name ends in .json or .json.gz",
    [LINT_T1] = "ts and dur in microseconds with three decimals, not negative",
    [LINT_T2] = "times relative to a base, so that readers keep the nanoseconds",
    [LINT_T5] = "every X slice has a dur",
    [LINT_N1] = "slices are X, not B and E",
    [LINT_N2] = "slices of a row in order: ts rising, at the same ts the longest first",
    [LINT_N3] = "slices of a row nest or are apart",
    [LINT_N4] =
        "a step ends before the next one, also for readers that keep microseconds as doubles",
    [LINT_I1] = "pid and tid are integers from 0 to 4294967295",
    [LINT_I2] = "tid 0 only on metadata and counters",
    [LINT_I3] = "pid and tid are not text",
    [LINT_L1] = "every flow has both ends and an integer id",
    [LINT_L2] = "flows bind to the slice around them",
    [LINT_L3] = "flow ids are unique",
    [LINT_C2] = "args is an object",
    [LINT_C3] = "every slice has a category",
    [LINT_V1] = "words as PyTorch's profiler writes them",
};

static int by_row(const void *a, const void *b)
{
    const struct lint_slice *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static int by_time(const void *a, const void *b)
{
    const struct lint_slice *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static bool same_row(const struct lint_slice *a, const struct lint_slice *b)
{
    return a->pid == b->pid && a->tid == b->tid;
}

/* True if readers would see an overlap. They compute the end of a slice by adding microseconds as
 * doubles, or nanoseconds cut off from them; slices that touch to the nanosecond may overlap
 * then. */
static bool overlaps_in_doubles(const struct lint_slice *a, const struct lint_slice *b)
{
    double start = (double)a->start_ns / 1e3, length = (double)(a->end_ns - a->start_ns) / 1e3;
    double next = (double)b->start_ns / 1e3;
    return start + length > next ||
           (int64_t)(start * 1e3) + (int64_t)(length * 1e3) > (int64_t)(next * 1e3);
}

/* s[n] is sorted by time. */
static void check_steps(struct lint *l, const struct lint_slice *s, size_t n)
{
    const struct lint_slice *last = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!s[i].step)
            continue;
        if (last && last->end_ns <= s[i].start_ns && overlaps_in_doubles(last, &s[i]))
            lint_found(l, LINT_N4, s[i].at,
                       "pid %lld tid %lld: begins before the step before it ends",
                       (long long)s[i].pid, (long long)s[i].tid);
        last = &s[i];
    }
}

/* Checks the slices of one row: first in their order in the file, then by time. */
static void check_row(struct lint *l, struct lint_slice *s, size_t n)
{
    struct VEC(int64_t) open = {0};
    for (size_t i = 1; i < n; i++)
        if (by_time(&s[i - 1], &s[i]) > 0)
            lint_found(l, LINT_N2, s[i].at, "pid %lld tid %lld", (long long)s[i].pid,
                       (long long)s[i].tid);
    qsort(s, n, sizeof *s, by_time);
    for (size_t i = 0; i < n; i++) {
        while (open.n && open.at[open.n - 1] <= s[i].start_ns)
            open.n--;
        if (open.n && s[i].end_ns > open.at[open.n - 1])
            lint_found(l, LINT_N3, s[i].at, "pid %lld tid %lld: overlaps the slice before it",
                       (long long)s[i].pid, (long long)s[i].tid);
        int64_t *end = vec_push(&open);
        if (end)
            *end = s[i].end_ns;
    }
    vec_release(&open);
    check_steps(l, s, n);
}

static int by_id(const void *a, const void *b)
{
    const struct lint_flow *x = a, *y = b;
    if (x->category != y->category)
        return x->category < y->category ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (int)x->finish - (int)y->finish;
}

static bool same_flow(const struct lint_flow *a, const struct lint_flow *b)
{
    return a->category == b->category && a->id == b->id;
}

/* True if a slice of the flow's row holds its time. Slices are sorted by row, then by start. */
static bool inside_slice(const struct lint *l, const struct lint_flow *f)
{
    size_t low = 0, high = l->slices.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct lint_slice *s = &l->slices.at[mid];
        bool before = s->pid != f->pid   ? s->pid < f->pid
                      : s->tid != f->tid ? s->tid < f->tid
                                         : s->start_ns <= f->at_ns;
        if (before)
            low = mid + 1;
        else
            high = mid;
    }
    for (size_t i = low; i-- > 0 && low - i < 64;) { /* the slice itself, or one that it lies in */
        const struct lint_slice *s = &l->slices.at[i];
        if (s->pid != f->pid || s->tid != f->tid)
            return false;
        if (s->end_ns >= f->at_ns)
            return true;
    }
    return false;
}

static void check_flows(struct lint *l)
{
    if (l->flows.n)
        qsort(l->flows.at, l->flows.n, sizeof *l->flows.at, by_id);
    for (size_t i = 0; i < l->flows.n;) {
        size_t next = i, starts = 0, ends = 0;
        for (; next < l->flows.n && same_flow(&l->flows.at[next], &l->flows.at[i]); next++) {
            const struct lint_flow *f = &l->flows.at[next];
            *(f->finish ? &ends : &starts) += 1;
            if (!inside_slice(l, f))
                lint_found(l, LINT_L2, f->at, "flow %lld lies outside every slice",
                           (long long)f->id);
        }
        if (starts > 1 || ends > 1)
            lint_found(l, LINT_L3, l->flows.at[i].at, "flow %lld occurs again",
                       (long long)l->flows.at[i].id);
        if (starts == 0 || ends == 0)
            lint_found(l, LINT_L1, l->flows.at[i].at, "flow %lld has only one end",
                       (long long)l->flows.at[i].id);
        i = next;
    }
}

void lint_check(struct lint *l)
{
    if (l->slices.n)
        qsort(l->slices.at, l->slices.n, sizeof *l->slices.at, by_row);
    for (size_t i = 0; i < l->slices.n;) {
        size_t next = i + 1;
        while (next < l->slices.n && same_row(&l->slices.at[i], &l->slices.at[next]))
            next++;
        check_row(l, &l->slices.at[i], next - i);
        i = next;
    }
    check_flows(l);
}
