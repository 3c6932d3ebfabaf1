/* Finds when a thread waits for or makes input data, by the names of its ranges and by loader rows.
 * Cost: O(ranges of the thread + loader rows). */
#include "analyzer/measure/input.h"
#include "analyzer/measure/limits.h"
#include "analyzer/timeline/name_test.h"
#include "analyzer/timeline/sort.h"

#include "base/vec.h"
#include "wire/spool_format.h"
#include "wire/step_mark.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool input_name(const char *name)
{
    /* Parts of names, and whole names, that mean making or awaiting the next batch. */
    static const char *const part[] = {
        "dataloader",      "data_loader", "data.wait",   "data.decode", "data.load",
        "load_data",       "next batch",  "next_batch",  "load batch",  "load_batch",
        "get_batch",       "getbatch",    "fetch_batch", "data_wait",   "data_fetch",
        "iteratorgetnext", "__next__",    "data time",   "input_pipe"};
    static const char *const whole[] = {"data",         "dataload", "loader",
                                        "data loading", "input",    "load"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (strcasecmp(name, whole[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (strcasestr(name, part[i]))
            return true;
    return false;
}

const char *const input_makers[] = {"data.decode", "_SingleProcessDataLoaderIter", "fetch_batch",
                                    "load_batch", NULL};

bool input_makes(const char *name)
{
    for (size_t i = 0; input_makers[i]; i++)
        if (strcasestr(name, input_makers[i]))
            return true;
    return false;
}

/* A generator that runs the training step also has a range "__next__". A range that contains a good
 * part of its thread's launches is the loop itself, whatever its name. */
struct launches {
    int64_t *before; /* launches of the thread before its i-th call; NULL without input ranges */
    int64_t *held;   /* by string id: launches inside ranges of that name */
    struct name_test input;
};

static size_t calls_before(const struct timeline *t, const struct thread *th, int64_t time)
{
    return timeline_api_from(t, th, time) - th->first_api;
}

static bool launches_work(uint8_t kind)
{
    return kind == API_LAUNCH || kind == API_GRAPH_LAUNCH;
}

static int count_before(struct launches *l, const struct timeline *t, const struct thread *th)
{
    l->before = calloc((size_t)th->apis + 1, sizeof *l->before);
    if (!l->before)
        return -1;
    for (size_t i = 0; i < th->apis; i++)
        l->before[i + 1] = l->before[i] + launches_work(t->apis[th->first_api + i].kind);
    return 0;
}

/* Counts the launches inside the thread's input ranges, by name. Returns -1 without memory. */
static int launches_count(struct launches *l, const struct timeline *t, const struct thread *th)
{
    l->held = calloc((size_t)t->strings.n + 1, sizeof *l->held);
    if (!l->held)
        return -1;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++) {
        const struct range *r = &t->ranges[i];
        if (!name_test(&l->input, r->name))
            continue;
        if (!l->before && count_before(l, t, th) < 0)
            return -1;
        l->held[r->name] +=
            l->before[calls_before(t, th, r->end_ns)] - l->before[calls_before(t, th, r->start_ns)];
    }
    return 0;
}

static bool is_loop(const struct launches *l, const struct thread *th, uint32_t name)
{
    return l->held[name] > 0 && l->held[name] * 100 >= l->before[th->apis] * MEASURE_LOOP_PCT;
}

static bool own_loader(const struct timeline *t, const struct row_loader *l, uint32_t thread)
{
    bool makes = l->what == SPOOL_LOADER_WAIT || l->worker < 0;
    return makes && timeline_thread_index(t, l->thread) == thread;
}

/* ---- waits of the operating system ---- */

static bool launches_in(const struct timeline *t, const struct thread *th, int64_t from, int64_t to)
{
    for (uint32_t i = timeline_api_from(t, th, from); i < th->first_api + th->apis; i++) {
        if (t->apis[i].start_ns >= to)
            return false;
        if (launches_work(t->apis[i].kind))
            return true;
    }
    return false;
}

static bool process_launches(const struct timeline *t, uint32_t process, int64_t from, int64_t to)
{
    for (size_t i = 0; i < t->thread_count; i++)
        if (t->threads[i].process == process && launches_in(t, &t->threads[i], from, to))
            return true;
    return false;
}

static bool in_call(const struct timeline *t, const struct thread *th, int64_t from, int64_t to)
{
    uint32_t next = timeline_api_from(t, th, from + 1);
    return next > th->first_api && t->apis[next - 1].end_ns >= to;
}

/* True if a thread that launches work waits outside of CUDA while no thread of its process
 * launches: it waits for another process, a file, or a thread that makes no calls. While it waits
 * for a backward pass, that pass's thread launches. */
static bool waits_for_input(const struct timeline *t, uint32_t thread, const struct row_range *w)
{
    const struct thread *th = &t->threads[thread];
    if (w->end_ns - w->start_ns < MEASURE_OS_WAIT_NS || in_call(t, th, w->start_ns, w->end_ns))
        return false;
    return !process_launches(t, th->process, w->start_ns, w->end_ns);
}

/* Between the ranges of two steps there is only the loop's own statement, which fetches a batch.
 * Returns true if the thread also waits or reads in that time. */
static bool fetches_between(const struct timeline *t, uint32_t thread, int64_t from, int64_t to)
{
    if (to - from < MEASURE_OS_WAIT_NS || process_launches(t, t->threads[thread].process, from, to))
        return false;
    size_t low = 0, high = t->os_call_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (t->os_calls[mid].start_ns < from)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < t->os_call_count && t->os_calls[low].start_ns < to; low++)
        if (timeline_thread_index(t, t->os_calls[low].thread) == thread)
            return true;
    return false;
}

struct span_list VEC(struct span);

static int add_span(struct span_list *l, int64_t from, int64_t to)
{
    struct span *s = vec_push(l);
    if (s)
        *s = (struct span){from, to};
    return s ? 0 : -1;
}

/* For recordings with calls of the operating system but without loader rows: adds the waits that
 * these calls show. */
static int add_os_waits(struct span_list *l, const struct timeline *t, uint32_t thread)
{
    const struct thread *th = &t->threads[thread];
    const struct range *last = NULL;
    int rc = 0;
    if (t->os_call_count == 0 || t->loader_count)
        return 0;
    for (size_t i = 0; i < t->os_call_count && rc == 0; i++)
        if (timeline_thread_index(t, t->os_calls[i].thread) == thread &&
            waits_for_input(t, thread, &t->os_calls[i]))
            rc = add_span(l, t->os_calls[i].start_ns, t->os_calls[i].end_ns);
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges && rc == 0; i++) {
        const struct range *r = &t->ranges[i];
        if (spool_step_mark(tl_text(t, r->name)) != SPOOL_STEP_NVTX ||
            (last && r->depth != last->depth))
            continue;
        if (last && fetches_between(t, thread, last->end_ns, r->start_ns))
            rc = add_span(l, last->end_ns, r->start_ns);
        last = r;
    }
    return rc;
}

int input_spans(struct spans *out, const struct timeline *t, uint32_t thread, bool loop)
{
    struct span_list found = {0};
    const struct thread *th = &t->threads[thread];
    struct launches l = {.input = name_test_open(t, input_name)};
    int rc = launches_count(&l, t, th) < 0 ? -1 : loop ? add_os_waits(&found, t, thread) : 0;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges && rc == 0; i++) {
        const struct range *r = &t->ranges[i];
        if (!name_test(&l.input, r->name) || is_loop(&l, th, r->name))
            continue;
        rc = add_span(&found, r->start_ns, r->end_ns);
    }
    for (size_t i = 0; i < t->loader_count && rc == 0; i++) {
        if (!own_loader(t, &t->loaders[i], thread))
            continue;
        rc = add_span(&found, t->loaders[i].start_ns, t->loaders[i].end_ns);
    }
    struct sort_key *keys = malloc((found.n + 1) * sizeof *keys);
    if (!keys)
        rc = -1;
    for (size_t i = 0; rc == 0 && i < found.n; i++)
        keys[i] = (struct sort_key){.time = found.at[i].start_ns, .index = (uint32_t)i};
    if (rc == 0 && sort_keys(keys, found.n) < 0)
        rc = -1;
    for (size_t i = 0; rc == 0 && i < found.n; i++)
        rc = spans_add(out, found.at[keys[i].index].start_ns, found.at[keys[i].index].end_ns);
    free(keys);
    free(l.before);
    free(l.held);
    name_test_close(&l.input);
    vec_release(&found);
    return rc < 0 ? -1 : spans_index(out);
}
