/* JUnit XML: one testcase per check of a gate. A slower check is a failure; an inconclusive one is
 * skipped with its reason, so that CI distinguishes the two. */
#include "report/export.h"
#include "report/page/xml.h"
#include "report/words/text.h"

static size_t count(const struct gate *g, enum gate_verdict v)
{
    size_t n = 0;
    for (size_t i = 0; i < g->check_count; i++)
        n += g->checks[i].verdict == v;
    return n;
}

/* The only number of a JUnit testcase is a time in seconds: the step's, if the check measured
 * one. */
static double seconds_of(const struct gate_check *c)
{
    return c->unit && c->unit[0] == 'm' && c->unit[1] == 's' ? c->measured / 1000 : 0;
}

static void write_check(const struct gate_check *c, FILE *f)
{
    struct text m, al, low, high;
    char message[1024];
    if (*c->unit)
        snprintf(message, sizeof message, "measured %s (%s to %s), allowed %s. %s",
                 text_value(&m, c->measured, c->unit), text_value(&low, c->low, c->unit),
                 text_value(&high, c->high, c->unit), text_value(&al, c->allowed, c->unit),
                 c->why ? c->why : "");
    else
        snprintf(message, sizeof message, "%s", c->why ? c->why : "");
    xml_printf(f, "    <testcase classname=\"gpuprof.gate\" name=\"%s\" time=\"", c->name);
    fprintf(f, "%.6f\">\n", seconds_of(c));
    if (c->verdict == GATE_SLOWER)
        xml_printf(f, "      <failure type=\"%s\" message=\"%s\"/>\n", text_check_verdict(c),
                   message);
    else if (c->verdict == GATE_INCONCLUSIVE)
        xml_printf(f, "      <skipped message=\"inconclusive: %s\"/>\n", message);
    else
        xml_printf(f, "      <system-out>%s</system-out>\n", message);
    fputs("    </testcase>\n", f);
}

static void write_moved(const struct diff *d, FILE *f)
{
    fputs("    <system-out>", f);
    for (size_t i = 0; i < d->change_count && i < 10; i++) {
        const struct change *c = &d->changes[i];
        xml_printf(f, "%s %s: ", c->kind, c->what);
        fprintf(f, "%+.3f ms per step%s\n", (double)(c->new_ns - c->base_ns) / 1e6,
                c->of_run ? " of the run" : "");
    }
    fputs("</system-out>\n", f);
}

static int junit_gate(const struct gate *g, const struct export_options *o, FILE *f, struct err *e)
{
    struct text b;
    fprintf(f,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
            "  <testsuite name=\"gpuprof gate\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
            "skipped=\"%zu\">\n",
            g->check_count, count(g, GATE_SLOWER), count(g, GATE_INCONCLUSIVE));
    if (o->virtual_gpu)
        xml_printf(f,
                   "    <properties>\n      <property name=\"device\" value=\"%s\"/>\n"
                   "    </properties>\n",
                   text_virtual_name(&b, o->virtual_gpu));
    for (size_t i = 0; i < g->check_count; i++)
        write_check(&g->checks[i], f);
    if (g->diff && g->diff->change_count)
        write_moved(g->diff, f);
    fputs("  </testsuite>\n</testsuites>\n", f);
    return export_done(f, e);
}

const struct exporter export_junit = {
    .name = "junit",
    .suffix = ".xml",
    .help = "checks of a gate as test cases",
    .gate = junit_gate,
};
