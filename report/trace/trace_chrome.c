/* Writes what a trace contains as events of the Chrome trace. */
#include "report/trace/trace_chrome.h"

#include "report/json/json_write.h"

static void event(struct json *j, const char *ph, const char *name, int64_t pid, int64_t tid)
{
    json_newline(j);
    json_begin(j, NULL, '{');
    json_str(j, "ph", ph);
    json_str(j, "name", name);
    json_int(j, "pid", pid);
    json_int(j, "tid", tid);
}

static void metadata(struct json *j, const char *what, int64_t pid, int64_t tid, const char *name,
                     int64_t sort)
{
    event(j, "M", what, pid, tid);
    json_us(j, "ts", 0);
    json_begin(j, "args", '{');
    if (name)
        json_str(j, "name", name);
    else
        json_int(j, "sort_index", sort);
    json_end(j, '}');
    json_end(j, '}');
}

static void write_process(void *w, int64_t pid, bool is_gpu, const char *name, int64_t sort)
{
    (void)is_gpu;
    metadata(w, "process_name", pid, 0, name, 0);
    metadata(w, "process_sort_index", pid, 0, NULL, sort);
}

static void write_row(void *w, int64_t pid, int64_t tid, enum lane_of kind, const char *name,
                      int64_t sort)
{
    (void)kind;
    metadata(w, "thread_name", pid, tid, name, 0);
    metadata(w, "thread_sort_index", pid, tid, NULL, sort);
}

static void three(struct json *j, const char *key, uint32_t x, uint32_t y, uint32_t z)
{
    json_begin(j, key, '[');
    json_int(j, NULL, x);
    json_int(j, NULL, y);
    json_int(j, NULL, z);
    json_end(j, ']');
}

static void write_slice(void *w, const struct slice *s)
{
    struct json *j = w;
    event(j, "X", s->name, s->pid, s->tid);
    json_str(j, "cat", s->cat);
    json_us(j, "ts", s->start_ns);
    json_us(j, "dur", s->end_ns - s->start_ns);
    json_begin(j, "args", '{');
    if (s->op) {
        json_int(j, "device", s->device);
        json_int(j, "context", s->context);
        json_int(j, "stream", s->stream);
    }
    if (s->correlation)
        json_int(j, "correlation", s->correlation);
    if (s->op && s->op->kind == OP_KERNEL) {
        three(j, "grid", s->op->grid[0], s->op->grid[1], s->op->grid[2]);
        three(j, "block", s->op->block[0], s->op->block[1], s->op->block[2]);
    }
}

static void write_integer(void *w, const char *key, int64_t v)
{
    json_int(w, key, v);
}

static void write_real(void *w, const char *key, double v, int decimals)
{
    json_num(w, key, v, decimals);
}

static void write_ms(void *w, const char *key, int64_t ns)
{
    json_ms(w, key, ns);
}

static void write_text(void *w, const char *key, const char *v)
{
    json_str(w, key, v);
}

static void write_flag(void *w, const char *key, bool v)
{
    json_bool(w, key, v);
}

static void write_shape(void *w, const char *key, const int64_t *dim, size_t n)
{
    json_begin(w, key, '[');
    json_begin(w, NULL, '[');
    for (size_t i = 0; i < n; i++)
        json_int(w, NULL, dim[i]);
    json_end(w, ']');
    json_end(w, ']');
}

static void write_flow(struct json *j, const struct slice *s, bool finish)
{
    event(j, finish ? "f" : "s", "ac2g", s->pid, s->tid);
    json_str(j, "cat", "ac2g");
    json_int(j, "id", s->correlation);
    if (finish)
        /* Binds the arrow to the slice around this moment, not to the next one. */
        json_str(j, "bp", "e");
    json_us(j, "ts", s->start_ns);
    json_end(j, '}');
}

static void write_slice_end(void *w, const struct slice *s, const char *color)
{
    json_end(w, '}');
    if (color)
        json_str(w, "cname", color);
    json_end(w, '}');
    if (s->launches || s->bound)
        write_flow(w, s, s->bound);
}

static void write_counter(void *w, int64_t pid, int64_t at_ns, const char *name, const char *unit,
                          int64_t value)
{
    struct json *j = w;
    json_newline(j);
    json_begin(j, NULL, '{');
    json_str(j, "ph", "C");
    json_str(j, "cat", "gpu_sample");
    json_str(j, "name", name);
    json_int(j, "pid", pid);
    json_int(j, "tid", 0);
    json_us(j, "ts", at_ns);
    json_begin(j, "args", '{');
    json_int(j, unit, value);
    json_end(j, '}');
    json_end(j, '}');
}

static void write_async(struct json *j, const char *ph, int64_t id, const struct slice *s,
                        int64_t loader)
{
    bool begins = *ph == 'b';
    json_newline(j);
    json_begin(j, NULL, '{');
    json_str(j, "ph", ph);
    json_str(j, "cat", s->cat);
    json_str(j, "name", s->name);
    json_int(j, "id", id);
    json_int(j, "pid", s->pid);
    json_int(j, "tid", s->tid);
    json_us(j, "ts", begins ? s->start_ns : s->end_ns);
    json_begin(j, "args", '{');
    if (begins)
        json_int(j, "loader", loader);
    json_end(j, '}');
    json_end(j, '}');
}

static void write_span(void *w, int64_t id, const struct slice *s, int64_t loader)
{
    write_async(w, "b", id, s, loader);
    write_async(w, "e", id, s, loader);
}

const struct trace_format trace_chrome = {
    .process = write_process,
    .row = write_row,
    .slice = write_slice,
    .integer = write_integer,
    .real = write_real,
    .ms = write_ms,
    .text = write_text,
    .flag = write_flag,
    .shape = write_shape,
    .slice_end = write_slice_end,
    .counter = write_counter,
    .span = write_span,
};
