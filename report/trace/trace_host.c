/* Host rows of a trace: steps; threads with their ranges, library calls and API calls;
 * data loading, which may overlap; the profiler's own cost. */
#include "report/trace/trace.h"

#include "analyzer/facts/recorded.h"
#include "report/words/text.h"
#include "wire/spool_format.h"

#include <string.h>

static int64_t pid_of_thread(const struct trace *c, size_t thread)
{
    uint32_t process = c->t->threads[thread].process;
    return process < c->t->process_count ? c->process_pid[process] : 2100000000;
}

static void write_shape(struct trace *c, const struct row_call *row)
{
    int64_t dim[12];
    size_t n = 0;
    for (int i = 0; i < 12; i++)
        if (row->dim[i] > 0)
            dim[n++] = row->dim[i];
    c->to->shape(c->w, "Input Dims", dim, n);
}

static void write_range_args(struct trace *c, const struct range *r)
{
    const char *domain = tl_text(c->t, r->domain), *shapes = tl_text(c->t, r->shapes);
    if (*domain)
        c->to->text(c->w, "domain", domain);
    if (*shapes)
        c->to->text(c->w, "shapes", shapes);
}

static void write_item(struct trace *c, const struct item *i, int64_t pid, int64_t tid)
{
    static const char *const cats[] = {"user_annotation", "cpu_op", "cuda_runtime"};
    const struct timeline *t = c->t;
    const struct api *api = i->kind == ITEM_API ? &t->apis[i->index] : NULL;
    const char *cat = api && api->layer ? "cuda_driver" : cats[i->kind];
    trace_slice(c, &(struct slice){.cat = cat,
                                   .name = tl_text(t, item_name(t, i)),
                                   .pid = pid,
                                   .tid = tid,
                                   .start_ns = i->start_ns,
                                   .end_ns = i->end_ns,
                                   .correlation = api ? (int64_t)i->index + 1 : 0,
                                   .launches = api && api->op != TL_NONE ? api->op + 1 : 0});
    if (api && api->caller)
        c->to->text(c->w, "called from", tl_text(t, api->caller));
    if (i->kind == ITEM_CALL)
        write_shape(c, &t->calls[i->index].row);
    else if (!api)
        write_range_args(c, &t->ranges[i->index]);
    trace_slice_end(c, NULL);
}

/* Names a thread that only has records of data loading. */
static void name_loader(struct trace *c, uint32_t i)
{
    struct text thread;
    for (size_t k = 0; k < c->t->loader_count; k++)
        if (timeline_thread_index(c->t, c->t->loaders[k].thread) == i) {
            trace_row(c, pid_of_thread(c, i), c->thread_tid[i], LANE_OF_THREAD,
                      text_thread(&thread, c->a, i), 10 + (int64_t)i);
            return;
        }
}

static int write_thread(struct trace *c, uint32_t i)
{
    int64_t pid = pid_of_thread(c, i);
    int named = -1;
    if (rows_thread(&c->rows, i, &c->items))
        return -1;
    for (size_t k = 0; k < c->items.n; k++) {
        const struct item *x = &c->items.at[k];
        int64_t tid = x->lane ? TID_HOST_LANE + 1000 * (int64_t)i + x->lane : c->thread_tid[i];
        if (x->lane > named) { /* lanes begin in ascending order */
            struct text thread;
            char name[sizeof thread.s + 32];
            text_thread(&thread, c->a, i);
            if (x->lane)
                snprintf(name, sizeof name, "%s, lane %d", thread.s, x->lane + 1);
            else
                snprintf(name, sizeof name, "%s", thread.s);
            trace_row(c, pid, tid, x->lane ? LANE_OF_NOTES : LANE_OF_THREAD, name, 10 + (int64_t)i);
            named = x->lane;
        }
        write_item(c, x, pid, tid);
    }
    if (named < 0)
        name_loader(c, i);
    return 0;
}

/* What lies between two windows and begins before `until_ns`, from stretch *i on: slices among the
 * steps, so that it does not look idle. */
static void write_unrecorded(struct trace *c, int64_t pid, size_t *i, int64_t until_ns)
{
    const struct facts *f = c->a->facts;
    for (; f->window_count && *i <= f->window_count; ++*i) {
        struct unrecorded u = recorded_gap(f, *i, c->t->start_ns, c->t->end_ns);
        char name[80] = "not recorded";
        if (u.to_ns <= u.from_ns)
            continue;
        if (u.from_ns > until_ns)
            return;
        if (u.first_step)
            snprintf(name, sizeof name, "not recorded: steps %lld to %lld", (long long)u.first_step,
                     (long long)u.last_step);
        trace_slice(c, &(struct slice){.cat = "gpuprof",
                                       .name = name,
                                       .pid = pid,
                                       .tid = TID_STEPS,
                                       .start_ns = u.from_ns,
                                       .end_ns = u.to_ns - 1});
        trace_slice_end(c, NULL);
    }
}

static void write_steps(struct trace *c)
{
    const struct steps *s = &c->a->facts->steps;
    if (s->count == 0 || s->source == STEPS_NONE || s->process >= c->t->process_count)
        return; /* the whole recording is not a step */
    int64_t pid = c->process_pid[s->process];
    size_t gap = 0;
    trace_row(c, pid, TID_STEPS, LANE_OF_NOTES, "steps", 1);
    for (size_t i = 0; i < s->count; i++) {
        char name[40];
        write_unrecorded(c, pid, &gap, s->at[i].start_ns);
        snprintf(name, sizeof name, "ProfilerStep#%lld",
                 (long long)facts_step_number(c->a->facts, i) - 1);
        trace_slice(c, &(struct slice){.cat = "user_annotation",
                                       .name = name,
                                       .pid = pid,
                                       .tid = TID_STEPS,
                                       .start_ns = s->at[i].start_ns,
                                       .end_ns = trace_step_end(s, i)});
        c->to->flag(c->w, "used", s->at[i].used != 0);
        trace_slice_end(c, NULL);
    }
    write_unrecorded(c, pid, &gap, INT64_MAX);
    trace_step_causes(c, pid);
}

static void write_loaders(struct trace *c)
{
    static const char *const names[] = {"wait for a batch", "make a batch", "collate", "pin",
                                        "start a loop",     "end a loop"};
    for (size_t i = 0; i < c->t->loader_count; i++) {
        const struct row_loader *l = &c->t->loaders[i];
        uint32_t thread = timeline_thread_index(c->t, l->thread);
        if (thread == TL_NONE || l->what < 0 || l->what > SPOOL_LOADER_END ||
            l->end_ns < l->start_ns)
            continue;
        int64_t pid = pid_of_thread(c, thread), tid = c->thread_tid[thread];
        int64_t ahead_ns = rows_ahead(&c->rows, c->t->threads[thread].process);
        c->to->span(c->w, (int64_t)i + 1,
                    &(struct slice){.cat = "data_loading",
                                    .name = names[l->what],
                                    .pid = pid,
                                    .tid = tid,
                                    .start_ns = trace_since(c, l->start_ns - ahead_ns),
                                    .end_ns = trace_since(c, l->end_ns - ahead_ns)},
                    l->batch);
    }
}

static void write_process_names(struct trace *c)
{
    for (size_t i = 0; i < c->t->process_count; i++) {
        const struct row_process *p = &c->t->processes[i];
        char name[256], rank[32] = "";
        const char *command = tl_text(c->t, p->command);
        if (p->rank >= 0)
            snprintf(rank, sizeof rank, "rank %lld, ", (long long)p->rank);
        snprintf(name, sizeof name, "%sprocess %lld%s%.150s", rank, (long long)p->pid,
                 *command ? ": " : "", command);
        c->to->process(c->w, c->process_pid[i], false, name, p->rank >= 0 ? p->rank : (int64_t)i);
    }
}

int trace_host(struct trace *c)
{
    uint32_t main = c->a->facts->steps.process;
    write_process_names(c);
    if (main < c->t->process_count && trace_findings(c, c->process_pid[main]))
        return -1;
    write_steps(c);
    for (uint32_t i = 0; i < c->t->thread_count; i++)
        if (write_thread(c, i))
            return -1;
    write_loaders(c);
    return 0;
}
