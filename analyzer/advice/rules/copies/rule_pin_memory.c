/* Fires if copies between the GPU and pageable memory cost time: the driver stages them while the
 * host waits. */
#include "analyzer/advice/outcome_loader.h"
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/input/feed.h"
#include "analyzer/queries/query.h"
#include "wire/fact_keys.h"

#include <math.h>
#include <string.h>

/* Returns true if copies from pinned memory show the rate of this machine; only large ones do.
 * Otherwise the saving depends on a range of usual rates, and not on dependencies alone. */
static bool tells_rate(const struct query_copies *c)
{
    return c->count > 0 && c->bytes / c->count > RULES_LARGE_COPY;
}

static double rate_of(const struct query_copies *c)
{
    return c->total_ns > 0 ? (double)c->bytes / (double)c->total_ns : 0;
}

/* If the loader pins its batches already, or there is no loader, these copies are of something
 * else, and the loader's setting changes nothing. */
static void name_others(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct feed feed;
    bool fed = query_feed(f, arena, &feed);
    const char *loader =
        fed ? query_feed_fact(f, arena, &feed, NULL) : timeline_meta(f->tl, FACT_TORCH_LOADER);
    bool hooked = timeline_meta(f->tl, FACT_TORCH_SETTINGS) != NULL;
    if (fed && loader)
        outcome_of_loader(f, arena, o, &feed);
    if (loader ? !strstr(loader, "pin_memory=True") : !hooked)
        return;
    o->title = loader ? "Pin what else is copied to the GPU" : "Pin what is copied to the GPU";
    o->remedy.action = ACTION_PIN_OTHERS;
    o->remedy.object.kind = OBJECT_COPY;
    o->remedy.conditions[CONDITION_LOADER_PINS] = loader != NULL;
}

struct pageable {
    /* To the GPU, and from it; `back` is empty if its copies cost next to nothing. */
    struct query_copies up, back;
    int64_t up_ns, back_ns; /* per step, in which nothing is computed because of them */
    bool both;              /* copies from the GPU are no small part */
};

static struct pageable pageable_of(const struct facts *f)
{
    struct pageable p = {.up = query_h2d(f, MEMORY_PAGEABLE),
                         .back = query_d2h(f, MEMORY_PAGEABLE)};
    p.up_ns = per_step(f, p.up.exposed_ns) + p.up.idle_ns;
    p.back_ns = query_exposed(f, &p.back);
    bool once = analysis_of_window(f) && !query_d2h_recurs(f, MEMORY_PAGEABLE);
    if (once || p.back.bytes < p.back.count * RULES_FEW_BYTES ||
        p.back_ns * QUERY_WORTH < f->step_ns) {
        p.back = (struct query_copies){.longest = TL_NONE};
        p.back_ns = 0;
    }
    p.both = p.back_ns * 100 >= p.up_ns * RULES_BACK_PCT && p.back_ns > 0;
    return p;
}

/* Describes the copies in cases without a finding. */
static const char *once_text(const struct facts *f, struct arena *arena)
{
    struct query_copies up = query_h2d(f, MEMORY_PAGEABLE), back = query_d2h(f, MEMORY_PAGEABLE);
    return arena_printf(
        arena,
        "pageable memory: %lld copies to the GPU (%.1f MB at %.1f GB/s), %lld from it (%.1f MB at "
        "%.1f GB/s); the program copies its buffers a few times only: to pin them takes as long",
        (long long)up.count, (double)up.bytes / 1e6, rate_of(&up), (long long)back.count,
        (double)back.bytes / 1e6, rate_of(&back));
}

/* Returns the least share of the copies' time that remains in both directions: at the rate of
 * pinned copies in the recording, or else at what the PCIe generation allows, as in edit_pin. The
 * replay knows only how the host waits for copies to the GPU, so this stays an upper bound. */
static double remains(const struct facts *f, const struct pageable *p)
{
    struct query_copies up = query_h2d(f, MEMORY_PINNED), back = query_d2h(f, MEMORY_PINNED);
    double best = RULES_PCIE * query_pcie_rate(f);
    if (tells_rate(&up) || tells_rate(&back))
        best = RULES_PINNED_MORE * (rate_of(&up) > rate_of(&back) ? rate_of(&up) : rate_of(&back));
    struct query_copies all = p->up;
    all.bytes += p->back.bytes, all.total_ns += p->back.total_ns;
    double left = rate_of(&all) / best;
    return left < 1 ? left : 1;
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct pageable *p)
{
    const char *up =
        "SELECT * FROM copy WHERE kind = 1 AND src_kind = 1 ORDER BY end_ns - start_ns DESC";
    const char *back =
        "SELECT * FROM copy WHERE kind = 2 AND dst_kind = 1 ORDER BY end_ns - start_ns DESC";
    double used = (double)f->steps.used;
    if (p->up.count) {
        outcome_evidence_per(o, "pageable H2D copies", (double)p->up.count / used, "count", up);
        outcome_evidence_per(o, "bytes", (double)each_step(f, p->up.bytes) / 1e6, "MB", up);
        if (p->up.total_ns > 0)
            outcome_evidence(o, "rate", rate_of(&p->up), "GB/s", up);
    }
    if (p->back.count) {
        outcome_evidence_per(o, "pageable D2H copies", (double)p->back.count / used, "count", back);
        outcome_evidence(o, "their rate", rate_of(&p->back), "GB/s", back);
    }
    outcome_evidence_per(o, "host blocked in them",
                         ms(per_step(f, p->up.blocked_ns + p->back.blocked_ns)), "ms",
                         p->up.count ? up : back);
    outcome_evidence_per(o, "time without compute because of them,", ms(p->up_ns + p->back_ns),
                         "ms", p->up.count ? up : back);
}

static bool one(double n)
{
    return lround(n) == 1; /* it is printed as 1 */
}

static const char *summary(const struct facts *f, struct arena *arena, const struct pageable *p)
{
    double used = (double)f->steps.used, ups = (double)p->up.count / used;
    double backs = (double)p->back.count / used;
    const char *cost = time_text(arena, p->up_ns + p->back_ns);
    if (!p->back.count)
        return arena_printf(arena,
                            "%.0f cop%s %s read%s pageable memory at %.1f GB/s; the GPU computes "
                            "nothing for %s because of %s",
                            ups, one(ups) ? "y" : "ies", scope_words(f)->per, one(ups) ? "s" : "",
                            rate_of(&p->up), cost, one(ups) ? "it" : "them");
    const char *up = p->up.count ? arena_printf(arena, "%.0f cop%s to the GPU (%.1f GB/s) and ",
                                                ups, one(ups) ? "y" : "ies", rate_of(&p->up))
                                 : "";
    bool single = !p->up.count && one(backs);
    return arena_printf(arena,
                        "%s%.0f cop%s from the GPU (%.1f GB/s) %s use%s pageable memory; the GPU "
                        "computes nothing for %s because of %s",
                        up ? up : "", backs, one(backs) ? "y" : "ies", rate_of(&p->back),
                        scope_words(f)->per, single ? "s" : "", cost, single ? "it" : "them");
}

/* The loader has nothing to do with copies from the GPU. */
static void advise_both(struct outcome *o)
{
    o->title = "Pin the host buffers that are copied to and from the GPU";
    o->remedy.action = ACTION_PIN_BOTH_WAYS;
    o->remedy.object.kind = OBJECT_COPY;
}

static void fire(const struct facts *f, struct arena *arena, struct outcome *o,
                 const struct pageable *p)
{
    struct query_copies up = query_h2d(f, MEMORY_PINNED), back = query_d2h(f, MEMORY_PINNED);
    add_evidence(f, o, p);
    if (!tells_rate(p->both ? &back : &up)) {
        outcome_evidence(o, "pinned copies seen (without any, their rate is a range)", 0, "count",
                         NULL);
        o->error_class = ERROR_KERNEL_MODEL;
    }
    int64_t most = p->up_ns + p->back_ns;
    if (p->both) {
        most = (int64_t)((double)most * (1 - remains(f, p)));
        advise_both(o);
    } else {
        o->edit.kind = &edit_pin;
        o->remedy.conditions[CONDITION_WAITED] = query_h2d_waited(f, MEMORY_PAGEABLE);
        name_others(f, arena, o);
    }
    outcome_fires(o, most, summary(f, arena, p));
    outcome_example_op(o, f->tl, p->up_ns >= p->back_ns ? p->up.longest : p->back.longest,
                       "longest pageable copy");
    outcome_example_gaps(o, f, PART_IDLE_COPY, "GPU idle, host blocked in a copy");
}

static void check_pin_memory(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct pageable p = pageable_of(f);
    int64_t exposed = p.up_ns + p.back_ns;
    if (p.up.count + query_d2h(f, MEMORY_PAGEABLE).count == 0) {
        o->why = "no copy between host and GPU uses pageable memory";
        return;
    }
    if (analysis_of_window(f) && !p.back.count && !query_h2d_recurs(f, MEMORY_PAGEABLE)) {
        o->why = once_text(f, arena);
        return;
    }
    if (!p.back.count && p.up.bytes < p.up.count * RULES_FEW_BYTES) {
        o->why = "the copies from pageable memory are of a few bytes each: the driver takes these "
                 "along with the launch, pinned or not";
        return;
    }
    o->why =
        arena_printf(arena, "pageable copies cost %.3f ms %s", ms(exposed), scope_words(f)->per);
    if (exposed * QUERY_WORTH < f->step_ns)
        return;
    fire(f, arena, o, &p);
}

const struct rule rule_pin_memory = {
    .id = "pin-memory",
    .title = "Pin the host buffers of the batches",
    .needs = HAVE_COPIES | HAVE_MEMORY_KINDS | HAVE_STEPS,
    .check = check_pin_memory,
    .in_window = true,
    .program = {.line = FACT_TORCH_LOADER "." FACT_LOADER_MADE, .now = FACT_TORCH_LOADER},
    .looks_for = "Copies between the GPU and pageable memory, and the time in which no kernel "
                 "computes because of them.",
    .doc = "The driver stages a copy from or to pageable memory through its own pinned buffer: it "
           "is slower, the host waits for the staging, and the copy cannot overlap with kernels. "
           "Pinning pays if the copies make the step longer. Calling .pin_memory() before .to() "
           "inside the loop does not pay, because pinning itself is slow.",
    .remedy = {.action = ACTION_PIN_BATCHES, .object.kind = OBJECT_LOADER},
    .tips = {{"pinned-memory", "Copy batches from pinned memory", NULL}},
};
