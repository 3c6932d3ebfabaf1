/* Calls of certain functions tell what the hook of gpuprof's own recordings tells: facts, loops over
 * a loader that start its workers, and the number of these. */
#include "analyzer/import/kineto/kineto.h"

#include "base/str.h"
#include "wire/fact_keys.h"
#include "wire/python_owner.h"
#include "wire/spool_format.h"

#include <stdio.h>
#include <string.h>

#define PUT(kind, row) k->out->put(k->out->self, kind, &(row), k->e)

/* Puts a meta row; value: string id, 0 = put nothing. */
static int put_fact(struct kineto *k, const char *key, uint32_t value)
{
    struct row_meta row = {.process = kineto_at(k), .value = value};
    if (value == 0)
        return 0;
    row.id = ++k->ids[ROW_META];
    row.key = k->out->intern(k->out->self, key, strlen(key));
    if (row.key == STR_NONE || value == STR_NONE)
        return err_set(k->e, "out of memory");
    return PUT(ROW_META, row);
}

/* String id of the user's innermost place among the open calls, "train.py:12"; 0: none is open;
 * STR_NONE: out of memory. A call that is older than the trace may have no line. */
static uint32_t user_place(struct kineto *k, const struct kineto_calls *c)
{
    char text[KINETO_FILE_NAME + 24];
    for (size_t i = c->open.n; i-- > 0;) {
        const struct kineto_call *by = &c->open.at[i];
        const struct kineto_frame *f = &k->frames.at.at[by->frame];
        if (!f->name[0])
            continue;
        if (by->line == 0)
            return f->file;
        int n = snprintf(text, sizeof text, "%s:%lld", f->name, (long long)by->line);
        return k->out->intern(k->out->self, text, (size_t)n);
    }
    return 0;
}

/* Puts the fact that this call is evidence of, once per fact. Not inside a
 * function that traces a graph. */
static int note_sign(struct kineto *k, const struct kineto_calls *c, uint32_t frame)
{
    struct kineto_frames *fs = &k->frames;
    const struct kineto_frame *f = &fs->at.at[frame];
    const struct kineto_call *top = c->open.n ? &c->open.at[c->open.n - 1] : NULL;
    if (!f->sign || fs->signs[f->sign - 1] || (top && fs->at.at[top->frame].traces))
        return 0;
    const struct kineto_sign *s = &kineto_signs[f->sign - 1];
    uint32_t value = s->value ? k->out->intern(k->out->self, s->value, strlen(s->value)) : 0;
    if (!s->value)
        value = user_place(k, c);
    if (value == STR_NONE)
        return err_set(k->e, "out of memory");
    fs->signs[f->sign - 1] = value;
    return put_fact(k, s->key, value);
}

/* ---- workers of loaders ---- */

/* Puts the row of a loop's begin, or of the end of its workers. As with the hook, a loop counts as
 * starting workers when its first worker starts. */
static int note_workers(struct kineto *k, struct kineto_calls *c, const struct kineto_frame *f,
                        int64_t start_ns, int64_t end_ns)
{
    struct row_loader row = {.process = kineto_at(k),
                             .thread = c - k->frames.threads.at + 1,
                             .start_ns = start_ns,
                             .end_ns = end_ns,
                             .what =
                                 f->starts == KINETO_STOPS ? SPOOL_LOADER_END : SPOOL_LOADER_BEGIN,
                             .worker = -1,
                             .batch = -1,
                             .cpu_ns = -1};
    if (f->starts == KINETO_STARTS) {
        c->begin = row;
        c->launched = 0;
        return 0;
    }
    if (f->starts == KINETO_LAUNCHES && start_ns >= c->begin.end_ns)
        return 0;
    if (f->starts == KINETO_LAUNCHES) {
        if (++c->launched > k->frames.workers) {
            k->frames.workers = c->launched;
            k->frames.loop = user_place(k, c);
        }
        if (c->begin.id)
            return 0;
        row = c->begin;
        c->begin.id = 1;
    }
    row.id = ++k->ids[ROW_LOADER];
    return PUT(ROW_LOADER, row);
}

int kineto_tells(struct kineto *k, struct kineto_calls *c, uint32_t frame, int64_t start_ns,
                 int64_t end_ns)
{
    const struct kineto_frame *f = &k->frames.at.at[frame];
    return note_sign(k, c, frame) < 0 || (f->starts && note_workers(k, c, f, start_ns, end_ns) < 0)
               ? -1
               : 0;
}

/* Puts the loader's settings in the form in which the hook records its first loader. */
int kineto_tells_end(struct kineto *k)
{
    char text[64];
    int n =
        snprintf(text, sizeof text, "DataLoader(num_workers=%lld)", (long long)k->frames.workers);
    if (k->frames.workers == 0)
        return 0;
    return put_fact(k, FACT_TORCH_LOADER, k->out->intern(k->out->self, text, (size_t)n)) < 0
               ? -1
               : put_fact(k, FACT_TORCH_LOADER "." FACT_LOADER_WHERE, k->frames.loop);
}

int kineto_tells_again(struct kineto *k, size_t times, size_t pct, uint32_t line)
{
    char text[KINETO_FILE_NAME + 96];
    const struct kineto_owners *o = line ? &k->frames.owners.at[line - 1] : NULL;
    const char *file = o ? k->frames.at.at[o->frame].name : "";
    int n = snprintf(text, sizeof text, "%zu passes, %zu %%", times, pct);
    if (*file && o->line > 0)
        n += snprintf(text + n, sizeof text - (size_t)n, " at %s:%lld", file, (long long)o->line);
    return put_fact(k, FACT_TORCH_BACKWARD_AGAIN, k->out->intern(k->out->self, text, (size_t)n));
}
