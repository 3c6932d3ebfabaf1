/* Results of the analysis on the trace: the verdict and the findings as a row, the cause of each
 * step's length, and how much work is queued. Their category is "gpuprof", by which readers that
 * sum up the program's own ranges leave them out. */
#include "report/trace/trace.h"

#include "report/trace/lanes.h"
#include "report/words/text.h"

#include <stdlib.h>
#include <string.h>

static void write_parts(struct trace *c, size_t step)
{
    for (int i = 0; i < PART_COUNT; i++)
        if (c->a->facts->step_parts[step][i] > 0)
            c->to->ms(c->w, part_key[i], c->a->facts->step_parts[step][i]);
}

/* The part other than computing that takes most of a step; -1: none. */
static int main_cause(const int64_t *parts)
{
    int best = -1;
    for (int i = 0; i < PART_COUNT; i++)
        if (i != PART_COMPUTE && parts[i] > 0 && (best < 0 || parts[i] > parts[best]))
            best = i;
    return best;
}

static int whole_percent(int64_t part, int64_t whole)
{
    return (int)(percent_of(part, whole) + 0.5);
}

int64_t trace_step_end(const struct steps *s, size_t i)
{
    int64_t end = s->at[i].end_ns;
    if (i + 1 < s->count && end >= s->at[i + 1].start_ns)
        end = s->at[i + 1].start_ns - 1;
    return end > s->at[i].start_ns ? end : s->at[i].start_ns;
}

void trace_step_causes(struct trace *c, int64_t pid)
{
    const struct facts *f = c->a->facts;
    if (!f->step_parts)
        return;
    trace_row(c, pid, TID_CAUSES, LANE_OF_NOTES,
              analysis_of_window(f) ? "where the window's time goes" : "why a step takes its time",
              2);
    for (size_t i = 0; i < f->steps.count; i++) {
        const struct step *s = &f->steps.at[i];
        int64_t length = s->to_ns - s->from_ns;
        const int64_t *parts = f->step_parts[i];
        int cause = main_cause(parts);
        char name[240];
        struct text t;
        const char *why = cause < 0                ? "computing"
                          : GPU_PARTS >> cause & 1 ? part_what[cause]
                                                   : analysis_part_title(f, cause);
        snprintf(name, sizeof name, "%.80s %d %% of %.60s, computing %d %%", why,
                 whole_percent(parts[cause < 0 ? PART_COMPUTE : cause], length),
                 text_ms(&t, length), whole_percent(parts[PART_COMPUTE], length));
        trace_slice(c, &(struct slice){.cat = "gpuprof",
                                       .name = name,
                                       .pid = pid,
                                       .tid = TID_CAUSES,
                                       .start_ns = s->start_ns,
                                       .end_ns = trace_step_end(&f->steps, i)});
        write_parts(c, i);
        trace_slice_end(c, NULL);
    }
}

struct place {
    const struct outcome *finding;
    const struct example *at;
    size_t rank;
};

static int by_time(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->at->start_ns != y->at->start_ns)
        return x->at->start_ns < y->at->start_ns ? -1 : 1;
    if (x->at->end_ns != y->at->end_ns)
        return x->at->end_ns > y->at->end_ns ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void write_place(struct trace *c, const struct place *p, int64_t pid, int64_t tid)
{
    struct text t;
    char name[200];
    snprintf(name, sizeof name, "%zu. %.150s", p->rank, p->finding->title);
    trace_slice(c, &(struct slice){.cat = "gpuprof",
                                   .name = name,
                                   .pid = pid,
                                   .tid = tid,
                                   .start_ns = p->at->start_ns,
                                   .end_ns = p->at->end_ns});
    c->to->text(c->w, "here", p->at->text ? p->at->text : "");
    if (p->at->caller)
        c->to->text(c->w, "called from", p->at->caller);
    char saves[32];
    snprintf(saves, sizeof saves, "saves%s", scope_words(c->a->facts)->per_of);
    c->to->text(c->w, saves, text_saving(&t, c->a->facts, p->finding));
    c->to->text(c->w, "what", p->finding->summary ? p->finding->summary : "");
    c->to->text(c->w, "rule", p->finding->rule->id);
    trace_slice_end(c, NULL);
}

/* Writes the verdict over the whole recording, and the places of the findings below it. */
int trace_findings(struct trace *c, int64_t pid)
{
    const struct advice *a = c->a;
    size_t n = 0, most = a->ranked_count * (sizeof a->outcomes->examples / sizeof(struct example));
    struct place *places = arena_array(&c->arena, most + 1, sizeof *places);
    struct lanes lanes = {.nest = true};
    int named = 0, lane = 0;
    if (!places || lanes_place(&lanes, c->t->start_ns, c->t->end_ns) < 0)
        return -1;
    for (size_t i = 0; i < a->ranked_count; i++)
        for (size_t k = 0; k < a->ranked[i]->example_count; k++)
            places[n++] = (struct place){a->ranked[i], &a->ranked[i]->examples[k], i + 1};
    qsort(places, n, sizeof *places, by_time);
    trace_row(c, pid, TID_FINDINGS, LANE_OF_NOTES, "verdict and findings", 0);
    trace_slice(c, &(struct slice){.cat = "gpuprof",
                                   .name = a->verdict ? a->verdict : "",
                                   .pid = pid,
                                   .tid = TID_FINDINGS,
                                   .start_ns = c->t->start_ns,
                                   .end_ns = c->t->end_ns});
    c->to->text(c->w, "why", a->why ? a->why : "");
    c->to->text(c->w, "next", a->next ? a->next : "");
    trace_slice_end(c, NULL);
    for (size_t i = 0; i < n && lane >= 0; i++) {
        lane = lanes_place(&lanes, places[i].at->start_ns, places[i].at->end_ns);
        if (lane > named)
            trace_row(c, pid, TID_FINDINGS + (named = lane), LANE_OF_NOTES, "findings", 0);
        if (lane >= 0)
            write_place(c, &places[i], pid, TID_FINDINGS + lane);
    }
    lanes_release(&lanes);
    return lane < 0 ? -1 : 0;
}

enum { DEPTH_SAMPLES = 10000 };

/* An event on a device. */
struct stamp {
    uint32_t device;
    int64_t at_ns;
};

/* Sorts by device, then by time. */
static int rising(const void *a, const void *b)
{
    const struct stamp *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static void write_depth(struct trace *c, int64_t pid, int64_t at_ns, int64_t depth)
{
    trace_counter(c, pid, at_ns, "launched, not begun", "operations", depth);
}

/* launched[n] and begun[n] both rise. Writes the largest number of waiting operations in each
 * sample. */
static void write_depths(struct trace *c, int64_t pid, const struct stamp *launched,
                         const struct stamp *begun, size_t n)
{
    int64_t each = (c->t->end_ns - c->t->start_ns) / DEPTH_SAMPLES + 1, shown = -1, most = 0;
    int64_t sample_ns = launched[0].at_ns;
    size_t i = 0, k = 0;
    while (k < n) {
        bool launch = i < n && launched[i].at_ns <= begun[k].at_ns;
        int64_t at = launch ? launched[i].at_ns : begun[k].at_ns;
        if (at >= sample_ns + each) {
            if (most != shown)
                write_depth(c, pid, sample_ns, shown = most);
            sample_ns = at;
            most = (int64_t)(i - k);
        }
        if (launch)
            i++;
        else
            k++;
        most = (int64_t)(i - k) > most ? (int64_t)(i - k) : most;
    }
    if (most != shown)
        write_depth(c, pid, sample_ns, most);
    write_depth(c, pid, begun[n - 1].at_ns, 0);
}

/* If launches are recorded: how many operations wait for the GPU. An empty queue while the GPU
 * idles means that the host is late. */
int trace_queue_depth(struct trace *c)
{
    const struct timeline *t = c->t;
    struct stamp *launched = malloc((t->op_count + 1) * sizeof *launched);
    struct stamp *begun = malloc((t->op_count + 1) * sizeof *begun);
    int rc = launched && begun ? 0 : -1;
    size_t n = 0, same;
    for (uint32_t i = 0; rc == 0 && i < t->op_count; i++) {
        const struct op *op = &t->ops[i];
        uint32_t device = tl_op_device(t, i);
        if (op->api == TL_NONE || device >= t->device_count)
            continue;
        int64_t from = t->apis[op->api].start_ns;
        launched[n] = (struct stamp){device, from < op->start_ns ? from : op->start_ns};
        begun[n++] = (struct stamp){device, op->start_ns};
    }
    if (n) {
        qsort(launched, n, sizeof *launched, rising);
        qsort(begun, n, sizeof *begun, rising);
    }
    for (size_t i = 0; i < n; i += same) {
        for (same = 1; i + same < n && launched[i + same].device == launched[i].device;)
            same++;
        write_depths(c, c->device_pid[launched[i].device], launched + i, begun + i, same);
    }
    free(launched);
    free(begun);
    return rc;
}
