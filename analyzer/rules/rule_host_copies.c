/* Batches copied from one place of the host's memory to another before they go to the GPU. */
#include "analyzer/rules/look_phase.h"

#include "analyzer/analyze/passes.h"

#include <stdlib.h>

static const char copying[] = "aten::clone|aten::contiguous|aten::pin_memory|aten::_pin_memory|"
                              "host_copy|host.copy|copy.host|memcpy_host|torch.tensor(";

struct host_copies {
    struct spans spans; /* of the training thread: in such ranges, without GPU work */
    int64_t count;
    uint32_t longest; /* range index, TL_NONE */
};

/* Launches in them mean that it is the GPU that copies. */
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

static int find_copies(const struct analysis *a, struct host_copies *h)
{
    const struct timeline *t = a->tl;
    const struct thread *th = &t->threads[a->steps.main_thread];
    for (uint32_t i = 0; i < th->ranges; i++) { /* by start */
        const struct range *r = &t->ranges[th->first_range + i];
        if (look_step_at(a, r->start_ns) == TL_NONE ||
            !look_name_has(tl_text(t, r->name), copying) || !on_the_host(t, r))
            continue;
        h->count++;
        if (h->longest == TL_NONE ||
            r->end_ns - r->start_ns > t->ranges[h->longest].end_ns - t->ranges[h->longest].start_ns)
            h->longest = th->first_range + i;
        if (spans_add(&h->spans, r->start_ns, r->end_ns) < 0)
            return -1;
    }
    return spans_index(&h->spans);
}

/* GPU idle while the host copies. */
static int64_t idle_during(const struct analysis *a, const struct host_copies *h)
{
    int64_t ns = 0;
    for (size_t i = 0; i < a->gap_count; i++) {
        const struct gap *g = &a->gaps[i];
        if (g->step != TL_NONE && a->steps.at[g->step].used)
            ns += spans_covered(&h->spans, g->start_ns, g->end_ns);
    }
    return per_step(a, ns);
}

static void fire(struct analysis *a, struct outcome *o, const struct host_copies *h, int64_t idle)
{
    const struct range *r = &a->tl->ranges[h->longest];
    int64_t all = per_step(a, spans_total(&h->spans));
    const char *rows = "SELECT * FROM range_time WHERE name LIKE '%copy%' OR name LIKE '%clone%' "
                       "OR name LIKE '%pin_memory%' OR name LIKE '%contiguous%'";
    outcome_evidence(o, "copies within the host's memory per step",
                     (double)h->count / (double)a->steps.used, "count", rows);
    outcome_evidence(o, "host time of them per step", ms(all), "ms", rows);
    outcome_evidence(o, "GPU idle meanwhile per step", ms(idle), "ms", NULL);
    o->knob = "extra_copy=0";
    outcome_fires(o, idle,
                  arena_printf(&a->arena,
                               "the training thread copies within the host's memory ('%s'); the "
                               "GPU idles for %.1f ms per step of it",
                               tl_text(a->tl, r->name), ms(idle)));
    outcome_example(o, r->start_ns, r->end_ns, "longest copy on the host", TL_NONE);
}

static void check(struct analysis *a, struct outcome *o)
{
    struct host_copies h = {.longest = TL_NONE};
    if (find_copies(a, &h) < 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
    } else {
        int64_t idle = h.count ? idle_during(a, &h) : 0;
        o->why = arena_printf(&a->arena,
                              "copies within the host's memory leave the GPU idle for %.3f ms per "
                              "step",
                              ms(idle));
        if (idle * 100 >= a->steps.median_ns && idle > 0)
            fire(a, o, &h, idle);
    }
    spans_release(&h.spans);
}

const struct rule rule_host_copies = {
    .id = "host-copies",
    .title = "Do not copy batches within the host's memory first",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_RANGES | HAVE_STEPS,
    .check = check,
    .looks_for = "Ranges of the training thread that copy on the host (clone, contiguous, "
                 "pin_memory, tensor from a list) while the GPU is idle.",
    .doc = "torch.tensor(array) copies, as do .clone(), .contiguous() of a transposed view and "
           "pin_memory() by hand: at memory speed, on the thread that should launch. from_numpy "
           "and as_tensor wrap what is there, and the loader's own pinning thread does the rest "
           "beside the loop. Told by names of ranges or framework operators; a copy outside of "
           "any is not seen.",
    .remedy = {"torch.from_numpy(x) or torch.as_tensor(x) instead of torch.tensor(x); "
               "DataLoader(pin_memory=True) instead of .pin_memory() in the loop",
               "tf.data from the arrays' own files; no .numpy() round trips in the loop",
               "let the loader write into the pinned buffer that is copied from"},
    .knob = "extra_copy",
};
