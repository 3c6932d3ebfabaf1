/* The GPU's memory in JSON; docs/json.schema.json describes the keys. */
#include "analyzer/facts/allocations.h"
#include "analyzer/facts/memory.h"
#include "report/json/json_facts.h"

static void write_largest(struct json_tree *j, const struct memory_use *m)
{
    if (m->times_likely <= 0) {
        tree_null(j, "largest_batch");
        return;
    }
    tree_begin(j, "largest_batch", '{');
    tree_num(j, "times_low", m->times_low, 3);
    tree_num(j, "times_likely", m->times_likely, 3);
    tree_num(j, "times_high", m->times_high, 3);
    if (m->batch > 0)
        tree_int(j, "samples_now", m->batch);
    else
        tree_null(j, "samples_now");
    tree_end(j);
}

static void write_failed(struct json_tree *j, const struct advice *a, const struct memory_failed *m)
{
    if (m->asked <= 0) {
        tree_null(j, "failed");
        return;
    }
    tree_begin(j, "failed", '{');
    tree_int(j, "asked_bytes", m->asked);
    tree_int(j, "in_use_bytes", m->in_use);
    tree_int(j, "held_bytes", m->held);
    tree_int(j, "available_bytes", m->available);
    tree_int(j, "total_bytes", m->total);
    tree_int(j, "times", m->times);
    tree_str(j, "where", *m->where ? m->where : NULL);
    if (a->memory_remedy.action != ACTION_NONE)
        json_remedy(j, &a->memory_remedy, a->memory_words);
    else
        tree_null(j, "remedy");
    tree_end(j);
}

/* Names of holders are those of operators. */
static void write_recorded(struct json_tree *j, const struct facts *f)
{
    const struct allocations *a = f->allocations;
    char line[300];
    if (!a) {
        tree_null(j, "recorded");
        return;
    }
    tree_begin(j, "recorded", '{');
    tree_bool(j, "whole", a->whole);
    tree_int(j, "peak_bytes", a->peak_bytes);
    if (a->held_bytes >= 0)
        tree_int(j, "held_bytes", a->held_bytes);
    else
        tree_null(j, "held_bytes");
    tree_int(j, "peak_ns", a->peak_ns);
    if (a->step != TL_NONE)
        tree_int(j, "step", facts_step_number(f, a->step));
    else
        tree_null(j, "step");
    tree_int(j, "before_bytes", a->before_bytes);
    tree_begin(j, "holders", '[');
    for (size_t i = 0; i < a->holder_count; i++) {
        const struct holder *h = &a->holders[i];
        tree_begin(j, NULL, '{');
        tree_str(j, "name", h->name);
        tree_str(j, "line", h->line ? timeline_line_text(f->tl, h->line, line, sizeof line) : NULL);
        tree_int(j, "bytes", h->bytes);
        tree_int(j, "pieces", h->pieces);
        tree_end(j);
    }
    tree_end(j);
    tree_int(j, "others_bytes", a->others_bytes);
    tree_end(j);
}

void json_memory(struct json_tree *j, const struct advice *a)
{
    struct memory_use m = facts_memory(a->facts);
    struct memory_failed failed = facts_memory_failed(a->facts);
    if (!m.known && failed.asked <= 0 && !a->facts->allocations) {
        tree_null(j, "memory");
        return;
    }
    tree_begin(j, "memory", '{');
    if (m.known) {
        tree_begin(j, "peak", '{');
        tree_int(j, "in_use_bytes", m.peak);
        tree_int(j, "held_bytes", m.reserved);
        tree_int(j, "available_bytes", m.available);
        tree_int(j, "total_bytes", m.total);
        tree_int(j, "weights_bytes", m.weights);
        tree_int(j, "gradients_bytes", m.gradients);
        tree_int(j, "optimizer_bytes", m.optimizer);
        tree_int(j, "activations_bytes", m.activations);
        write_largest(j, &m);
        tree_end(j);
    } else {
        tree_null(j, "peak");
    }
    write_failed(j, a, &failed);
    write_recorded(j, a->facts);
    tree_end(j);
}
