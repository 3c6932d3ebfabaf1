/* Fires if the training thread copies batches within host memory before they go to the GPU. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/host.h"

static void fire(const struct facts *f, struct arena *arena, struct outcome *o,
                 const struct query_host_copies *h)
{
    int64_t idle = per_step(f, h->idle_ns);
    const struct range *r = &f->tl->ranges[h->longest];
    int64_t all = per_step(f, h->total_ns);
    const char *rows = "SELECT * FROM range_time WHERE name LIKE '%copy%' OR name LIKE '%clone%' "
                       "OR name LIKE '%pin_memory%' OR name LIKE '%contiguous%'";
    outcome_evidence_per(o, "copies within host memory", (double)h->count / (double)f->steps.used,
                         "count", rows);
    outcome_evidence_per(o, "their host time", ms(all), "ms", rows);
    outcome_evidence_per(o, "GPU idle meanwhile", ms(idle), "ms", NULL);
    o->edit = (struct edit){.kind = &edit_skip, .skip.range_marks = h->marks};
    outcome_fires(o, idle,
                  arena_printf(arena,
                               "the training thread copies within host memory ('%s'); the GPU "
                               "idles for %s %s meanwhile",
                               tl_text(f->tl, r->name), time_text(arena, idle),
                               scope_words(f)->per));
    outcome_example(o, r->start_ns, r->end_ns, "longest copy on the host", TL_NONE);
}

static void check_host_copies(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_host_copies h;
    if (query_host_copies(f, arena, &h) < 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    int64_t idle = per_step(f, h.idle_ns);
    o->why = arena_printf(arena, "copies within host memory leave the GPU idle for %.3f ms %s",
                          ms(idle), scope_words(f)->per);
    if (idle * QUERY_WORTH >= f->step_ns && idle > 0)
        fire(f, arena, o, &h);
}

const struct rule rule_host_copies = {
    .id = "host-copies",
    .title = "Do not copy batches within host memory first",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_RANGES | HAVE_STEPS,
    .check = check_host_copies,
    .in_window = true,
    .looks_for = "Ranges of the training thread that copy on the host (clone, contiguous, "
                 "pin_memory, tensor from a list) while the GPU idles.",
    .doc = "torch.tensor(array) copies, as do .clone(), .contiguous() of a transposed view and "
           "explicit pin_memory() calls: at memory speed, on the thread that should launch. "
           "from_numpy and as_tensor wrap existing memory, and the loader's pinning thread works "
           "in parallel to the loop. gpuprof recognises such copies by the names of ranges or "
           "framework operators; it does not see a copy outside them.",
    .remedy = {.action = ACTION_WRAP_HOST_DATA, .object.kind = OBJECT_COPY},
    .tips = {{"no-host-copies", "Wrap host data (as_tensor, from_numpy) instead of copying it",
              "gpuprof sees ranges and framework operators, but no copy outside them"}},
};
