/* Turns records of launch lines, and of memory with the line that asked for it, into rows. Each line
 * is a row of `stack`, once per process and module; its caller, a row without a file, is the module
 * that it runs in. A stretch without an end, from a process that was killed, lasts until the
 * process' last record. */
#include "analyzer/collector/spool/spool.h"

#include "base/keymap.h"

static int64_t stack_row(struct spool *s, struct spool_out *out, int64_t caller, uint32_t file,
                         uint32_t function, int32_t line)
{
    struct key key = {{file, function, line, caller}};
    uint32_t known = keymap_get(&s->lines, key);
    if (known != KEYMAP_NONE)
        return known;
    struct row_stack row = {.id = ++out->ids[ROW_STACK],
                            .caller = caller,
                            .file = file ? spool_string(s, out, file) : 0,
                            .function = spool_string(s, out, function),
                            .line = line > 0 ? line : 0};
    char path[4096];
    spool_copy_string(s, file, path, sizeof path);
    row.source = spool_source(out, path, row.line);
    spool_put(out, ROW_STACK, &row);
    keymap_put(&s->lines, key, (uint32_t)row.id); /* if out of memory, the line
                                                     gets another row next time */
    return row.id;
}

static void put_stretch(struct spool *s, struct spool_out *out, uint32_t stretch, int64_t start_ns,
                        int64_t end_ns)
{
    struct row_launch_line row = {.id = ++out->ids[ROW_LAUNCH_LINE],
                                  .process = s->process,
                                  .thread = -1,
                                  .start_ns = start_ns,
                                  .end_ns = end_ns,
                                  .stretch = stretch,
                                  .what = SPOOL_LINE_STRETCH};
    spool_put(out, ROW_LAUNCH_LINE, &row);
}

void spool_add_line(struct spool *s, struct spool_out *out, const struct spool_rec_line *r)
{
    int64_t start_ns = spool_time(s, r->head.start_ns);
    if (r->what >= SPOOL_LINES) {
        s->lost.bad_records++;
        return;
    }
    if (r->what == SPOOL_LINE_STRETCH) {
        put_stretch(s, out, r->stretch, start_ns, spool_time(s, r->head.end_ns));
        s->stretches_ended = r->stretch;
        s->stretch = 0;
        return;
    }
    /* a stretch begins with its first line; the record of the stretch itself comes at its end */
    if (s->stretch != r->stretch && r->stretch > s->stretches_ended) {
        s->stretch = r->stretch;
        s->stretch_ns = start_ns;
    }
    if (!spool_in_window(out, start_ns, false))
        return;
    int64_t module = r->file && r->module ? stack_row(s, out, 0, 0, r->module, 0) : 0;
    struct row_launch_line row = {
        .id = ++out->ids[ROW_LAUNCH_LINE],
        .process = s->process,
        .thread = spool_thread_id(s, out, r->head.tid),
        .start_ns = start_ns,
        .end_ns = -1,
        .stretch = r->stretch,
        .what = r->what,
        .stack = r->file ? stack_row(s, out, module, r->file, r->function, r->line) : 0};
    spool_put(out, ROW_LAUNCH_LINE, &row);
}

void spool_add_piece(struct spool *s, struct spool_out *out, const struct spool_rec_piece *r)
{
    int64_t time_ns = spool_time(s, r->head.start_ns);
    if (r->bytes == 0 || !spool_in_window(out, time_ns, false))
        return;
    struct row_allocation row = {
        .id = ++out->ids[ROW_ALLOCATION],
        .device = spool_device_id(s, out, r->device),
        .thread = spool_thread_id(s, out, r->head.tid),
        .time_ns = time_ns,
        .bytes = r->bytes,
        .address = r->address,
        .in_use_bytes = r->in_use,
        .held_bytes = r->held,
        .stack = r->file ? stack_row(s, out, 0, r->file, r->function, r->line) : 0};
    spool_put(out, ROW_ALLOCATION, &row);
}

void spool_put_stretch_end(struct spool *s, struct spool_out *out)
{
    if (s->stretch && s->newest_ns > s->stretch_ns)
        put_stretch(s, out, s->stretch, s->stretch_ns, s->newest_ns);
    s->stretch = 0;
}
