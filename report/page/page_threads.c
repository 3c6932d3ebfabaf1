/* What the host's threads waited for, by their clocks. The busiest ones come first. */
#include "report/page/page.h"

#include "analyzer/measure/clocks.h"
#include "report/page/xml.h"
#include "report/words/text.h"

#include <stdlib.h>

enum { SHOWN = 24 };

struct row {
    uint32_t thread;
    int64_t seen_ns, cpu_ns, queue_ns, disk_ns, faults, read, storage;
};

static int busier_first(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    int64_t wants_a = a->cpu_ns + a->queue_ns, wants_b = b->cpu_ns + b->queue_ns;
    if (wants_a != wants_b)
        return wants_a < wants_b ? 1 : -1;
    return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static size_t find_rows(const struct timeline *t, const struct thread_clocks *of, struct row *rows)
{
    size_t n = 0;
    for (uint32_t i = 0; i < t->thread_count; i++) {
        const struct row_host_sample *a = of[i].first, *b = of[i].last;
        if (!a || b->time_ns <= a->time_ns)
            continue;
        rows[n++] = (struct row){
            .thread = i,
            .seen_ns = b->time_ns - a->time_ns,
            .cpu_ns = clocks_grown(a->cpu_ns, b->cpu_ns),
            .queue_ns = clocks_grown(a->run_queue_ns, b->run_queue_ns),
            .disk_ns = clocks_grown(a->io_wait_ns, b->io_wait_ns),
            .faults = clocks_grown(a->major_faults, b->major_faults),
            .read = clocks_grown(a->read_bytes, b->read_bytes),
            .storage = clocks_grown(a->storage_bytes, b->storage_bytes),
        };
    }
    return n;
}

static void cell(const struct page *p, int64_t value, const char *text)
{
    fprintf(p->f, "<td data-v=\"%lld\">", (long long)value);
    page_put(p, "%s</td>", value < 0 ? "not recorded" : text);
}

static void share(const struct page *p, int64_t part_ns, int64_t whole_ns)
{
    char text[32];
    snprintf(text, sizeof text, "%.1f %%", percent_of(part_ns, whole_ns));
    cell(p, part_ns, text);
}

static void write_row(const struct page *p, const struct row *r)
{
    struct text b;
    int64_t known = r->cpu_ns + (r->queue_ns > 0 ? r->queue_ns : 0);
    page_put(p, "<tr><th scope=\"row\" class=\"name\">%s</th>", text_thread(&b, p->a, r->thread));
    cell(p, r->seen_ns, text_time(&b, r->seen_ns));
    share(p, r->cpu_ns, r->seen_ns);
    share(p, r->queue_ns, r->seen_ns);
    share(p, r->seen_ns > known ? r->seen_ns - known : 0, r->seen_ns);
    share(p, r->disk_ns, r->seen_ns);
    cell(p, r->faults, text_count(&b, r->faults));
    cell(p, r->read, text_bytes(&b, r->read));
    cell(p, r->storage, text_bytes(&b, r->storage));
    page_put(p, "</tr>\n");
}

void page_threads(const struct page *p)
{
    struct arena arena = ARENA_INIT;
    const struct timeline *t = p->t;
    struct thread_clocks *of = thread_clocks(t, &arena);
    struct row *rows = arena_array(&arena, t->thread_count + 1, sizeof *rows);
    size_t n = of && rows ? find_rows(t, of, rows) : 0;
    if (n) {
        qsort(rows, n, sizeof *rows, busier_first);
        page_put(
            p,
            "<div class=\"scroll\"><table class=\"data sortable\"><caption>What the threads did "
            "between their first and last sample</caption><thead><tr><th scope=\"col\" "
            "class=\"l\">thread</th><th scope=\"col\">sampled</th><th "
            "scope=\"col\">computes</th><th scope=\"col\">ready, without a core</th><th "
            "scope=\"col\">waits</th><th scope=\"col\">of that, for a disk</th><th "
            "scope=\"col\">pages read by faults</th><th scope=\"col\">requested by reads</th><th "
            "scope=\"col\">served by storage, not memory</th></tr></thead><tbody>\n");
        for (size_t i = 0; i < n && i < SHOWN; i++)
            write_row(p, &rows[i]);
        page_put(p, "</tbody></table></div>\n");
        if (n > SHOWN)
            fprintf(p->f,
                    "<p class=\"dim\">The table shows the %d that ran the most; %zu more ran "
                    "less.</p>\n",
                    SHOWN, n - SHOWN);
    }
    arena_release(&arena);
}
