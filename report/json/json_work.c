/* What the GPU works on in a step, as JSON: kernels by kind and by name, copies,
 * streams, calls of CUDA; and the longest times in which it idles. */
#include "report/json/json_facts.h"

#include "analyzer/timeline/classify.h"
#include "report/words/text.h"

#include <math.h>

enum { MOST_NAMES = 20, MOST_GAPS = 10 };

/* `n` of all used steps, for one of them. */
static void per_step(struct json_tree *j, const char *key, const struct facts *f, int64_t n)
{
    size_t used = f->steps.used ? f->steps.used : 1;
    tree_num(j, key, (double)n / (double)used, 6);
}

static void ms_per_step(struct json_tree *j, const char *key, const struct facts *f, int64_t ns)
{
    tree_ms(j, key, facts_per_step(f, ns));
}

static void write_kinds(struct json_tree *j, const struct facts *f)
{
    const struct totals *t = &f->totals;
    tree_begin(j, "kinds", '[');
    for (unsigned family = 0; family < FAMILY_COUNT; family++) {
        if (t->family_count[family] == 0)
            continue;
        tree_begin(j, NULL, '{');
        tree_str(j, "kind", family_text(family));
        per_step(j, "count", f, t->family_count[family]);
        ms_per_step(j, "ms", f, t->family_ns[family]);
        tree_num(j, "pct", percent_of(t->family_ns[family], t->kernel_ns), 3);
        tree_end(j);
    }
    tree_end(j);
}

static void write_kernels(struct json_tree *j, const struct facts *f)
{
    const struct totals *t = &f->totals;
    tree_begin(j, "kernels", '[');
    for (size_t i = 0; i < t->kernel_count && i < MOST_NAMES; i++) {
        const struct kernel_total *k = &t->kernels[i];
        tree_begin(j, NULL, '{');
        tree_str(j, "name", tl_text(f->tl, k->name));
        tree_str(j, "kind", family_text(k->class.family));
        if (k->class.tensor == TRI_UNKNOWN)
            tree_null(j, "tensor_cores");
        else
            tree_bool(j, "tensor_cores", k->class.tensor == TRI_YES);
        per_step(j, "count", f, k->count);
        ms_per_step(j, "ms", f, k->total_ns);
        tree_num(j, "pct", percent_of(k->total_ns, t->kernel_ns), 3);
        tree_ms(j, "min_ms", k->min_ns);
        tree_ms(j, "mean_ms", k->count ? k->total_ns / k->count : 0);
        tree_ms(j, "max_ms", k->max_ns);
        tree_num(j, "of_peak_pct", k->sized_ns > 0 ? 100 * k->peak_ns / (double)k->sized_ns : NAN,
                 3);
        tree_end(j);
    }
    tree_end(j);
}

static void write_copies(struct json_tree *j, const struct facts *f)
{
    struct text way;
    tree_begin(j, "copies", '[');
    for (size_t i = 0; i < f->totals.copy_count; i++) {
        const struct copy_total *c = &f->totals.copies[i];
        tree_begin(j, NULL, '{');
        tree_str(j, "way", text_copy(&way, c));
        per_step(j, "count", f, c->count);
        per_step(j, "bytes", f, c->bytes);
        ms_per_step(j, "ms", f, c->total_ns);
        tree_num(j, "gb_per_s", c->total_ns ? (double)c->bytes / (double)c->total_ns : 0, 3);
        ms_per_step(j, "exposed_ms", f, c->exposed_ns);
        ms_per_step(j, "host_blocked_ms", f, c->host_blocked_ns);
        tree_end(j);
    }
    tree_end(j);
}

static void write_calls(struct json_tree *j, const struct facts *f)
{
    tree_begin(j, "calls", '[');
    for (size_t i = 0; i < f->totals.api_count && i < MOST_NAMES; i++) {
        const struct api_total *a = &f->totals.apis[i];
        tree_begin(j, NULL, '{');
        tree_str(j, "name", tl_text(f->tl, a->name));
        per_step(j, "count", f, a->count);
        ms_per_step(j, "ms", f, a->total_ns);
        tree_ms(j, "max_ms", a->max_ns);
        tree_end(j);
    }
    tree_end(j);
}

static void write_streams(struct json_tree *j, const struct facts *f)
{
    tree_begin(j, "streams", '[');
    for (size_t i = 0; i < f->tl->stream_count; i++) {
        const struct stream_total *s = &f->totals.streams[i];
        const struct stream *of = &f->tl->streams[i];
        if (s->count == 0)
            continue;
        tree_begin(j, NULL, '{');
        if (of->device < f->tl->device_count)
            tree_int(j, "device", f->tl->devices[of->device].ordinal);
        else
            tree_null(j, "device");
        tree_int(j, "stream", of->row.stream);
        per_step(j, "count", f, s->count);
        ms_per_step(j, "ms", f, s->total_ns);
        ms_per_step(j, "comm_ms", f, s->comm_ns);
        ms_per_step(j, "copy_ms", f, s->copy_ns);
        tree_end(j);
    }
    tree_end(j);
}

static bool longer(const struct gap *a, const struct gap *b)
{
    return a->end_ns - a->start_ns > b->end_ns - b->start_ns;
}

void json_gaps(struct json_tree *j, const struct facts *f)
{
    const struct gap *most[MOST_GAPS];
    size_t n = 0;
    for (size_t i = 0; i < f->gap_count; i++) {
        size_t at = i < MOST_GAPS ? n++ : MOST_GAPS - 1;
        if (i >= MOST_GAPS && !longer(&f->gaps[i], most[at]))
            continue;
        for (; at > 0 && longer(&f->gaps[i], most[at - 1]); at--)
            most[at] = most[at - 1];
        most[at] = &f->gaps[i];
    }
    tree_begin(j, "gaps", '[');
    for (size_t i = 0; i < n; i++) {
        const struct gap *g = most[i];
        const struct timeline *t = f->tl;
        tree_begin(j, NULL, '{');
        tree_ms(j, "start_ms", g->start_ns);
        tree_ms(j, "end_ms", g->end_ns);
        tree_bool(j, "in_used_step", g->step != TL_NONE && f->steps.at[g->step].used);
        tree_str(j, "part", part_key[g->part]);
        tree_str(j, "call", g->api != TL_NONE ? tl_text(t, t->apis[g->api].name) : NULL);
        tree_str(j, "range", g->range != TL_NONE ? tl_text(t, t->ranges[g->range].name) : NULL);
        tree_end(j);
    }
    tree_end(j);
}

static void write_arithmetic(struct json_tree *j, const struct facts *f)
{
    const struct hardware_facts *h = &f->hardware;
    if (!h->peak || f->used_ns <= 0 || h->known_ns <= 0) {
        tree_null(j, "arithmetic");
        return;
    }
    tree_begin(j, "arithmetic", '{');
    tree_num(j, "of_peak_pct", 100 * h->peak_ns / (double)f->used_ns, 3);
    tree_num(j, "kernels_of_peak_pct", 100 * h->peak_ns / (double)h->known_ns, 3);
    tree_num(j, "known_pct", percent_of(h->known_ns, h->matrix_ns), 3);
    ms_per_step(j, "kernels_ms", f, h->matrix_ns);
    tree_str(j, "device", h->peak->device);
    tree_str(j, "source", h->peak->source);
    tree_begin(j, "types", '[');
    for (int i = 0; i < PEAK_TYPES; i++) {
        if (h->flops[i] <= 0)
            continue;
        tree_begin(j, NULL, '{');
        tree_str(j, "type", peak_type_text((enum peak_type)i));
        tree_num(j, "tflop", h->flops[i] / 1e12 / (double)f->used_ns * (double)f->step_ns, 6);
        tree_num(j, "peak_tflop_per_s", h->peak->tflops[i] > 0 ? h->peak->tflops[i] : NAN, 2);
        tree_end(j);
    }
    tree_end(j);
    tree_end(j);
}

void json_work(struct json_tree *j, const struct facts *f)
{
    tree_begin(j, "work", '{');
    ms_per_step(j, "kernel_ms", f, f->totals.kernel_ns);
    tree_num(j, "called_pct", percent_of(f->totals.called_ns, f->totals.kernel_ns), 3);
    per_step(j, "kernel_count", f, f->totals.kernel_count_all);
    per_step(j, "short_count", f, f->totals.short_kernels);
    per_step(j, "launch_count", f, f->totals.launches);
    write_arithmetic(j, f);
    write_kinds(j, f);
    write_kernels(j, f);
    write_copies(j, f);
    write_streams(j, f);
    write_calls(j, f);
    tree_end(j);
}
