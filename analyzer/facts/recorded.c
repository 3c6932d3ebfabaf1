/* Runs that were recorded in stretches: a window of steps now and then, or up to a size. What lies
 * outside is not known, so no step reaches out of its stretch, and none counts whose GPU time is
 * not whole. At the beginning of a stretch the GPU may still be busy with what was queued before:
 * until the first operation that was launched in it starts, nobody knows. Cost: one pass over the
 * steps, one over the operations. */
#include "analyzer/facts/passes.h"

enum { UNFINISHED_MAX = 64 }; /* steps at the end of a stretch whose work may be missing */

int recorded_find(struct facts *f)
{
    const struct timeline *t = f->tl;
    const struct row_process *p =
        f->steps.process < t->process_count ? &t->processes[f->steps.process] : NULL;
    f->stretches = arena_array(&f->arena, t->recorded_count, sizeof *f->stretches);
    if (!f->stretches)
        return -1;
    for (size_t i = 0; p && i < t->recorded_count; i++) {
        const struct row_recorded *r = &t->recorded[i];
        struct stretch *last = f->stretch_count ? &f->stretches[f->stretch_count - 1] : NULL;
        if (r->process != p->id || r->end_ns <= r->start_ns || (last && r->start_ns < last->end_ns))
            continue;
        f->stretches[f->stretch_count++] =
            (struct stretch){.start_ns = r->start_ns,
                             .end_ns = r->end_ns,
                             .known_ns = r->gpu_start_ns >= 0 ? r->gpu_start_ns : r->start_ns,
                             .leads_in = r->gpu_start_ns < 0 && r->start_ns > p->start_ns,
                             .at_step = r->first_step >= 0 && r->end_ns < p->end_ns,
                             .first_step = r->first_step};
    }
    return 0;
}

size_t recorded_after(const struct facts *f, int64_t ns)
{
    size_t low = 0, high = f->stretch_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (f->stretches[mid].end_ns <= ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct stretch *recorded_at(const struct facts *f, int64_t ns)
{
    size_t i = recorded_after(f, ns);
    return i < f->stretch_count && f->stretches[i].start_ns <= ns ? &f->stretches[i] : NULL;
}

void recorded_cut(struct facts *f)
{
    for (size_t i = 0; f->stretch_count && i < f->steps.count; i++) {
        struct step *s = &f->steps.at[i];
        const struct stretch *r = recorded_at(f, s->start_ns);
        bool cut = r && s->end_ns > r->end_ns;
        if (cut)
            s->end_ns = r->end_ns;
        if (!r || (cut && !r->at_step))
            s->used = 0;
        else if (cut)
            s->used = 1; /* the stretch ends where the next step began */
    }
}

/* Work that was launched in the step and is not there. */
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

static void drop_unfinished(struct facts *f, const struct stretch *r, size_t end)
{
    for (size_t i = end, n = 0; i-- > 0 && n < UNFINISHED_MAX; n++) {
        struct step *s = &f->steps.at[i];
        if (s->start_ns < r->start_ns || !unfinished(f, s))
            return;
        s->used = 0;
    }
}

void recorded_drop(struct facts *f)
{
    struct steps *s = &f->steps;
    const struct timeline *t = f->tl;
    uint32_t op = 0;
    size_t i = 0;
    for (size_t k = 0; k < f->stretch_count; k++) {
        struct stretch *r = &f->stretches[k];
        for (; op < t->op_count && t->ops[op].start_ns < r->start_ns; op++)
            ;
        for (uint32_t o = op; r->leads_in && t->op_count;
             o++) { /* the first that was launched in it */
            bool none = o >= t->op_count || t->ops[o].start_ns >= r->end_ns;
            if (!none && (t->ops[o].api == TL_NONE || tl_op_device(t, o) != s->device ||
                          t->apis[t->ops[o].api].start_ns < r->start_ns))
                continue;
            r->known_ns = none ? r->end_ns : t->ops[o].start_ns;
            break;
        }
        for (; i < s->count && s->at[i].start_ns < r->end_ns; i++)
            if (s->at[i].start_ns < r->known_ns)
                s->at[i].used = 0;
        drop_unfinished(f, r, i);
    }
}

int64_t recorded_length(const struct facts *f)
{
    int64_t sum = f->stretch_count ? 0 : f->tl->end_ns - f->tl->start_ns;
    for (size_t i = 0; i < f->stretch_count; i++)
        sum += f->stretches[i].end_ns - f->stretches[i].start_ns;
    return sum;
}

int64_t recorded_known(const struct facts *f, int64_t from_ns, int64_t to_ns)
{
    int64_t sum = f->stretch_count ? 0 : to_ns - from_ns;
    for (size_t i = recorded_after(f, from_ns); i < f->stretch_count; i++) {
        struct span s = recorded_part(&f->stretches[i], from_ns, to_ns);
        sum += s.end_ns - s.start_ns;
    }
    return sum;
}

int64_t recorded_covered(const struct facts *f, const struct spans *spans)
{
    int64_t sum = f->stretch_count ? 0 : spans_total(spans);
    for (size_t i = 0; i < f->stretch_count; i++)
        sum += spans_covered(spans, f->stretches[i].known_ns, f->stretches[i].end_ns);
    return sum;
}

int64_t facts_step_number(const struct facts *f, size_t step)
{
    const struct stretch *r = recorded_at(f, f->steps.at[step].start_ns);
    size_t first = step;
    if (!r || r->first_step < 0)
        return (int64_t)step + 1;
    while (first > 0 && f->steps.at[first - 1].start_ns >= r->start_ns)
        first--;
    return (r->first_step ? r->first_step : 1) + (int64_t)(step - first);
}
