/* Host rows of the Chrome trace: steps; threads with their ranges, library calls and API calls;
 * data loading, which may overlap; the profiler's own cost. */
#include "report/chrome/chrome.h"

#include "report/words/text.h"
#include "wire/spool_format.h"

#include <string.h>

static int64_t pid_of_thread(const struct chrome *c, size_t thread)
{
    uint32_t process = c->t->threads[thread].process;
    return process < c->t->process_count ? c->process_pid[process] : 2100000000;
}

static void write_shape(struct chrome *c, const struct row_call *row)
{
    json_begin(&c->j, "Input Dims", '[');
    json_begin(&c->j, NULL, '[');
    for (int i = 0; i < 12; i++)
        if (row->dim[i] > 0)
            json_int(&c->j, NULL, row->dim[i]);
    json_end(&c->j, ']');
    json_end(&c->j, ']');
}

static void write_range_args(struct chrome *c, const struct range *r)
{
    const char *domain = tl_text(c->t, r->domain), *shapes = tl_text(c->t, r->shapes);
    if (*domain)
        json_str(&c->j, "domain", domain);
    if (*shapes)
        json_str(&c->j, "shapes", shapes);
}

static void write_item(struct chrome *c, const struct item *i, int64_t pid, int64_t tid)
{
    static const char *const cats[] = {"user_annotation", "cpu_op", "cuda_runtime"};
    const struct timeline *t = c->t;
    const struct api *api = i->kind == ITEM_API ? &t->apis[i->index] : NULL;
    const char *cat = api && api->layer ? "cuda_driver" : cats[i->kind];
    chrome_slice(c, cat, tl_text(t, item_name(t, i)), pid, tid, i->start_ns, i->end_ns);
    if (api)
        json_int(&c->j, "correlation", (int64_t)i->index + 1);
    if (api && api->caller)
        json_str(&c->j, "called from", tl_text(t, api->caller));
    if (i->kind == ITEM_CALL)
        write_shape(c, &t->calls[i->index].row);
    else if (!api)
        write_range_args(c, &t->ranges[i->index]);
    chrome_slice_end(c);
    if (api && api->op != TL_NONE)
        chrome_flow(c, false, (int64_t)i->index + 1, pid, tid, i->start_ns);
}

/* Names a thread that only has records of data loading. */
static void name_loader(struct chrome *c, uint32_t i)
{
    struct text thread;
    for (size_t k = 0; k < c->t->loader_count; k++)
        if (timeline_thread_index(c->t, c->t->loaders[k].thread) == i) {
            chrome_thread(c, pid_of_thread(c, i), c->thread_tid[i], text_thread(&thread, c->a, i),
                          10 + (int64_t)i);
            return;
        }
}

static int write_thread(struct chrome *c, uint32_t i)
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
            char name[224];
            text_thread(&thread, c->a, i);
            if (x->lane)
                snprintf(name, sizeof name, "%s, lane %d", thread.s, x->lane + 1);
            else
                snprintf(name, sizeof name, "%s", thread.s);
            chrome_thread(c, pid, tid, name, 10 + (int64_t)i);
            named = x->lane;
        }
        write_item(c, x, pid, tid);
    }
    if (named < 0)
        name_loader(c, i);
    return 0;
}

static void write_steps(struct chrome *c)
{
    const struct steps *s = &c->a->facts->steps;
    if (s->count == 0 || s->source == STEPS_NONE || s->process >= c->t->process_count)
        return; /* the whole recording is not a step */
    int64_t pid = c->process_pid[s->process];
    chrome_thread(c, pid, TID_STEPS, "steps", 1);
    for (size_t i = 0; i < s->count; i++) {
        char name[40];
        snprintf(name, sizeof name, "ProfilerStep#%zu", i);
        chrome_slice(c, "user_annotation", name, pid, TID_STEPS, s->at[i].start_ns,
                     chrome_step_end(s, i));
        json_bool(&c->j, "used", s->at[i].used != 0);
        chrome_slice_end(c);
    }
    chrome_step_causes(c, pid);
}

static void write_async(struct chrome *c, const char *ph, size_t i, const char *name, int64_t pid,
                        int64_t tid, int64_t at_ns)
{
    struct json *j = &c->j;
    json_newline(j);
    json_begin(j, NULL, '{');
    json_str(j, "ph", ph);
    json_str(j, "cat", "data_loading");
    json_str(j, "name", name);
    json_int(j, "id", (int64_t)i + 1);
    json_int(j, "pid", pid);
    json_int(j, "tid", tid);
    json_us(j, "ts", at_ns > c->base_ns ? at_ns - c->base_ns : 0);
    json_begin(j, "args", '{');
    if (*ph == 'b')
        json_int(j, "loader", c->t->loaders[i].batch);
    json_end(j, '}');
    json_end(j, '}');
}

static void write_loaders(struct chrome *c)
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
        write_async(c, "b", i, names[l->what], pid, tid, l->start_ns - ahead_ns);
        write_async(c, "e", i, names[l->what], pid, tid, l->end_ns - ahead_ns);
    }
}

static void write_process_names(struct chrome *c)
{
    for (size_t i = 0; i < c->t->process_count; i++) {
        const struct row_process *p = &c->t->processes[i];
        char name[256], rank[32] = "";
        const char *command = tl_text(c->t, p->command);
        if (p->rank >= 0)
            snprintf(rank, sizeof rank, "rank %lld, ", (long long)p->rank);
        snprintf(name, sizeof name, "%sprocess %lld%s%.150s", rank, (long long)p->pid,
                 *command ? ": " : "", command);
        chrome_process(c, c->process_pid[i], name, p->rank >= 0 ? p->rank : (int64_t)i);
    }
}

int chrome_host(struct chrome *c)
{
    uint32_t main = c->a->facts->steps.process;
    write_process_names(c);
    if (main < c->t->process_count && chrome_findings(c, c->process_pid[main]))
        return -1;
    write_steps(c);
    for (uint32_t i = 0; i < c->t->thread_count; i++)
        if (write_thread(c, i))
            return -1;
    write_loaders(c);
    return 0;
}
