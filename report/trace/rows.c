/* Makes the rows of a timeline: the items of each, in drawing order, with lanes (rows.h). */
#include "report/trace/rows.h"

#include "report/trace/lanes.h"

#include <stdlib.h>
#include <string.h>

static void sort_ops(struct rows *r)
{
    const struct timeline *t = r->t;
    uint32_t *first = r->stream_first;
    for (size_t i = 0; i < t->op_count; i++)
        first[t->ops[i].stream + 1]++;
    for (size_t s = 0; s < t->stream_count; s++)
        first[s + 1] += first[s];
    for (size_t i = 0; i < t->op_count; i++) /* first[s] moves to the end of stream s ... */
        r->ops[first[t->ops[i].stream]++] = (uint32_t)i;
    for (size_t s = t->stream_count; s > 0; s--) /* ... and back */
        first[s] = first[s - 1];
    first[0] = 0;
}

/* The row of a sync: its stream, or the one behind the last stream if it names none. */
static size_t sync_row(const struct timeline *t, size_t i)
{
    return t->syncs[i].stream < t->stream_count ? t->syncs[i].stream : t->stream_count;
}

static void sort_syncs(struct rows *r)
{
    const struct timeline *t = r->t;
    uint32_t *first = r->sync_first;
    for (size_t i = 0; i < t->sync_count; i++)
        first[sync_row(t, i) + 1]++;
    for (size_t s = 0; s <= t->stream_count; s++)
        first[s + 1] += first[s];
    for (size_t i = 0; i < t->sync_count; i++)
        r->syncs[first[sync_row(t, i)]++] = (uint32_t)i;
    for (size_t s = t->stream_count + 1; s > 0; s--)
        first[s] = first[s - 1];
    first[0] = 0;
}

int rows_open(struct rows *r, const struct timeline *t, uint32_t steps_of)
{
    *r = (struct rows){.t = t, .steps_of = steps_of};
    r->ops = malloc((t->op_count + 1) * sizeof *r->ops);
    r->stream_first = calloc(t->stream_count + 2, sizeof *r->stream_first);
    r->call_first = calloc(t->thread_count + 2, sizeof *r->call_first);
    r->syncs = malloc((t->sync_count + 1) * sizeof *r->syncs);
    r->sync_first = calloc(t->stream_count + 2, sizeof *r->sync_first);
    if (!r->ops || !r->stream_first || !r->call_first || !r->syncs || !r->sync_first) {
        rows_close(r);
        return -1;
    }
    sort_ops(r);
    sort_syncs(r);
    for (size_t i = 0; i < t->call_count; i++)
        r->call_first[t->calls[i].thread + 1]++;
    for (size_t i = 0; i < t->thread_count; i++)
        r->call_first[i + 1] += r->call_first[i];
    return 0;
}

void rows_close(struct rows *r)
{
    free(r->ops);
    free(r->stream_first);
    free(r->call_first);
    free(r->syncs);
    free(r->sync_first);
    free(r->ahead_ns);
    *r = (struct rows){0};
}

int rows_align(struct rows *r, const struct facts *f)
{
    int64_t own_ns = 0;
    r->ahead_ns = calloc(r->t->process_count + 1, sizeof *r->ahead_ns);
    if (!r->ahead_ns)
        return -1;
    for (size_t i = 0; i < f->ranks.count; i++)
        if (f->ranks.at[i].process == r->steps_of)
            own_ns = f->ranks.at[i].offset_ns;
    for (size_t i = 0; i < f->ranks.count; i++)
        r->ahead_ns[f->ranks.at[i].process] = f->ranks.at[i].offset_ns - own_ns;
    return 0;
}

int64_t rows_ahead(const struct rows *r, uint32_t process)
{
    return r->ahead_ns && process < r->t->process_count ? r->ahead_ns[process] : 0;
}

/* Converts times to the clock of the steps. */
static void align(const struct rows *r, uint32_t process, struct items *v)
{
    int64_t ahead_ns = rows_ahead(r, process);
    for (size_t i = 0; i < v->n && ahead_ns; i++) {
        v->at[i].start_ns -= ahead_ns;
        v->at[i].end_ns -= ahead_ns;
    }
}

static int add(struct items *out, enum item_kind kind, size_t index, int64_t start_ns,
               int64_t end_ns)
{
    struct item *i = vec_push(out);
    if (!i)
        return -1;
    *i = (struct item){start_ns, end_ns < start_ns ? start_ns : end_ns, (uint32_t)index, 0,
                       (uint8_t)kind};
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns > y->end_ns ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Moves the start of calls that seem to begin just before the range or library call that contains
 * them. */
static bool snap_starts(struct items *v)
{
    bool moved = false;
    for (size_t i = 0; i < v->n; i++) {
        const struct item *outer = &v->at[i];
        for (size_t k = i; k-- > 0 && outer->start_ns - v->at[k].start_ns < ROWS_SNAP_NS;) {
            struct item *inner = &v->at[k];
            if (inner->kind <= outer->kind || inner->start_ns == outer->start_ns ||
                inner->end_ns <= outer->start_ns || inner->end_ns > outer->end_ns)
                continue;
            inner->start_ns = outer->start_ns;
            moved = true;
        }
    }
    return moved;
}

/* Finds lanes for all items, and cuts ends that exceed the slice around them by less than the
 * clocks' accuracy. *left_out: how many found no lane. */
static int place(struct items *v, bool nest, size_t *left_out)
{
    struct lanes lanes = {.nest = nest, .most = ROWS_LANES};
    struct open_ends open = {0};
    size_t kept = 0;
    int rc = 0;
    for (size_t i = 0; i < v->n && rc == 0; i++) {
        struct item *x = &v->at[i];
        while (open.n && open.at[open.n - 1] <= x->start_ns)
            open.n--;
        if (open.n && x->end_ns > open.at[open.n - 1] &&
            x->end_ns - open.at[open.n - 1] < ROWS_SNAP_NS && nest)
            x->end_ns = open.at[open.n - 1];
        int64_t *end = vec_push(&open);
        int lane = lanes_place(&lanes, x->start_ns, x->end_ns);
        if (!end || lane < 0) {
            rc = -1;
            break;
        }
        *end = x->end_ns;
        x->lane = (uint16_t)lane;
        if (lane < ROWS_LANES)
            v->at[kept++] = *x;
    }
    *left_out += v->n - kept;
    v->n = kept;
    vec_release(&open);
    lanes_release(&lanes);
    return rc;
}

/* Sorts, unless they are in order already: those of a stream, or calls without ranges, often
 * are. */
static void put_in_order(struct items *v)
{
    size_t i = 1;
    while (i < v->n && by_start(&v->at[i - 1], &v->at[i]) < 0)
        i++;
    if (i < v->n)
        qsort(v->at, v->n, sizeof *v->at, by_start);
}

static int arrange(struct rows *r, struct items *v, bool host)
{
    put_in_order(v);
    if (host && snap_starts(v))
        put_in_order(v);
    return place(v, host, &r->left_out);
}

int rows_thread(struct rows *r, uint32_t thread, struct items *out)
{
    const struct timeline *t = r->t;
    const struct thread *th = &t->threads[thread];
    int bad = 0;
    out->n = 0;
    for (uint32_t i = th->first_range; i < th->first_range + th->ranges; i++)
        if (th->process != r->steps_of ||
            strncmp(tl_text(t, t->ranges[i].name), "ProfilerStep#", 13) != 0)
            bad |= add(out, ITEM_RANGE, i, t->ranges[i].start_ns, t->ranges[i].end_ns);
    for (uint32_t i = r->call_first[thread]; i < r->call_first[thread + 1]; i++)
        bad |= add(out, ITEM_CALL, i, t->calls[i].row.start_ns, t->calls[i].row.end_ns);
    for (uint32_t i = th->first_api; i < th->first_api + th->apis; i++)
        bad |= add(out, ITEM_API, i, t->apis[i].start_ns, t->apis[i].end_ns);
    align(r, th->process, out);
    return bad ? -1 : arrange(r, out, true);
}

int rows_stream(struct rows *r, uint32_t stream, struct items *out)
{
    int bad = 0;
    out->n = 0;
    for (uint32_t i = r->stream_first[stream]; i < r->stream_first[stream + 1]; i++) {
        const struct op *op = &r->t->ops[r->ops[i]];
        bad |= add(out, ITEM_OP, r->ops[i], op->start_ns, op->end_ns);
    }
    align(r, r->t->streams[stream].process, out);
    return bad ? -1 : arrange(r, out, false);
}

int rows_syncs(struct rows *r, uint32_t stream, struct items *out)
{
    int bad = 0;
    out->n = 0;
    for (uint32_t i = r->sync_first[stream]; i < r->sync_first[stream + 1]; i++) {
        const struct sync *s = &r->t->syncs[r->syncs[i]];
        bad |= add(out, ITEM_SYNC, r->syncs[i], s->start_ns, s->end_ns);
    }
    align(r, r->t->streams[stream].process, out);
    return bad ? -1 : arrange(r, out, false);
}

/* The process of a wait. Without a call its thread is unknown: it is shown in the process of the
 * steps. */
static uint32_t sync_process(const struct rows *r, const struct sync *s)
{
    return s->api == TL_NONE ? r->steps_of : r->t->threads[r->t->apis[s->api].thread].process;
}

int rows_device_syncs(struct rows *r, uint32_t process, struct items *out)
{
    int bad = 0;
    out->n = 0;
    size_t none = r->t->stream_count;
    for (uint32_t i = r->sync_first[none]; i < r->sync_first[none + 1]; i++) {
        const struct sync *s = &r->t->syncs[r->syncs[i]];
        if (sync_process(r, s) == process)
            bad |= add(out, ITEM_SYNC, r->syncs[i], s->start_ns, s->end_ns);
    }
    align(r, process, out);
    return bad ? -1 : arrange(r, out, false);
}

uint32_t item_name(const struct timeline *t, const struct item *i)
{
    switch ((enum item_kind)i->kind) {
    case ITEM_RANGE:
        return t->ranges[i->index].name;
    case ITEM_CALL:
        return t->calls[i->index].row.function;
    case ITEM_API:
        return t->apis[i->index].name;
    case ITEM_OP:
        return t->ops[i->index].name;
    case ITEM_SYNC:
        break;
    }
    return 0;
}
