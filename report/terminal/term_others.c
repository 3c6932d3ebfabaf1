/* The rules that need no change, and those that cannot decide, by name. */
#include "report/terminal/term_parts.h"

#include "report/words/text.h"

#include <string.h>

enum { NAMES_SHOWN = 8 }; /* without -v */

static bool same_reason(const struct outcome *x, const struct outcome *y)
{
    return strcmp(x->why ? x->why : "", y->why ? y->why : "") == 0;
}

/* Rules with the same reason share a line: without steps, most of them have the same. */
static void write_reasons(const struct terminal *t, const struct advice *a,
                          const struct export_options *o, enum verdict v, const char *label)
{
    for (size_t i = 0; i < a->outcome_count; i++) {
        const struct outcome *x = shown_outcome(a, o, i, v), *y;
        char line[1024];
        size_t n = 0, k = 0;
        while (x && k < i && !((y = shown_outcome(a, o, k, v)) && same_reason(x, y)))
            k++;
        if (!x || k < i) /* printed with an earlier one */
            continue;
        for (k = i; k < a->outcome_count && n < sizeof line; k++)
            if ((y = shown_outcome(a, o, k, v)) && same_reason(x, y))
                n +=
                    (size_t)snprintf(line + n, sizeof line - n, "%s%s", n ? ", " : "", y->rule->id);
        if (n < sizeof line)
            snprintf(line + n, sizeof line - n, ": %s", x->why ? x->why : "");
        term_labelled(t, label, INK_DIM, line);
    }
}

/* A sentence that begins with their number, and then their names. */
static void write_names(const struct terminal *t, const struct advice *a,
                        const struct export_options *o, enum verdict v, const char *label,
                        const char *one, const char *many)
{
    char line[1024], names[768] = "";
    size_t n = 0, count = 0;
    for (size_t i = 0; i < a->outcome_count; i++) {
        const struct outcome *x = shown_outcome(a, o, i, v);
        if (x && ++count && n < sizeof names)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", x->rule->id);
    }
    if (count == 0)
        return;
    bool name = o->detail == DETAIL_ALL || count <= NAMES_SHOWN;
    snprintf(line, sizeof line, "%zu %s%s%s", count, count == 1 ? one : many, name ? ": " : "",
             name ? names : "");
    term_labelled(t, label, INK_DIM, line);
}

static size_t count_of(const struct advice *a, const struct export_options *o, enum verdict v)
{
    size_t n = 0;
    for (size_t i = 0; i < a->outcome_count; i++)
        n += shown_outcome(a, o, i, v) != NULL;
    return n;
}

/* Without any GPU work most rules lack the same records: one line replaces the list. */
static bool write_no_work(const struct terminal *t, const struct advice *a,
                          const struct export_options *o)
{
    char line[160];
    size_t n = a->facts->on_cpu ? count_about_gpu(a, o) : count_of(a, o, RULE_CANNOT_TELL);
    if (a->facts->tl->op_count || n < 2)
        return false;
    snprintf(line, sizeof line,
             a->facts->on_cpu ? "%zu rules check GPU work, and this run had none"
                              : "%zu rules check GPU work, and the recording contains none",
             n);
    term_labelled(t, a->facts->on_cpu ? "Not here" : "Unknown", INK_DIM, line);
    return true;
}

static void write_unknown(const struct terminal *t, const struct advice *a,
                          const struct export_options *o)
{
    if (o->detail == DETAIL_ALL)
        write_reasons(t, a, o, RULE_CANNOT_TELL, "Unknown");
    else if (!write_no_work(t, a, o))
        write_names(t, a, o, RULE_CANNOT_TELL, "Unknown", "rule lacks data (-v names it)",
                    "rules lack data (-v names them)");
}

static void write_fine(const struct terminal *t, const struct advice *a,
                       const struct export_options *o)
{
    char line[96];
    size_t n = count_of(a, o, RULE_SILENT);
    if (o->detail == DETAIL_ALL) {
        write_names(t, a, o, RULE_SILENT, "Fine", "rule found nothing to change",
                    "rules found nothing to change");
        return;
    }
    snprintf(line, sizeof line, "%zu rule%s found nothing to change (-v names them)", n,
             n == 1 ? "" : "s");
    if (n)
        term_labelled(t, "Fine", INK_DIM, line);
}

void term_others(const struct terminal *t, const struct advice *a, const struct export_options *o)
{
    write_reasons(t, a, o, RULE_SUPPRESSED, "Not now");
    if (o->rule) {
        write_reasons(t, a, o, RULE_CANNOT_TELL, "Unknown");
        write_reasons(t, a, o, RULE_SILENT, "Fine");
        return;
    }
    write_unknown(t, a, o);
    write_fine(t, a, o);
}
