/* Finds how long each step takes: at the pace of the slower side. A host that runs ahead finishes a
 * step long before the GPU does. So a step with GPU work lasts, on the GPU, from the end of the
 * work launched before it to the end of the work that it launched. These times follow each other
 * without gaps: where the host sets the pace, a step takes as long on the GPU as on the host.
 * Without GPU work the step's time on the host counts.
 *
 *   launch time of each operation -> the step that it belongs to -> that step's end on the GPU
 *   everything launched before a step began -> where its time begins
 *
 * If no work was recorded before a step, its length is unknown and the step is not used. If no
 * length is known at all, the step's time on the host or on the GPU stands in, whichever is longer.
 * Cost: one pass over the operations. */
#include "analyzer/facts/steps/steps.h"
#include "analyzer/facts/limits.h"
#include "analyzer/measure/launched.h"

#include <stdlib.h>

struct work { /* the work of one step on the analysed device; times may be negative */
    int64_t first_ns, last_ns;
    int64_t before_ns; /* end of all work launched before the step began, or NONE */
    bool any;          /* the step has work: first_ns and last_ns are valid */
    bool launched;     /* the calls that launched the work were recorded */
};
#define NONE INT64_MIN

static int64_t host_length(const struct step *s)
{
    return s->end_ns - s->start_ns;
}

static void on_host(struct step *s)
{
    s->from_ns = s->start_ns;
    s->to_ns = s->end_ns;
    s->length_ns = host_length(s);
}

static void note_work(struct work *w, const struct op *o)
{
    bool launched = o->api != TL_NONE;
    if (launched && !w->launched) /* work of unknown launch may belong to another step: use it
                                     only if there is no other */
        *w = (struct work){.before_ns = w->before_ns, .launched = true};
    if (w->launched && !launched)
        return;
    w->first_ns = w->any && w->first_ns < o->start_ns ? w->first_ns : o->start_ns;
    w->last_ns = w->any && w->last_ns > o->end_ns ? w->last_ns : o->end_ns;
    w->any = true;
}

/* Index of the first step that begins after `ns`. */
static size_t step_behind(const struct steps *s, int64_t ns)
{
    size_t low = 0, high = s->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->at[mid].start_ns <= ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Fills w[], and returns how many steps have work on the device. Leaves out streams marked in
 * `aside`: copies that a loader's thread makes meanwhile do not end a step. */
static size_t find_work(const struct facts *f, struct work *w, const bool *aside)
{
    const struct timeline *t = f->tl;
    const struct steps *s = &f->steps;
    size_t n = 0;
    for (uint32_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (tl_op_device(t, i) != s->device || t->streams[o->stream].process != s->process ||
            aside[o->stream])
            continue;
        struct work *next = &w[step_behind(s, s->launch_ns[i])];
        next->before_ns = o->end_ns > next->before_ns ? o->end_ns : next->before_ns;
        if (s->op_step[i] != TL_NONE)
            note_work(&w[s->op_step[i]], o);
    }
    for (size_t i = 1; i < s->count; i++)
        w[i].before_ns = w[i].before_ns > w[i - 1].before_ns ? w[i].before_ns : w[i - 1].before_ns;
    for (size_t i = 0; i < s->count; i++)
        n += w[i].any;
    return n;
}

/* True if step i follows the one before it without a pause, and both lie in the same window. */
static bool follows(const struct facts *f, size_t i)
{
    const struct step *s = &f->steps.at[i];
    return i > 0 && llabs(s->start_ns - s[-1].end_ns) * FACTS_FOLLOWS <= host_length(&s[-1]) &&
           recorded_at(f, s->start_ns) == recorded_at(f, s[-1].start_ns);
}

/* Places a step whose beginning on the GPU is not known: its length is its time on the host or
 * on the GPU, whichever is longer. If no step with work follows, the host's time after the last
 * GPU work belongs to it. */
static void estimate(struct step *s, const struct work *w, bool followed)
{
    int64_t on_gpu = w->any ? w->last_ns - w->first_ns : 0;
    s->length_ns = on_gpu > host_length(s) ? on_gpu : host_length(s);
    s->to_ns = w->any && (followed || w->last_ns > s->end_ns) ? w->last_ns : s->end_ns;
    s->from_ns = s->to_ns - s->length_ns;
    if (s->from_ns < s->start_ns)
        s->from_ns = s->start_ns;
}

/* Sets from_ns, to_ns and length_ns of step i from the GPU's work. */
static void on_gpu(struct facts *f, size_t i, const struct work *w)
{
    struct step *s = &f->steps.at[i];
    int64_t least = i ? s[-1].to_ns : INT64_MIN;
    bool known = w->before_ns != NONE && (follows(f, i) || w->before_ns > s->start_ns);
    bool followed = i + 1 < f->steps.count && follows(f, i + 1);
    if (known) {
        s->from_ns = w->before_ns;
        s->to_ns = followed ? w[1].before_ns : w->any ? w->last_ns : s->end_ns;
    } else {
        estimate(s, w, followed && w[1].any);
    }
    s->from_ns = s->from_ns > least ? s->from_ns : least;
    s->to_ns = s->to_ns > s->from_ns ? s->to_ns : s->from_ns;
    s->length_ns = known ? s->to_ns - s->from_ns : s->length_ns;
    s->estimated = !known;
    s->used &= w->any; /* the pace of the loop is that of steps with work */
}

/* Uses the last marked step if all its work was recorded. Where marks leave pauses between them,
 * its end on the host is cut off, but the GPU's times are complete. A detected last step may hold
 * other work with the same number of operations, so it stays unused. */
static void keep_last(struct steps *s)
{
    bool marked = s->source != STEPS_DETECTED;
    struct step *last = marked && s->count > 1 ? &s->at[s->count - 1] : NULL;
    if (last && !last->used && last->ops && last->ops == last[-1].ops && last[-1].used)
        last->used = 1;
}

/* Stops using steps with an estimated beginning if any step has a known one: they lack what
 * happened at their beginning, so their parts cannot be added to those of whole steps. */
static void settle_unknown(struct steps *s)
{
    size_t known = 0;
    for (size_t i = 0; i < s->count; i++)
        known += s->at[i].used && !s->at[i].estimated;
    for (size_t i = 0; known && i < s->count; i++)
        if (s->at[i].estimated) {
            s->at[i].used = 0;
            s->at[i].length_ns = 0;
        }
}

int steps_lengths(struct facts *f)
{
    struct steps *s = &f->steps;
    for (size_t i = 0; i < s->count; i++)
        on_host(&s->at[i]);
    if (s->source == STEPS_NONE || f->tl->op_count == 0)
        return 0;
    struct work *w = calloc(s->count + 1, sizeof *w);
    bool *aside = launched_aside(f->tl);
    if (!w || !aside) {
        free(w);
        free(aside);
        return -1;
    }
    for (size_t i = 0; i <= s->count; i++)
        w[i].before_ns = NONE;
    s->on_gpu = find_work(f, w, aside) * 2 >= s->count;
    for (size_t i = 0; s->on_gpu && i < s->count; i++)
        on_gpu(f, i, &w[i]);
    if (s->on_gpu) {
        keep_last(s);
        settle_unknown(s);
    }
    free(aside);
    free(w);
    return 0;
}
