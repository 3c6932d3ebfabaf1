/* Time by line of the program, as JSON. */
#include "report/json/json_facts.h"

#include "analyzer/facts/lines.h"

enum { MOST_LINES = 20 };

static const char *const does_key[LINE_DOES] = {
    [LINE_COMPUTES] = "computes", [LINE_SLEEPS] = "sleeps",     [LINE_STARVES] = "no_core",
    [LINE_DISK] = "disk",         [LINE_BACKWARD] = "backward",
};

static void write_line(struct json_tree *j, const struct line *l, const struct lines *of,
                       bool has_parts)
{
    char text[512];
    tree_begin(j, NULL, '{');
    tree_str(j, "text", line_text(l, text, sizeof text));
    tree_str(j, "place", l->place);
    tree_str(j, "file", l->file);
    tree_int(j, "line", l->number);
    tree_str(j, "function", *l->function ? l->function : NULL);
    tree_str(j, "calls", *l->called ? l->called : NULL);
    tree_str(j, "innermost", *l->innermost ? l->innermost : NULL);
    tree_str(j, "sleeps_in", *l->call ? l->call : NULL);
    tree_int(j, "samples", l->looks);
    tree_ms(j, "ms", l->ns);
    tree_num(j, "pct", of->ns > 0 ? 100.0 * (double)l->ns / (double)of->ns : 0, 3);
    tree_ms(j, "function_ms", l->function_ns);
    tree_begin(j, "does_ms", '{');
    for (int d = 0; d < LINE_DOES; d++)
        if (l->does_ns[d] > 0)
            tree_ms(j, does_key[d], l->does_ns[d]);
    tree_end(j);
    if (has_parts) {
        tree_begin(j, "parts_ms", '{');
        for (int p = 0; p < PART_COUNT; p++)
            if (l->part_ns[p] > 0)
                tree_ms(j, part_key[p], l->part_ns[p]);
        tree_end(j);
    }
    tree_end(j);
}

static void write_gpu(struct json_tree *j, const struct gpu_lines *g)
{
    tree_begin(j, "gpu", '{');
    tree_ms(j, "ms", g->ns);
    tree_ms(j, "lined_ms", g->lined_ns);
    tree_ms(j, "module_ms", g->module_ns);
    tree_int(j, "steps", (int64_t)g->steps);
    tree_begin(j, "lines", '[');
    for (size_t i = 0; i < g->count && i < MOST_LINES; i++) {
        const struct gpu_line *l = &g->at[i];
        tree_begin(j, NULL, '{');
        tree_str(j, "place", l->place);
        tree_str(j, "file", l->file);
        tree_int(j, "line", l->number);
        tree_str(j, "function", *l->function ? l->function : NULL);
        tree_ms(j, "ms", l->ns);
        tree_ms(j, "backward_ms", l->backward_ns);
        tree_num(j, "pct", g->ns > 0 ? 100.0 * (double)l->ns / (double)g->ns : 0, 3);
        tree_end(j);
    }
    tree_end(j);
    tree_begin(j, "modules", '[');
    for (size_t i = 0; i < g->module_count && i < MOST_LINES; i++) {
        tree_begin(j, NULL, '{');
        tree_str(j, "module", g->modules[i].name);
        tree_ms(j, "ms", g->modules[i].ns);
        tree_num(j, "pct", g->ns > 0 ? 100.0 * (double)g->modules[i].ns / (double)g->ns : 0, 3);
        tree_end(j);
    }
    tree_end(j);
    tree_end(j);
}

void json_lines(struct json_tree *j, const struct advice *a)
{
    static const char *const key[LINES_KINDS] = {[LINES_STEP] = "step",
                                                 [LINES_WAITS] = "waits",
                                                 [LINES_WORKERS] = "workers",
                                                 [LINES_OTHER] = "other_steps",
                                                 [LINES_THREADS] = "threads"};
    const struct gpu_lines *gpu = facts_gpu_lines(a->facts);
    int64_t looks = facts_line_looks(a->facts);
    if (looks == 0 && gpu->count == 0)
        return;
    tree_begin(j, "lines", '{');
    if (gpu->count)
        write_gpu(j, gpu);
    if (looks)
        tree_int(j, "samples", looks);
    for (int k = 0; k < LINES_KINDS && looks; k++) {
        const struct lines *l = facts_lines(a->facts, (enum lines_of)k);
        tree_begin(j, key[k], '{');
        tree_int(j, "samples", l->looks);
        tree_ms(j, "ms", l->ns);
        tree_begin(j, "lines", '[');
        for (size_t i = 0; i < l->count && i < MOST_LINES; i++)
            write_line(j, &l->at[i], l, k == LINES_STEP);
        tree_end(j);
        tree_end(j);
    }
    tree_end(j);
}
