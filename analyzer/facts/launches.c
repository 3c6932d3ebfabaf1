/* Counts launches in used steps whose GPU record is missing, because another client of CUPTI
 * turned kernel records off or because they were lost. Gaps in such steps cannot be trusted.
 * Calls on a stream that is being captured launch nothing, so steps with a capture are left
 * out. Only gpuprof's own recordings are checked so: other traces may begin and end at any
 * moment, and of these the launches at their end are counted that the GPU had not run when the
 * profiler stopped. Launches that returned an error leave no GPU record; calls_failed counts them. Cost:
 * one pass over the calls. */
#include "analyzer/facts/passes.h"

#include <stdlib.h>
#include <string.h>

struct tally {
    size_t launches, lost;
    bool capture;
};

static void add_thread(const struct timeline *t, const struct thread *th, const struct step *s,
                       const bool *captures, struct tally *sum)
{
    uint32_t i = timeline_api_from(t, th, s->start_ns), end = th->first_api + th->apis;
    for (; i < end && t->apis[i].start_ns < s->end_ns; i++) {
        const struct api *x = &t->apis[i];
        sum->capture |= captures[x->name];
        if (x->kind != API_LAUNCH || x->layer != 0 || x->error)
            continue;
        sum->launches++;
        sum->lost += x->ops == 0;
    }
}

/* Counts the calls that launch and those of them that failed, in the whole recording. */
static void count_failed(struct facts *f)
{
    struct health_facts *h = &f->health;
    for (size_t i = 0; i < f->tl->api_count; i++) {
        const struct api *x = &f->tl->apis[i];
        if (x->kind != API_LAUNCH)
            continue;
        h->calls_to_launch++;
        h->calls_failed += x->error != 0;
        if (!h->first_error)
            h->first_error = x->error;
    }
}

static bool of_steps(const struct facts *f, const struct api *x)
{
    return f->tl->threads[x->thread].process == f->steps.process;
}

/* Counts the launches, and those behind the last one whose GPU record is there: a profiler that
 * stops while the GPU still has work in its queue writes the calls without their kernels. A capture
 * among them launches nothing, so then nothing is counted. */
static void count_unrun(struct facts *f, const bool *captures)
{
    const struct timeline *t = f->tl;
    int64_t last = INT64_MIN;
    size_t made = 0, unrun = 0;
    for (size_t i = 0; i < t->api_count; i++)
        if (t->apis[i].ops && t->apis[i].start_ns > last && of_steps(f, &t->apis[i]))
            last = t->apis[i].start_ns;
    for (size_t i = 0; i < t->api_count; i++) {
        const struct api *x = &t->apis[i];
        if (!of_steps(f, x))
            continue;
        if (captures[x->name] && x->end_ns > last)
            return;
        bool launch = x->kind == API_LAUNCH && x->layer == 0 && !x->error;
        made += launch;
        unrun += launch && !x->ops && x->start_ns > last;
    }
    f->health.launches_made = made;
    f->health.launches_unrun = unrun;
}

static void count_lost(struct facts *f, const bool *captures)
{
    const struct timeline *t = f->tl;
    for (size_t i = 0; i < f->steps.count; i++) {
        struct tally sum = {0};
        if (!f->steps.at[i].used)
            continue;
        for (size_t k = 0; k < t->thread_count; k++)
            if (t->threads[k].process == f->steps.process)
                add_thread(t, &t->threads[k], &f->steps.at[i], captures, &sum);
        if (sum.capture)
            continue;
        f->health.launches += sum.launches;
        f->health.launches_lost += sum.lost;
    }
}

void launches_measure(struct facts *f)
{
    const struct timeline *t = f->tl;
    const char *source = timeline_meta(t, "source");
    bool *captures = calloc((size_t)t->strings.n + 1, sizeof *captures);
    count_failed(f);
    for (uint32_t i = 0; captures && i < t->strings.n; i++)
        captures[i] = strstr(tl_text(t, i), "BeginCapture") != NULL;
    if (captures && source && strcmp(source, "run") == 0)
        count_lost(f, captures);
    else if (captures)
        count_unrun(f, captures);
    free(captures);
}
