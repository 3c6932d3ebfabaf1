/* The health of the profile, its facts, and how this page was made. */
#include "report/page/page.h"
#include "report/page/xml.h"
#include "report/words/text.h"

#include <string.h>

static void write_health(const struct page *p)
{
    const struct health_facts *h = &p->a->facts->health;
    struct text b;
    page_put(p,
             "<section id=\"health\"><h2>How reliable are these numbers?</h2>\n<dl "
             "class=\"facts\"><dt>records</dt><dd>%s</dd>",
             text_lost(&b, p->a));
    if (!p->a->facts->on_cpu && text_has_parts(p->a))
        fprintf(p->f, "<dt>unexplained</dt><dd>%.1f %% %s</dd>", h->unexplained_pct,
                scope_words(p->a->facts)->of);
    page_put(p, "<dt>profiler overhead</dt><dd>%s%s</dd>", text_overhead(&b, p->a),
             h->overhead_pct < 0 ? "" : " of the program's threads");
    if (!p->a->facts->on_cpu && text_replay(&b, &p->a->whatif))
        page_put(p, "<dt>replay</dt><dd>%s</dd>", b.s);
    page_put(p, "</dl>\n");
    if (p->t->health_count == 0) {
        page_put(p, "</section>\n");
        return;
    }
    page_put(p,
             "<div class=\"scroll\"><table class=\"data\"><thead><tr><th class=\"l\">severity</th>"
             "<th class=\"l\">what</th><th>count</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < p->t->health_count; i++) {
        const struct row_health *r = &p->t->healths[i];
        page_put(p, "<tr><td class=\"l\">%s</td><td class=\"l wide\">%s</td><td>%s</td></tr>\n",
                 r->severity > 1   ? "error"
                 : r->severity > 0 ? "warning"
                                   : "note",
                 tl_text(p->t, r->text), r->value > 1 ? text_count(&b, r->value) : "");
    }
    page_put(p, "</tbody></table></div></section>\n");
}

static void write_metas(const struct page *p)
{
    page_put(p, "<details><summary>Environment</summary><div class=\"scroll\">"
                "<table class=\"data\"><tbody>\n");
    for (size_t i = 0; i < p->t->meta_count; i++)
        /* These come from summaries of ranks. */
        if (strncmp(tl_text(p->t, p->t->metas[i].key), "rank.", 5) != 0)
            page_put(p,
                     "<tr><th scope=\"row\" class=\"l\">%s</th><td class=\"l wide\">%s</td></tr>\n",
                     tl_text(p->t, p->t->metas[i].key), tl_text(p->t, p->t->metas[i].value));
    page_put(p, "</tbody></table></div></details>\n");
}

/* Writes a path as one word of a shell command. */
static void put_argument(const struct page *p, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    if (*path == '-')
        fputs("./", p->f);
    if (*path && path[strspn(path, plain)] == 0) {
        xml_text(p->f, path);
        return;
    }
    xml_text(p->f, "'");
    for (size_t n; *path; path += n) {
        n = strcspn(path, "'");
        xml_text_n(p->f, path, n);
        if (path[n] == '\'') {
            xml_text(p->f, "'\\''");
            n++;
        }
    }
    xml_text(p->f, "'");
}

/* Writes the files from which the page was made, and the command that opens the run elsewhere. */
static void write_files(const struct page *p)
{
    enum { MOST = 64 };
    const char *source = p->o->source ? p->o->source : "FILE";
    bool several = p->o->files && p->o->file_count > 1;
    const char *const *files = several ? p->o->files : &source;
    size_t all = several ? p->o->file_count : 1, n = all < MOST ? all : MOST;
    page_put(p, "<p>gpuprof " GPUPROF_VERSION " made this page from ");
    for (size_t i = 0; i < n; i++)
        page_put(p, i ? ", <code>%s</code>" : "<code>%s</code>", files[i]);
    if (all > n)
        fprintf(p->f, " and %zu more", all - n);
    page_put(p, ". The page is one file and makes no network request, so you can mail or archive "
                "it.</p>\n<p>To open the same run in Perfetto: <code>gpuprof export");
    for (size_t i = 0; i < n; i++) {
        fputc(' ', p->f);
        put_argument(p, files[i]);
    }
    page_put(p, "%s -o trace.json.gz</code>, then <code>gpuprof view trace.json.gz</code>.</p>\n",
             all > n ? " ..." : "");
}

void page_about(const struct page *p)
{
    const char *word = scope_words(p->a->facts)->unit;
    write_health(p);
    page_put(p, "<section id=\"about\"><h2>About this page</h2>\n");
    write_files(p);
    page_put(
        p,
        "<details><summary>Words</summary><dl "
        "class=\"facts\">\n<dt>%s</dt><dd>%s</dd>\n<dt>exposed</dt><dd>time in which no compute "
        "kernel runs, so that "
        "it makes the %s longer</dd>\n<dt>idle</dt><dd>time in which nothing runs on the GPU; "
        "the cause is what the host did while the next work was late</dd>\n<dt>up to</dt><dd>an "
        "upper bound: the time that only this cause takes</dd>\n<dt>unexplained</dt><dd>idle "
        "time that no record explains</dd></dl></details>\n",
        word,
        analysis_of_window(p->a->facts)
            ? "all recorded work of the GPU: no step repeats in it"
            : "one iteration of the training loop, from its mark to the next; the numbers use only "
              "steps of the steady state",
        word);
    if (p->t->meta_count)
        write_metas(p);
    page_put(p, "</section>\n");
}
