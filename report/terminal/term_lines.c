/* Time by line of the program, for a terminal. */
#include "report/terminal/term_parts.h"

#include "analyzer/facts/lines.h"
#include "report/words/text.h"

#include <stdio.h>

enum { LEAST_PCT = 1 }; /* of the charged time: a line with less gets no row */

static void write_list(const struct terminal *t, const struct lines *l, const char *head,
                       size_t most)
{
    for (size_t i = 0; i < l->count && i < most; i++) {
        const struct line *x = &l->at[i];
        struct text ms;
        char line[512];
        double share = l->ns > 0 ? percent_of(x->ns, l->ns) : percent_of(x->looks, l->looks);
        if (share < LEAST_PCT)
            break;
        if (i == 0)
            fprintf(t->f, "%s\n", head);
        fprintf(t->f, "  %9s %5.1f %%  ", l->ns > 0 ? text_ms(&ms, x->ns) : "", share);
        term_wrap(t, 21, 21, line_text(x, line, sizeof line));
    }
}

static void write_gpu(const struct terminal *t, const struct facts *f, size_t most)
{
    const struct gpu_lines *g = facts_gpu_lines(f);
    for (size_t i = 0; i < g->count && i < most && percent_of(g->at[i].ns, g->ns) >= LEAST_PCT;
         i++) {
        const struct gpu_line *l = &g->at[i];
        struct text ms, back;
        char line[512], share[64] = "";
        if (i == 0)
            fprintf(t->f, "Lines that the GPU works for, %s; %.0f %% of its time has a line\n",
                    scope_words(f)->per, percent_of(g->lined_ns, g->ns));
        if (l->backward_ns)
            snprintf(share, sizeof share, ", %s of it in the backward pass",
                     text_ms(&back, l->backward_ns));
        snprintf(line, sizeof line, "%.300s%s%.100s%s", l->function, *l->function ? "() " : "",
                 l->place, share);
        fprintf(t->f, "  %9s %5.1f %%  ", text_ms(&ms, l->ns), percent_of(l->ns, g->ns));
        term_wrap(t, 21, 21, line);
    }
}

void term_lines(const struct terminal *t, const struct advice *a, size_t most)
{
    const struct facts *f = a->facts;
    char head[160];
    snprintf(head, sizeof head,
             f->on_cpu ? "Lines of the program, %s" : "Lines in which the GPU idles, %s",
             scope_words(f)->per);
    write_list(t, facts_lines(f, LINES_STEP), head, most);
    write_gpu(t, f, most);
    snprintf(head, sizeof head, "Lines that wait for the GPU, %s", scope_words(f)->per);
    write_list(t, facts_lines(f, LINES_WAITS), head, most);
    write_list(t, facts_lines(f, LINES_THREADS), "Lines of threads that the step waits for", most);
    write_list(t, facts_lines(f, LINES_WORKERS), "Lines of the loader's workers, per batch", most);
    write_list(t, facts_lines(f, LINES_OTHER), "Lines of the longer steps that do not count", most);
}
