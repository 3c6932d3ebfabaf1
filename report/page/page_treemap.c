/* Kernels by kind as a treemap: each area is a share of the kernel time in the used steps. The
 * boxes are squarified: rows are filled along the shorter side as long as that makes the boxes
 * squarer. */
#include "analyzer/timeline/classify.h"
#include "report/page/page.h"
#include "report/page/xml.h"
#include "report/words/text.h"

#include <math.h>
#include <stdlib.h>

enum { KERNELS = 12 }; /* of one kind; the rest becomes one box */

struct box {
    double x, y, w, h; /* as shares of the whole, 0..1 */
};

/* The worst aspect ratio in a row with these areas. */
static double worst_of(double sum, double least, double most, double side)
{
    return fmax(side * side * most / (sum * sum), sum * sum / (side * side * least));
}

/* Boxes for the areas v[n], which fall and sum to `total`, within `room`. */
static void squarify(const double *v, size_t n, double total, struct box room, struct box *out)
{
    double scale = total > 0 ? room.w * room.h / total : 0;
    for (size_t i = 0; i < n;) {
        double side = fmin(room.w, room.h), sum = 0, worst = INFINITY;
        size_t k = i;
        for (; k < n; k++) {
            double area = fmax(v[k] * scale, 1e-9), next = sum + area;
            double ratio = worst_of(next, area, fmax(v[i] * scale, 1e-9), side);
            if (ratio > worst)
                break;
            worst = ratio;
            sum = next;
        }
        /* The row is a column at the left; otherwise it lies on top. */
        bool column = room.w >= room.h;
        double thick = side > 0 ? sum / side : 0, at = 0;
        for (; i < k; i++) {
            double along = thick > 0 ? fmax(v[i] * scale, 1e-9) / thick : 0;
            out[i] = column ? (struct box){room.x, room.y + at, thick, along}
                            : (struct box){room.x + at, room.y, along, thick};
            at += along;
        }
        room = column ? (struct box){room.x + thick, room.y, fmax(room.w - thick, 1e-6), room.h}
                      : (struct box){room.x, room.y + thick, room.w, fmax(room.h - thick, 1e-6)};
    }
}

static void open_box(const struct page *p, const char *class, struct box b, struct box in)
{
    fprintf(p->f, "<div class=\"%s\" style=\"left:%.3f%%;top:%.3f%%;width:%.3f%%;height:%.3f%%\"",
            class, 100 * (b.x - in.x) / in.w, 100 * (b.y - in.y) / in.h, 100 * b.w / in.w,
            100 * b.h / in.h);
}

static void write_leaf(const struct page *p, const char *name, int64_t ns, struct box b,
                       struct box in)
{
    struct text t;
    char share[32];
    const struct facts *f = p->a->facts;
    snprintf(share, sizeof share, "%.1f %%", percent_of(ns, f->totals.kernel_ns));
    open_box(p, "leaf", b, in);
    page_put(p, " title=\"%s: %s %s, ", name, text_ms(&t, facts_per_step(f, ns)),
             scope_words(f)->per);
    page_put(p, "%s of the kernel time\">", share);
    if (b.w > 0.05 && b.h > 0.05) /* the style sheet hides text that still does not fit */
        page_put(p, "<span>%s</span><em>%s</em>", name, share);
    page_put(p, "</div>\n");
}

static void write_kind(const struct page *p, int family, int color, struct box b, struct box all)
{
    const struct totals *t = &p->a->facts->totals;
    double v[KERNELS + 1];
    uint32_t name[KERNELS];
    struct box out[KERNELS + 1];
    int64_t rest = t->family_ns[family], ns[KERNELS + 1];
    size_t n = 0;
    for (size_t i = 0; i < t->kernel_count && n < KERNELS; i++) {
        const struct kernel_total *k = &t->kernels[i];
        if (k->class.family != family || k->total_ns <= 0 || k->total_ns > rest)
            continue;
        name[n] = k->name;
        v[n] = (double)k->total_ns;
        rest -= ns[n++] = k->total_ns;
    }
    size_t named = n;
    if (rest > 0) {
        v[n] = (double)rest;
        ns[n++] = rest;
    }
    char class[16];
    snprintf(class, sizeof class, "kind t%d", color % 8);
    open_box(p, class, b, all);
    page_put(p, "><b>%s</b>\n<div class=\"leaves\">\n", family_text((uint8_t)family));
    squarify(v, n, (double)t->family_ns[family], b, out);
    for (size_t i = 0; i < n; i++)
        write_leaf(p, i < named ? tl_text(p->t, name[i]) : "others", ns[i], out[i], b);
    page_put(p, "</div></div>\n");
}

void page_treemap(const struct page *p)
{
    const struct totals *t = &p->a->facts->totals;
    int order[FAMILY_COUNT], n = 0;
    double v[FAMILY_COUNT];
    struct box out[FAMILY_COUNT], all = {0, 0, 3.4, 1};
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (t->family_ns[i] <= 0)
            continue;
        int at = n++;
        for (; at > 0 && t->family_ns[i] > t->family_ns[order[at - 1]]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    if (n == 0 || t->kernel_ns <= 0)
        return;
    page_put(p, "<p class=\"dim\">Kernel time by kind: an area is a share of it.</p>\n"
                "<div class=\"treemap\" role=\"img\" aria-label=\"Kernel time by kind:");
    for (int i = 0; i < n; i++) {
        v[i] = (double)t->family_ns[order[i]];
        page_put(p, " %s", family_text((uint8_t)order[i]));
        fprintf(p->f, " %.1f %%,", percent_of(t->family_ns[order[i]], t->kernel_ns));
    }
    page_put(p, "\">\n");
    double total = 0;
    for (int i = 0; i < n; i++)
        total += v[i];
    squarify(v, (size_t)n, total, all, out);
    for (int i = 0; i < n; i++)
        write_kind(p, order[i], i, out[i], all);
    page_put(p, "</div>\n");
}
