/* Hands what a trace contains to its format, with times since the trace's base. */
#include "report/trace/trace.h"

int64_t trace_since(const struct trace *c, int64_t ns)
{
    return ns > c->base_ns ? ns - c->base_ns : 0;
}

void trace_row(struct trace *c, int64_t pid, int64_t tid, enum lane_of kind, const char *name,
               int64_t sort)
{
    c->to->row(c->w, pid, tid, kind, name, sort);
}

void trace_slice(struct trace *c, const struct slice *s)
{
    c->slice = *s;
    c->slice.start_ns = trace_since(c, s->start_ns);
    c->slice.end_ns = trace_since(c, s->end_ns);
    if (c->slice.end_ns < c->slice.start_ns)
        c->slice.end_ns = c->slice.start_ns;
    c->to->slice(c->w, &c->slice);
}

void trace_slice_end(struct trace *c, const char *color)
{
    c->to->slice_end(c->w, &c->slice, color);
}

void trace_counter(struct trace *c, int64_t pid, int64_t at_ns, const char *name, const char *unit,
                   int64_t value)
{
    if (value >= 0)
        c->to->counter(c->w, pid, trace_since(c, at_ns), name, unit, value);
}

int trace_open(struct trace *c, const struct advice *a, const struct trace_format *to, void *w,
               bool merged)
{
    const struct timeline *t = a->facts->tl;
    *c = (struct trace){.to = to, .w = w, .a = a, .t = t};
    c->base_ns = t->start_ns < 0 ? t->start_ns : 0;
    return rows_open(&c->rows, t, a->facts->steps.process) || rows_align(&c->rows, a->facts) ||
                   trace_name_rows(c, merged)
               ? -1
               : 0;
}

int trace_write(struct trace *c)
{
    return trace_host(c) || trace_gpu(c) ? -1 : 0;
}

void trace_close(struct trace *c)
{
    rows_close(&c->rows);
    vec_release(&c->items);
    arena_release(&c->arena);
}
