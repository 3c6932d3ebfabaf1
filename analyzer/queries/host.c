/* Finds copies within host memory, and what the host does while the GPU waits for it. */
#include "analyzer/queries/host.h"

#include "analyzer/measure/spans.h"
#include "analyzer/queries/waits.h"
#include "analyzer/timeline/name_test.h"
#include "wire/fact_keys.h"

#include <stdlib.h>
#include <string.h>

static bool says_copy(const char *name)
{
    return query_name_has(name, "aten::clone|aten::contiguous|aten::pin_memory|aten::_pin_memory|"
                                "host_copy|host.copy|copy.host|memcpy_host|torch.tensor(");
}

/* False if the range contains a launch: then the GPU copies. */
static bool on_the_host(const struct timeline *t, const struct range *r)
{
    const struct thread *th = &t->threads[r->thread];
    for (uint32_t i = timeline_api_from(t, th, r->start_ns); i < th->first_api + th->apis; i++) {
        if (t->apis[i].start_ns >= r->end_ns)
            break;
        if (t->apis[i].op != TL_NONE)
            return false;
    }
    return true;
}

/* Finds the copies of the training thread. `spans` also gets those in unused steps, because the GPU
 * may wait for them in the following step. -1: out of memory. */
static int find_copies(const struct facts *f, const struct name_test *copy,
                       struct query_host_copies *h, struct spans *spans)
{
    const struct timeline *t = f->tl;
    const struct thread *th = facts_main_thread(f);
    for (uint32_t i = 0; i < th->ranges; i++) { /* sorted by start */
        const struct range *r = &t->ranges[th->first_range + i];
        if (!name_test(copy, r->name) || !on_the_host(t, r))
            continue;
        if (spans_add(spans, r->start_ns, r->end_ns) < 0)
            return -1;
        if (query_step_at(f, r->start_ns) == TL_NONE)
            continue;
        h->count++;
        h->total_ns += r->end_ns - r->start_ns;
        h->marks[th->first_range + i] = true;
        if (h->longest == TL_NONE ||
            r->end_ns - r->start_ns > t->ranges[h->longest].end_ns - t->ranges[h->longest].start_ns)
            h->longest = th->first_range + i;
    }
    return spans_index(spans);
}

/* Fills the idle time of the GPU during the copies. */
static void add_idle(const struct facts *f, const struct spans *spans, struct query_host_copies *h)
{
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->step == TL_NONE || !f->steps.at[g->step].used)
            continue;
        int64_t ns = spans_covered(spans, g->start_ns, g->end_ns), host;
        host = gap_ns(f, g, PART_IDLE_HOST);
        h->idle_ns += ns;
        h->of_gap[i] = ns < host ? ns : host;
        h->host_ns += h->of_gap[i];
    }
}

int query_host_copies(const struct facts *f, struct arena *arena, struct query_host_copies *h)
{
    struct spans spans = {0};
    *h = (struct query_host_copies){.longest = TL_NONE};
    h->marks = arena_array(arena, f->tl->range_count + 1, sizeof *h->marks);
    struct name_test copy = name_test_open(f->tl, says_copy);
    h->of_gap = arena_array(arena, f->gap_count, sizeof *h->of_gap);
    int rc = h->marks && h->of_gap ? find_copies(f, &copy, h, &spans) : -1;
    if (rc == 0)
        add_idle(f, &spans, h);
    name_test_close(&copy);
    spans_release(&spans);
    return rc;
}

int64_t query_awaits_host(const struct facts *f)
{
    const int64_t *part = f->breakdown_ns;
    return part[PART_IDLE_HOST] + part[PART_IDLE_LAUNCH] + part[PART_IDLE_SYNC];
}

bool query_training_lacks_core(const struct facts *f)
{
    int64_t idle = query_awaits_host(f), starved = f->host.starved_ns;
    return share_pct(f, starved < idle ? starved : idle) >= QUERY_CROWDED_PCT;
}

int64_t query_cores_save(const struct facts *f, int64_t input_ns)
{
    int64_t idle = input_ns + (query_training_lacks_core(f) ? query_awaits_host(f) : 0);
    int64_t away = f->host.starved_ns + f->host.asleep_ns;
    bool known = f->host.starved_ns >= 0 && f->host.asleep_ns >= 0 && away <= f->step_ns;
    int64_t most = known ? f->step_ns - (f->step_ns - away) / 2 : f->step_ns;
    return idle < most ? idle : most;
}

/* Returns how much of the GPU's wait for the host is a thread without a core, at most. A thread that
 * has to wait for one waits for milliseconds; pauses between launches are shorter. So it lacks the
 * core in longer waits or while the GPU works, and only the rest of the lack lies between launches. */
static int64_t waits_for_core(const struct facts *f)
{
    int64_t idle = query_awaits_host(f), starved = f->host.starved_ns > 0 ? f->host.starved_ns : 0;
    int64_t longer = idle - f->breakdown_ns[PART_IDLE_LAUNCH], busy = f->step_ns - idle;
    int64_t lost = starved < longer ? starved : longer, rest = starved - lost - busy;
    lost += rest > 0 ? rest : 0;
    return lost < idle ? lost : idle;
}

int64_t query_step_with_core(const struct facts *f)
{
    return f->step_ns - waits_for_core(f);
}

/* True if the training thread needs so much more processor time than the GPU is busy that the GPU
 * would wait for it on free cores, too. Waits for the GPU, in which a thread may spin, are no work. */
static bool needs_more_than_gpu(const struct facts *f)
{
    int64_t busy = f->step_ns, waits = 0, asleep = f->host.asleep_ns;
    struct query_waits w;
    query_waits(f, &w);
    for (int i = 0; i < WAIT_CAUSES; i++)
        waits += w.ns[i];
    for (int p = 0; p < PART_COUNT; p++)
        busy -= GPU_IDLE_PARTS >> p & 1 ? f->breakdown_ns[p] : 0;
    waits = per_step(f, waits);
    int64_t work = f->step_ns - f->host.starved_ns - (waits > asleep ? waits : asleep);
    return asleep >= 0 && (work - busy) * QUERY_SOME >= work;
}

bool query_wait_is_lack_of_core(const struct facts *f)
{
    int64_t idle = query_awaits_host(f), lost = waits_for_core(f);
    return lost > 0 && lost * 100 >= idle * QUERY_CROWDED_OUT_PCT &&
           (idle - lost) * 100 < query_step_with_core(f) * QUERY_OWN_WAIT_PCT &&
           !needs_more_than_gpu(f);
}

bool query_lack_of_core_dominates(const struct facts *f)
{
    return share_pct(f, f->host.starved_ns) >= QUERY_SHORT_STARVED_PCT &&
           share_pct(f, query_awaits_host(f)) >= QUERY_SHORT_IDLE_PCT;
}

/* True if the range is the step itself. An operator is not, however long it takes. */
static bool is_the_step(const struct facts *f, const struct range *r)
{
    bool is_operator = strcmp(tl_text(f->tl, r->domain), "cpu_op") == 0 ||
                       strncmp(tl_text(f->tl, r->name), "aten::", 6) == 0;
    return !is_operator && (r->end_ns - r->start_ns) * 100 >= f->step_ns * QUERY_WHOLE_PCT;
}

struct query_places query_host_places(const struct facts *f, const int64_t *other)
{
    int64_t *sum = calloc((size_t)f->tl->strings.n + 1, sizeof *sum);
    struct query_places p = {0};
    uint32_t best = 0;
    for (size_t i = 0; sum && i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->step == TL_NONE || !f->steps.at[g->step].used)
            continue;
        int64_t ns = gap_ns(f, g, PART_IDLE_HOST) - (other ? other[i] : 0);
        p.all += ns;
        p.brief += ns < QUERY_OWN_WORK_NS ? ns : 0;
        if (g->range == TL_NONE || is_the_step(f, &f->tl->ranges[g->range]))
            continue;
        uint32_t name = f->tl->ranges[g->range].name;
        p.named += ns;
        sum[name] += ns;
        if (sum[name] > sum[best])
            best = name;
    }
    p.in_most = sum && best ? sum[best] : 0;
    p.most = p.in_most ? tl_text(f->tl, best) : NULL;
    free(sum);
    return p;
}

bool query_operators_recorded(const struct timeline *t)
{
    for (size_t i = 0; i < t->range_count; i++)
        if (strcmp(tl_text(t, t->ranges[i].domain), "cpu_op") == 0 ||
            strncmp(tl_text(t, t->ranges[i].name), "aten::", 6) == 0)
            return true;
    return false;
}

/* The longest pause between two calls of the thread within the gap. */
static int64_t silent_ns(const struct timeline *t, const struct thread *th, const struct gap *g)
{
    uint32_t next = timeline_api_from(t, th, g->end_ns), last = th->first_api + th->apis;
    int64_t longest = 0;
    for (uint32_t i = next + 1; i-- > th->first_api;) {
        int64_t from = i > th->first_api ? t->apis[i - 1].end_ns : g->start_ns;
        int64_t to = i < last ? t->apis[i].start_ns : g->end_ns;
        from = from > g->start_ns ? from : g->start_ns;
        to = to < g->end_ns ? to : g->end_ns;
        longest = to - from > longest ? to - from : longest;
        if (from == g->start_ns)
            break;
    }
    return longest;
}

int64_t query_silence_ns(const struct facts *f)
{
    const struct timeline *t = f->tl;
    int64_t all = 0;
    if (t->have & HAVE_LOADER || f->steps.used == 0 || query_operators_recorded(t))
        return 0;
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        bool named = g->range != TL_NONE && !is_the_step(f, &t->ranges[g->range]);
        if (g->step == TL_NONE || !f->steps.at[g->step].used || named)
            continue;
        int64_t host = gap_ns(f, g, PART_IDLE_HOST) + gap_ns(f, g, PART_IDLE_SYNC);
        int64_t ns = silent_ns(t, facts_main_thread(f), g);
        ns = ns < host ? ns : host;
        all += ns * QUERY_SOME > f->step_ns ? ns : 0;
    }
    return all / (int64_t)f->steps.used;
}

const char *query_confined_text(const struct facts *f, struct arena *arena)
{
    const struct host_facts *h = &f->host;
    if (h->given_cores <= h->usable_cores)
        return "";
    const char *out = arena_printf(
        arena, "; the process began with %d cores, and something in it confined it to %d",
        h->given_cores, h->usable_cores);
    return out ? out : "";
}

int query_compute_threads(const struct facts *f)
{
    const char *text = timeline_meta(f->tl, FACT_TORCH_NUM_THREADS);
    int n = text ? atoi(text) : 0;
    return n > 0 ? n : 0;
}

int query_ranks_here(const struct facts *f)
{
    const struct timeline *t = f->tl;
    int n = 0;
    for (size_t i = 0; i < t->process_count; i++) {
        bool first = t->processes[i].rank >= 0;
        for (size_t k = 0; k < i && first; k++)
            first = t->processes[k].rank != t->processes[i].rank;
        n += first;
    }
    return n > 1 ? n : 1;
}

int64_t query_idle_before(const struct facts *f, const bool *op_marks)
{
    int64_t ns = 0;
    for (size_t i = 0; i < f->gap_count; i++) {
        const struct gap *g = &f->gaps[i];
        if (g->step != TL_NONE && f->steps.at[g->step].used && g->before_op != TL_NONE &&
            op_marks[g->before_op])
            ns += g->end_ns - g->start_ns;
    }
    return ns;
}
