/* Answers requests for a program's status: a line for each process, and for each wait. */
#include "analyzer/collector/stuck.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t second_ns = 1000000000, shown_ns = 10000000000;

bool stuck_counts(const struct spool *s, const struct rank_places *p)
{
    bool counts = !s->done && s->h && s->pace.steps;
    for (size_t k = 0; k < p->n; k++)
        counts |= p->at[k].s == s;
    return counts;
}

void stuck_describe_process(const struct spool *s, const struct rank_places *p, int64_t now_ns,
                            char *line, size_t n)
{
    const struct spool_pace *pace = &s->pace;
    char place[STUCK_WHERE];
    int used = snprintf(line, n, "process %d", (int)s->fixed.pid);
    if (s->row.rank >= 0)
        used = snprintf(line, n, "rank %d (process %d)", (int)s->row.rank, (int)s->fixed.pid);
    stuck_where(s->fixed.pid, place, sizeof place);
    if (pace->steps)
        used += snprintf(line + used, n - (size_t)used, ": step %" PRId64 " for %.0f s",
                         pace->steps, (double)(now_ns - pace->changed_ns) / (double)second_ns);
    if (stuck_usual_ns(pace))
        used += snprintf(line + used, n - (size_t)used, " (usually %.3g s)",
                         (double)stuck_usual_ns(pace) / (double)second_ns);
    for (size_t i = 0; i < p->n && (size_t)used + 200 < n; i++) {
        const char *function = *p->at[i].function ? p->at[i].function : "a collective";
        if (p->at[i].s != s)
            continue;
        used += snprintf(line + used, n - (size_t)used, "; %s %s, collective %" PRIu64,
                         p->at[i].inside ? "in" : "after", function, p->at[i].begun);
    }
    snprintf(line + used, n - (size_t)used, "; %s", place);
}

static void tell_waits(const struct rank_places *p, void (*tell)(void *self, const char *line),
                       void *self)
{
    struct wait w;
    char line[1024];
    for (size_t i = 0; i < p->n; i++)
        if (stuck_find(p, i, &w)) {
            stuck_describe(&w, line, sizeof line);
            tell(self, line);
        }
}

void collect_status(struct collector *c, void (*tell)(void *self, const char *line), void *self)
{
    struct rank_places p = {0};
    char line[1024];
    int64_t now_ns = clock_monotonic_ns();
    stuck_find_places(c, now_ns, true, &p);
    for (size_t i = 0; i < c->spools.n; i++) {
        const struct spool *s = c->spools.at[i];
        if (!stuck_counts(s, &p))
            continue;
        stuck_describe_process(s, &p, now_ns, line, sizeof line);
        tell(self, line);
    }
    tell_waits(&p, tell, self);
    vec_release(&p);
}

void collect_show(struct collector *c)
{
    struct rank_places p = {0};
    int64_t now_ns = clock_monotonic_ns();
    c->asked_until_ns = now_ns + shown_ns;
    c->next_show_ns = 0;
    stuck_find_places(c, now_ns, false, &p);
    vec_release(&p);
}

/* ---- of a whole job ---- */

static int by_rank(const void *a, const void *b)
{
    const struct shown_line *x = a, *y = b;
    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : strcmp(x->text, y->text);
}

size_t collect_shown(const char *folder, int64_t since_ns,
                     void (*tell)(void *self, const char *line), void *self, size_t *silent)
{
    struct rank_places p = {0};
    struct shown_lines lines = {0};
    size_t answered = stuck_read_folder(folder, since_ns, &p, &lines, silent);
    if (lines.n)
        qsort(lines.at, lines.n, sizeof *lines.at, by_rank);
    for (size_t i = 0; tell && i < lines.n; i++)
        tell(self, lines.at[i].text);
    if (tell)
        tell_waits(&p, tell, self);
    vec_release(&lines);
    vec_release(&p);
    return answered;
}
