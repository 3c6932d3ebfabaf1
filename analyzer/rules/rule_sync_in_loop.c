/* The host waits for the GPU inside the step and then starts over with an empty queue. */
#include "analyzer/rules/look.h"

#include <string.h>

struct syncs {
    int64_t count, blocked_ns;
    const char *name; /* of the call that takes most time */
    uint32_t longest;
};

static struct syncs sync_calls(const struct analysis *a)
{
    struct syncs s = {.longest = TL_NONE};
    int64_t most = 0;
    for (size_t i = 0; i < a->totals.api_count; i++) {
        const struct api_total *t = &a->totals.apis[i];
        if (t->kind != API_SYNC_DEVICE && t->kind != API_SYNC_STREAM && t->kind != API_SYNC_EVENT &&
            t->kind != API_COPY_SYNC)
            continue;
        s.count += t->count;
        s.blocked_ns += t->total_ns;
        if (t->total_ns > most) {
            most = t->total_ns;
            s.name = tl_text(a->tl, t->name);
            s.longest = t->longest;
        }
    }
    return s;
}

static int64_t read_backs(const struct analysis *a)
{
    int64_t n = 0;
    for (size_t i = 0; i < a->totals.copy_count; i++)
        if (a->totals.copies[i].kind == COPY_D2H)
            n += a->totals.copies[i].count;
    return n;
}

static void check(struct analysis *a, struct outcome *o)
{
    int64_t idle = a->breakdown_ns[PART_IDLE_SYNC];
    struct syncs s = sync_calls(a);
    double used = (double)(a->steps.used ? a->steps.used : 1);
    o->why =
        arena_printf(&a->arena, "%.1f synchronisations per step leave the GPU idle for %.3f ms",
                     (double)s.count / used, ms(idle));
    if (idle * 100 < a->steps.median_ns)
        return;
    const char *rows =
        "SELECT a.* FROM api a JOIN string s ON s.id = a.name WHERE s.text LIKE '%Synchronize%' "
        "OR s.text LIKE 'cudaMemcpy%' ORDER BY end_ns - start_ns DESC";
    outcome_evidence(
        o, "GPU idle after synchronisations per step", ms(idle), "ms",
        "SELECT * FROM gap WHERE cause = (SELECT id FROM string WHERE text = 'idle_sync')");
    outcome_evidence(o, "synchronising calls per step", (double)s.count / used, "count", rows);
    outcome_evidence(o, "host blocked in them per step", ms(per_step(a, s.blocked_ns)), "ms", rows);
    outcome_evidence(o, "results read back (D2H) per step", (double)read_backs(a) / used, "count",
                     "SELECT * FROM copy WHERE kind = 2");
    o->edit.kind = EDIT_UNSYNC;
    o->knob = "sync_every=100";
    const char *where = look_gap_range(a, PART_IDLE_SYNC);
    outcome_fires(
        o, idle,
        arena_printf(&a->arena,
                     "%s%s%s%s waits for the GPU in the loop; it then idles for %.1f ms per step",
                     s.name ? s.name : "a synchronisation", where ? " (in range '" : "",
                     where ? where : "", where ? "')" : "", ms(idle)));
    if (s.longest != TL_NONE)
        outcome_example(o, a->tl->apis[s.longest].start_ns, a->tl->apis[s.longest].end_ns,
                        "longest wait", TL_NONE);
    look_gap_examples(a, o, PART_IDLE_SYNC, "GPU idle after a synchronisation");
}

const struct rule rule_sync_in_loop = {
    .id = "sync-in-loop",
    .title = "Do not wait for the GPU in every step",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check,
    .looks_for = "GPU idle time that follows cuda*Synchronize, a blocking copy back, .item(), "
                 ".cpu(), print(tensor).",
    .doc = "A synchronisation costs little by itself. It costs the host's lead: afterwards the "
           "queue is empty, and every "
           "launch, copy and bit of host work until it has filled again is seen by the GPU. Only "
           "that idle time is counted; "
           "a wait that moves to the next synchronisation saves nothing. .detach() does not remove "
           "a synchronisation.",
    .remedy = {"accumulate the loss on the device (total += loss.detach()) and call .item() every "
               "N steps",
               "read metrics every N steps; model.compile(steps_per_execution=N)",
               "cudaMemcpyAsync the result into pinned memory, record an event, and read it one "
               "step later"},
    .knob = "sync_every",
};
