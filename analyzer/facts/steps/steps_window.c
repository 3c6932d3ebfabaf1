/* Where no step repeats (inference, one pass, a benchmark), the recorded window takes the place
 * of a step, and all shares refer to it. It lasts from the GPU's first work to its last. Calls
 * before and after that which allocate memory or load code belong to it if they take at least
 * 1/FACTS_WORTH of that time and at least half of the time that they add: in many short
 * programs they are the main cost. If the run was recorded in windows, the longest one is used.
 * Cost: one pass over the calls. */
#include "analyzer/facts/steps/steps.h"
#include "analyzer/facts/limits.h"

#include <stdlib.h>

static bool sets_up(unsigned kind)
{
    return kind == API_ALLOC || kind == API_FREE || kind == API_HOST_ALLOC || kind == API_MODULE;
}

/* The longest part of [from, to) that was recorded without a break. */
static struct span longest_recorded(const struct facts *f, int64_t from_ns, int64_t to_ns)
{
    struct span best = {from_ns, f->window_count ? from_ns : to_ns};
    for (size_t i = 0; i < f->window_count; i++) {
        struct span s = recorded_part(&f->windows[i], from_ns, to_ns);
        if (s.end_ns - s.start_ns > best.end_ns - best.start_ns)
            best = s;
    }
    return best;
}

/* True if set-up calls of `ns` in a stretch of stretch_ns, beside GPU work of work_ns, are long
 * enough to matter and fill most of the stretch. */
static bool belongs(int64_t ns, int64_t stretch_ns, int64_t work_ns)
{
    return ns * FACTS_WORTH >= work_ns && 2 * ns >= stretch_ns;
}

/* Extends the GPU's work by the calls that allocate or load code before it, and by those that
 * free and unload after it. */
static struct span with_set_up(const struct facts *f, struct span work)
{
    const struct timeline *t = f->tl;
    struct span all = work;
    int64_t before_ns = 0, behind_ns = 0;
    for (size_t i = 0; i < t->api_count; i++) {
        const struct api *a = &t->apis[i];
        if (!sets_up(a->kind) || t->threads[a->thread].process != f->steps.process)
            continue;
        if (a->end_ns <= work.start_ns) {
            before_ns += a->end_ns - a->start_ns;
            all.start_ns = a->start_ns < all.start_ns ? a->start_ns : all.start_ns;
        } else if (a->start_ns >= work.end_ns) {
            behind_ns += a->end_ns - a->start_ns;
            all.end_ns = a->end_ns > all.end_ns ? a->end_ns : all.end_ns;
        }
    }
    int64_t length = work.end_ns - work.start_ns;
    if (!belongs(before_ns, work.start_ns - all.start_ns, length))
        all.start_ns = work.start_ns;
    if (!belongs(behind_ns, all.end_ns - work.end_ns, length))
        all.end_ns = work.end_ns;
    return all;
}

/* Where the known part begins. If a stream's first operation starts long after its call returned,
 * it waited for work launched before the recording: until then the GPU was not idle, but what it
 * ran is unknown. The known part begins at that operation if hardly any other work ran before it
 * and it lies at least 1/FACTS_WORTH of the window behind the start. */
static int64_t known_from(const struct facts *f, struct span work)
{
    const struct timeline *t = f->tl;
    bool *seen = calloc(t->stream_count + 1, sizeof *seen);
    int64_t from = work.start_ns, done = 0;
    for (size_t i = 0; seen && i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        int64_t at = o->start_ns - work.start_ns;
        if (at > 0 && done * FACTS_HARDLY >= at)
            break;
        if (!seen[o->stream] && o->api != TL_NONE &&
            o->start_ns - t->apis[o->api].end_ns > FACTS_WAITS_NS &&
            at * FACTS_WORTH >= work.end_ns - work.start_ns &&
            (work.end_ns - o->start_ns) * FACTS_WORTH >= work.end_ns - work.start_ns)
            from = o->start_ns;
        seen[o->stream] = true;
        done += o->end_ns - o->start_ns;
    }
    free(seen);
    return from;
}

static const char *ends_text(struct span all, struct span work)
{
    bool before = all.start_ns<work.start_ns, behind = all.end_ns> work.end_ns;
    return before && behind
               ? "no step repeats: from the first allocation or loading of code to the "
                 "last freeing or unloading"
           : before ? "no step repeats: from the first allocation or loading of code to the "
                      "GPU's last work"
           : behind ? "no step repeats: from the GPU's first work to the last freeing or "
                      "unloading"
                    : "no step repeats: from the GPU's first work to its last";
}

/* A hint for programs that run one kernel over and over: each run may be a step, but gpuprof
 * does not assume this, because such steps would be found in every program. NULL: several
 * kernels share the work. */
static const char *one_kernel(const struct facts *f, struct arena *arena)
{
    const struct timeline *t = f->tl;
    uint32_t name = 0, full = 0;
    size_t same = 0, kernels = 0;
    for (size_t i = 0; i < t->op_count; i++) /* find the majority name by voting (Boyer and
                                                Moore) */
        if (t->ops[i].kind == OP_KERNEL) {
            full = same ? full : t->ops[i].full_name;
            name = same ? name : t->ops[i].name;
            same = t->ops[i].name == name ? same + 1 : same - 1;
            kernels++;
        }
    same = 0;
    for (size_t i = 0; i < t->op_count; i++)
        same += t->ops[i].kind == OP_KERNEL && t->ops[i].name == name;
    if (!*tl_text(t, full) || same < FACTS_ONE_KERNEL ||
        (kernels - same) * 100 > kernels * FACTS_OTHERS_PCT)
        return NULL;
    return arena_printf(arena,
                        "the GPU runs hardly anything but '%.60s' (%zu times). If each is a step, "
                        "say so: --step-kernel NAME",
                        tl_text(t, name), same);
}

struct span steps_window(const struct facts *f)
{
    return with_set_up(f, (struct span){f->tl->gpu_start_ns, f->tl->gpu_end_ns});
}

int steps_from_window(struct facts *f)
{
    struct steps *s = &f->steps;
    s->source = STEPS_NONE;
    s->source_text = "no step repeats";
    if (f->tl->op_count == 0)
        return 0;
    s->at = arena_alloc(&f->arena, sizeof *s->at);
    if (!s->at)
        return -1;
    s->doubt = one_kernel(f, &f->arena);
    struct span work = {f->tl->gpu_start_ns, f->tl->gpu_end_ns}, w = steps_window(f);
    s->source_text = ends_text(w, work);
    int64_t from = w.start_ns == work.start_ns ? known_from(f, work) : w.start_ns;
    if (from > w.start_ns)
        s->source_text = "no step repeats: from the end of what was launched before the recording "
                         "to the GPU's last work";
    w.start_ns = from;
    w = longest_recorded(f, w.start_ns, w.end_ns);
    s->at[0] = (struct step){.start_ns = w.start_ns, .end_ns = w.end_ns, .used = 1};
    s->count = 1;
    return 0;
}
