/* Folded stacks for flame graphs: a line for each kernel or copy with the ranges from which it was
 * launched, outermost first, and its GPU time in ns over all steady steps. flamegraph.pl, inferno
 * and speedscope read it. Memory: the tree of names, no events. */
#include "report/chars.h"
#include "report/export.h"
#include "report/page/work_tree.h"

#include <inttypes.h>
#include <string.h>

enum { DEEPEST = 64 };

/* Writes a name without ';', which ends a frame, and without characters on which a terminal would
 * act. */
static void put_name(const char *name, FILE *f)
{
    size_t n = strlen(name), length;
    if (n == 0)
        fputs("(no name)", f);
    for (size_t i = 0; i < n; i += length) {
        uint32_t code;
        length = utf8_next(name + i, n - i, &code);
        if (code == ';')
            fputc(':', f);
        else if (char_acts(code) || code == 0xfffd ||
                 (code == '#' && text_commands(name + i, n - i)))
            fputs("\xef\xbf\xbd", f);
        else
            fwrite(name + i, 1, length, f);
    }
}

static void put_stack(const struct advice *a, const struct work_tree *w,
                      const struct work_node *leaf, FILE *f)
{
    const struct work_node *path[DEEPEST], *at = leaf;
    size_t n = 0;
    for (; at->parent != TL_NONE && n < DEEPEST; at = &w->nodes.at[at->parent])
        path[n++] = at;
    fputs(facts_virtual(a->facts) ? "virtual GPU (nothing measured)" : "GPU", f);
    while (n-- > 0) {
        fputc(';', f);
        put_name(tl_text(a->facts->tl, path[n]->name), f);
    }
    fprintf(f, " %" PRId64 "\n", leaf->total_ns);
}

static int folded_analysis(const struct advice *a, const struct export_options *o, FILE *f,
                           struct err *e)
{
    struct work_tree w;
    (void)o;
    int rc = work_tree_build(&w, a->facts);
    bool empty = rc == 0 && w.nodes.n < 2;
    for (size_t i = 0; rc == 0 && i < w.nodes.n; i++)
        if (w.nodes.at[i].kind == WORK_OP)
            put_stack(a, &w, &w.nodes.at[i], f);
    work_tree_release(&w);
    if (rc < 0)
        return err_set(e, "out of memory");
    return empty
               ? err_set(e, "no GPU work in steady steps, so no flame graph: gpuprof analyze says "
                            "what the recording contains")
               : export_done(f, e);
}

const struct exporter export_folded = {
    .name = "folded",
    .suffix = ".folded.txt",
    .help = "GPU time by range and kernel, for flame graphs",
    .analysis = folded_analysis,
};
