/* Host-to-device copies from pageable memory: staged by the driver while the host waits. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/input/feed.h"
#include "analyzer/queries/query.h"

#include <string.h>

/* Did copies from pinned memory show what this machine can do? Large ones alone tell. Without them
 * the saving rests on a range of usual rates, and is no matter of dependencies alone. */
static bool pinned_rate_seen(const struct facts *f)
{
    for (size_t i = 0; i < f->totals.copy_count; i++) {
        const struct copy_total *t = &f->totals.copies[i];
        if (t->kind == COPY_H2D && t->src_kind == MEMORY_PINNED && t->count > 0 &&
            t->bytes / t->count > 1 << 20)
            return true;
    }
    return false;
}

/* The loader pins its batches, or there is none: these copies are of something else, and the
 * setting changes nothing. */
static void name_others(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct feed feed;
    const char *loader = query_feed(f, arena, &feed) ? query_feed_fact(f, arena, &feed, NULL)
                                                     : timeline_meta(f->tl, "torch.loader");
    bool hooked = timeline_meta(f->tl, "torch.settings") != NULL;
    if (loader ? !strstr(loader, "pin_memory=True") : !hooked)
        return;
    o->elsewhere = true;
    o->setting = NULL;
    o->title = loader ? "Pin what else is copied to the GPU" : "Pin what is copied to the GPU";
    o->remedy.pytorch =
        arena_printf(arena,
                     "%s: make these tensors on the GPU, copy them once before the loop, or "
                     "keep them in a buffer that is pinned once (tensor.pin_memory())",
                     loader ? "the loader pins its batches" : "no DataLoader makes them");
}

enum { A_FEW_BYTES = 4096 /* each, on average */ };

static void check_pin_memory(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_copies c = query_h2d(f, MEMORY_PAGEABLE);
    int64_t exposed = per_step(f, c.exposed_ns) + c.idle_ns;
    if (c.count == 0) {
        o->why = "no host-to-device copy reads pageable memory";
        return;
    }
    if (analysis_of_window(f) && !query_h2d_recurs(f, MEMORY_PAGEABLE)) {
        o->why = "the program copies its buffers a few times only: to pin them takes as long";
        return;
    }
    if (c.bytes < c.count * A_FEW_BYTES) {
        o->why = "the copies from pageable memory are of a few bytes each: the driver takes these "
                 "along with the launch, pinned or not";
        return;
    }
    o->why = arena_printf(arena, "pageable copies cost %.3f ms per step", ms(exposed));
    if (exposed * 100 < f->step_ns)
        return;
    const char *rows =
        "SELECT * FROM copy WHERE kind = 1 AND src_kind = 1 ORDER BY end_ns - start_ns DESC";
    outcome_evidence(o, "pageable H2D copies per step", (double)c.count / (double)f->steps.used,
                     "count", rows);
    outcome_evidence(o, "bytes per step", (double)each_step(f, c.bytes) / 1e6, "MB", rows);
    if (c.total_ns > 0)
        outcome_evidence(o, "rate", (double)c.bytes / (double)c.total_ns, "GB/s", rows);
    outcome_evidence(o, "host blocked in them per step", ms(per_step(f, c.blocked_ns)), "ms", rows);
    outcome_evidence(o, "time without compute because of them, per step", ms(exposed), "ms", rows);
    if (!pinned_rate_seen(f)) {
        outcome_evidence(o, "pinned copies seen (without any, their rate is a range)", 0, "count",
                         NULL);
        o->error_class = ERROR_KERNEL_MODEL;
    }
    o->edit.kind = EDIT_PIN;
    o->setting =
        query_h2d_waited(f, MEMORY_PAGEABLE) ? "pin_memory=1;non_blocking=1" : "pin_memory=1";
    name_others(f, arena, o);
    outcome_fires(o, exposed,
                  arena_printf(arena,
                               "%.0f copies per step read pageable memory at %.1f GB/s; the GPU "
                               "computes nothing for %s because of them",
                               (double)c.count / (double)f->steps.used,
                               c.total_ns > 0 ? (double)c.bytes / (double)c.total_ns : 0.0,
                               time_text(arena, exposed)));
    outcome_example_op(o, f->tl, c.longest, "longest pageable copy");
    outcome_example_gaps(o, f, PART_IDLE_COPY, "GPU idle, host blocked in a copy");
}

const struct rule rule_pin_memory = {
    .id = "pin-memory",
    .title = "Pin the host buffers of the batches",
    .needs = HAVE_COPIES | HAVE_MEMORY_KINDS | HAVE_STEPS,
    .check = check_pin_memory,
    .in_window = true,
    .program = {.line = "torch.loader.made", .now = "torch.loader"},
    .looks_for = "H2D copies from pageable memory, and the time in which no kernel computes "
                 "because of them.",
    .doc = "The driver stages a copy from pageable memory through its own pinned buffer: the copy "
           "is slower, the host waits for the staging, and the copy cannot overlap with kernels. "
           "Pinning pays if the copies make the step longer. Calling .pin_memory() before .to() "
           "inside the loop does not pay, because pinning itself is slow.",
    .remedy =
        {"DataLoader(..., pin_memory=True), then batch.to(device, non_blocking=True)",
         "tf.data pins its own buffers: pass the dataset, not NumPy arrays, to the model",
         "cudaHostAlloc (or cudaHostRegister once) for the batch slots, then cudaMemcpyAsync"},
    .setting = "pin_memory",
    .tips = {{"pinned-memory", "Copy batches from pinned memory", NULL}},
};
