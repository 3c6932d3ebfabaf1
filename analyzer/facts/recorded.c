/* Handles runs recorded in windows: some steps now and then, or up to a size limit. What happens
 * outside the windows is unknown, so no step reaches out of its window, and no step with incomplete
 * GPU time is used. At the start of a window the GPU may still run work that was queued before:
 * until the first operation launched inside the window starts, the recording does not show whether
 * the GPU is idle. Cost: one pass over the steps, one over the operations. */
#include "analyzer/facts/passes.h"

/* At most so many steps at the end of a window are dropped because work is missing. */
enum { UNFINISHED_MAX = 64 };

int recorded_find(struct facts *f)
{
    const struct timeline *t = f->tl;
    const struct row_process *p =
        f->steps.process < t->process_count ? &t->processes[f->steps.process] : NULL;
    f->windows = arena_array(&f->arena, t->recorded_count, sizeof *f->windows);
    if (!f->windows)
        return -1;
    for (size_t i = 0; p && i < t->recorded_count; i++) {
        const struct row_recorded *r = &t->recorded[i];
        struct recorded_window *last = f->window_count ? &f->windows[f->window_count - 1] : NULL;
        if (r->process != p->id || r->end_ns <= r->start_ns || (last && r->start_ns < last->end_ns))
            continue;
        f->windows[f->window_count++] = (struct recorded_window){
            .start_ns = r->start_ns,
            .end_ns = r->end_ns,
            .known_ns = r->gpu_start_ns >= 0 ? r->gpu_start_ns : r->start_ns,
            .leads_in = r->gpu_start_ns < 0 && r->start_ns > p->start_ns,
            .at_step = r->first_step >= 0 && r->end_ns < p->end_ns,
            .first_step = r->first_step};
    }
    return 0;
}

size_t recorded_first_ending_after(const struct facts *f, int64_t ns)
{
    size_t low = 0, high = f->window_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (f->windows[mid].end_ns <= ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct recorded_window *recorded_at(const struct facts *f, int64_t ns)
{
    size_t i = recorded_first_ending_after(f, ns);
    return i < f->window_count && f->windows[i].start_ns <= ns ? &f->windows[i] : NULL;
}

void recorded_cut(struct facts *f)
{
    for (size_t i = 0; f->window_count && i < f->steps.count; i++) {
        struct step *s = &f->steps.at[i];
        const struct recorded_window *r = recorded_at(f, s->start_ns);
        bool cut = r && s->end_ns > r->end_ns;
        if (cut)
            s->end_ns = r->end_ns;
        if (!r || (cut && !r->at_step))
            s->used = 0;
        else if (cut)
            s->used = 1; /* the window ends exactly where the next step begins,
                            so the step is complete */
    }
}

/* True if the step made a launch whose GPU work was not recorded. */
static bool unfinished(const struct facts *f, const struct step *s)
{
    const struct timeline *t = f->tl;
    for (uint32_t k = 0; k < t->thread_count; k++) {
        const struct thread *th = &t->threads[k];
        if (th->process != f->steps.process)
            continue;
        uint32_t low = timeline_api_from(t, th, s->start_ns), end = th->first_api + th->apis;
        for (; low < end && t->apis[low].start_ns < s->end_ns; low++)
            if (t->apis[low].kind == API_LAUNCH && t->apis[low].layer == 0 && t->apis[low].ops == 0)
                return true;
    }
    return false;
}

/* Stops using the last steps of the window, back from step `end`, while their
 * GPU work is incomplete. */
static void drop_unfinished(struct facts *f, const struct recorded_window *r, size_t end)
{
    for (size_t i = end, n = 0; i-- > 0 && n < UNFINISHED_MAX; n++) {
        struct step *s = &f->steps.at[i];
        if (s->start_ns < r->start_ns || !unfinished(f, s))
            return;
        s->used = 0;
    }
}

static size_t first_step_from(const struct facts *f, int64_t ns)
{
    size_t low = 0, high = f->steps.count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (f->steps.at[mid].start_ns < ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The number of the window's first step. If the window was not cut at steps, a block of steps that
 * begins with one of the window's tells. */
static int64_t number_of(const struct facts *f, const struct recorded_window *r)
{
    const struct timeline *t = f->tl;
    size_t first = first_step_from(f, r->start_ns);
    if (r->first_step >= 0)
        return r->first_step ? r->first_step : 1;
    for (size_t i = 0; f->steps.process < t->process_count && i < t->step_block_count; i++) {
        const struct row_step_block *b = &t->step_blocks[i];
        if (b->process != t->processes[f->steps.process].id || b->start_ns < r->start_ns ||
            b->start_ns >= r->end_ns)
            continue;
        size_t at = first_step_from(f, b->start_ns);
        if (at < f->steps.count && f->steps.at[at].start_ns == b->start_ns)
            return b->first_step > (int64_t)(at - first) ? b->first_step - (int64_t)(at - first)
                                                         : 0;
    }
    return 0;
}

void recorded_drop_incomplete_steps(struct facts *f)
{
    struct steps *s = &f->steps;
    const struct timeline *t = f->tl;
    bool window = analysis_of_window(f); /* steps_window.c already chose a
                                            recorded part: drop nothing */
    uint32_t op = 0;
    size_t i = 0;
    for (size_t k = 0; k < f->window_count; k++) {
        struct recorded_window *r = &f->windows[k];
        r->number = window ? 0 : number_of(f, r);
        for (; op < t->op_count && t->ops[op].start_ns < r->start_ns; op++)
            ;
        for (uint32_t o = op; r->leads_in && t->op_count;
             o++) { /* find the first op that was launched inside the window */
            bool none = o >= t->op_count || t->ops[o].start_ns >= r->end_ns;
            if (!none && (t->ops[o].api == TL_NONE || tl_op_device(t, o) != s->device ||
                          t->apis[t->ops[o].api].start_ns < r->start_ns))
                continue;
            r->known_ns = none ? r->end_ns : t->ops[o].start_ns;
            break;
        }
        for (; !window && i < s->count && s->at[i].start_ns < r->end_ns; i++)
            if (s->at[i].start_ns < r->known_ns)
                s->at[i].used = 0;
        if (!window)
            drop_unfinished(f, r, i);
    }
}

int64_t recorded_length_ns(const struct facts *f)
{
    int64_t sum = f->window_count ? 0 : f->tl->end_ns - f->tl->start_ns;
    for (size_t i = 0; i < f->window_count; i++)
        sum += f->windows[i].end_ns - f->windows[i].start_ns;
    return sum;
}

int64_t recorded_known_ns(const struct facts *f, int64_t from_ns, int64_t to_ns)
{
    int64_t sum = f->window_count ? 0 : to_ns - from_ns;
    for (size_t i = recorded_first_ending_after(f, from_ns); i < f->window_count; i++) {
        struct span s = recorded_part(&f->windows[i], from_ns, to_ns);
        sum += s.end_ns - s.start_ns;
    }
    return sum;
}

int64_t recorded_covered_ns(const struct facts *f, const struct spans *spans)
{
    int64_t sum = f->window_count ? 0 : spans_total(spans);
    for (size_t i = 0; i < f->window_count; i++)
        sum += spans_covered(spans, f->windows[i].known_ns, f->windows[i].end_ns);
    return sum;
}

int64_t facts_step_number(const struct facts *f, size_t step)
{
    const struct recorded_window *r = recorded_at(f, f->steps.at[step].start_ns);
    return r && r->number ? r->number + (int64_t)(step - first_step_from(f, r->start_ns))
                          : (int64_t)step + 1;
}

/* Whether a window numbers its steps. */
static bool numbered(const struct facts *f, size_t window)
{
    return window < f->window_count && f->windows[window].number > 0;
}

struct unrecorded recorded_gap(const struct facts *f, size_t i, int64_t from_ns, int64_t to_ns)
{
    const struct recorded_window *before = i ? &f->windows[i - 1] : NULL;
    const struct recorded_window *after = i < f->window_count ? &f->windows[i] : NULL;
    struct unrecorded u = {.from_ns = before && before->end_ns > from_ns ? before->end_ns : from_ns,
                           .to_ns = after && after->start_ns < to_ns ? after->start_ns : to_ns};
    u.known_ns = !after ? u.to_ns : after->known_ns < to_ns ? after->known_ns : to_ns;
    if ((before && !numbered(f, i - 1)) || (after && !numbered(f, i)) || !f->health.run_steps)
        return u;
    size_t last = before ? first_step_from(f, before->end_ns) : 0;
    u.first_step = last ? facts_step_number(f, last - 1) + 1 : 1;
    u.last_step = after ? after->number - 1 : f->health.run_steps;
    if (u.first_step > u.last_step)
        u.first_step = u.last_step = 0;
    return u;
}
