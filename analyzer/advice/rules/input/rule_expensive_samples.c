/* Fires if samples need so much computing that all cores together make batches more slowly than the
 * loop takes them. Then no number of workers helps, only cheaper samples. */
#include "analyzer/advice/outcome_loader.h"
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/facts/lines.h"
#include "analyzer/queries/input/delivery.h"
#include "analyzer/queries/input/loader.h"
#include "analyzer/queries/input/made_on_gpu.h"
#include "base/str.h"
#include "wire/fact_keys.h"

#include <stdlib.h>
#include <string.h>

/* Per step. */
struct cost {
    int64_t cpu_ns, wait_ns;    /* CPU time to make its batches; time that the loop waits for
                                   them */
    const struct line *line;    /* line with most of that CPU time; NULL: not known */
    const char *where, *others; /* "Data.__getitem__() data.py:17"; further lines */
};

static struct cost cost_of(const struct facts *f)
{
    const struct host_facts *h = &f->host;
    struct cost c = {.cpu_ns = h->fetch_cpu_ns, .where = "", .others = ""};
    c.wait_ns = f->breakdown_ns[f->on_cpu ? PART_DATA : PART_IDLE_INPUT];
    if (h->fetches > RULES_SEVERAL_BATCHES)
        c.cpu_ns = (int64_t)((double)c.cpu_ns * h->fetches);
    return c;
}

/* Finds the lines of the user's code that make samples: in the workers, or else in the training
 * thread while the loop waits. */
static void find_lines(const struct facts *f, struct arena *arena, struct cost *c)
{
    const struct lines *l = facts_lines(f, LINES_WORKERS);
    int64_t ns;
    char text[512];
    c->line = l->count ? &l->at[0]
                       : facts_line_of(f, 1u << (f->on_cpu ? PART_DATA : PART_IDLE_INPUT), &ns);
    if (!c->line)
        return;
    c->where = arena_printf(arena, "%s", line_text(c->line, text, sizeof text));
    for (size_t i = 1; i < l->count && i < 3; i++)
        if (l->at[i].looks * RULES_TOLD >= l->looks)
            c->others = arena_printf(arena, "%s; %.0f %% in %s", c->others,
                                     100.0 * (double)l->at[i].looks / (double)l->looks,
                                     line_text(&l->at[i], text, sizeof text));
}

/* Returns true if the loop computes on the same cores as the workers, with a thread on each core:
 * without a GPU this leaves no core for workers, and the cost of a batch adds to the step. */
static bool shares_all_cores(const struct facts *f)
{
    const char *threads = timeline_meta(f->tl, FACT_TORCH_NUM_THREADS);
    return f->on_cpu && threads && atoi(threads) >= f->host.usable_cores;
}

/* Returns why cheaper samples are not the remedy, or NULL if they are. */
static const char *why_not(const struct facts *f, struct arena *arena, const struct cost *c)
{
    int64_t rest = f->step_ns - c->wait_ns;
    int cores = f->host.usable_cores;
    if (c->wait_ns * RULES_AWAITED < f->step_ns)
        return arena_printf(arena, "the loop waits %s %s for its batches",
                            time_text(arena, c->wait_ns), scope_words(f)->per);
    if (c->cpu_ns / cores <= rest && !shares_all_cores(f))
        return arena_printf(arena,
                            "making a batch computes %s, which %d cores can do within the rest of "
                            "the %s",
                            time_text(arena, c->cpu_ns), cores, scope_words(f)->unit);
    return NULL;
}

static void add_evidence(const struct facts *f, struct arena *arena, struct outcome *o,
                         const struct cost *c)
{
    struct query_loader l = query_loader(f, arena);
    const char *rows = query_batches_sql(f, arena);
    outcome_evidence(o, "computing to make a batch", ms(f->host.fetch_cpu_ns), "ms", rows);
    outcome_evidence_per(o, "waiting for batches,", ms(c->wait_ns), "ms", rows);
    outcome_evidence(o, "usable cores", f->host.usable_cores, "count", NULL);
    outcome_evidence(o, "the same work on all cores takes at least",
                     ms(c->cpu_ns / f->host.usable_cores), "ms", NULL);
    if (l.sampled && l.read_bytes > 0)
        outcome_evidence(o, "read by the workers", (double)l.read_bytes / 1e6, "MB",
                         "SELECT * FROM host_sample");
}

/* For recordings without the number of cores and the workers' work: fires if the workers are far
 * too slow. */
static void fire_by_waits(const struct facts *f, struct arena *arena, struct outcome *o,
                          const struct cost *c, double lack)
{
    outcome_evidence_idle(o, f, "GPU idle for input", ms(c->wait_ns), PART_IDLE_INPUT);
    outcome_evidence(o, "times as many workers would keep up", lack, "", NULL);
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, c->wait_ns,
                  arena_printf(arena,
                               "the loop waits %s of %s %s for its workers: %.0f times as many "
                               "would keep up with the rest of it, each with a core of its own, so "
                               "what a sample costs has to become less",
                               time_text(arena, c->wait_ns), time_text(arena, f->step_ns),
                               scope_words(f)->per, lack));
}

/* True if the loop waits in a line that asks a data set for its samples, one after another, or puts
 * them together, and kernels run for that: the samples lie on the GPU, or are made there. What takes
 * the time is the number of calls. */
static bool works_on_gpu(const struct facts *f, struct arena *arena, struct cost *c)
{
    if (f->on_cpu || c->wait_ns * RULES_AWAITED < f->step_ns ||
        query_launches_of_batch(f, arena, true) < 1)
        return false;
    find_lines(f, arena, c);
    const struct line *l = c->line;
    return l && (str_ends_with(l->called, ".__getitem__") || strstr(l->called, "collate") ||
                 str_ends_with(l->function, "__getitem__"));
}

static void fire_on_gpu(const struct facts *f, struct arena *arena, struct outcome *o,
                        const struct cost *c)
{
    outcome_evidence_idle(o, f, "GPU idle for input", ms(c->wait_ns), PART_IDLE_INPUT);
    outcome_evidence(o, "launches of a batch, in the training thread",
                     query_launches_of_batch(f, arena, false), "count", NULL);
    o->title = "Take all samples of a batch in one call";
    o->remedy.action = ACTION_TAKE_BATCH_AT_ONCE;
    o->remedy.object.place = c->line ? c->line->place : NULL;
    o->error_class = ERROR_RERUN_DECIDES;
    outcome_fires(o, c->wait_ns,
                  arena_printf(arena,
                               "the data set works on the GPU, sample by sample, in the training "
                               "thread: the GPU waits %s of %s %s for its batches%s%s",
                               time_text(arena, c->wait_ns), time_text(arena, f->step_ns),
                               scope_words(f)->per, *c->where ? "; most of it: " : "", c->where));
}

static void check_expensive_samples(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct cost c = cost_of(f);
    if (works_on_gpu(f, arena, &c)) {
        fire_on_gpu(f, arena, o, &c);
        return;
    }
    double lack = c.cpu_ns <= 0 && f->host.usable_cores <= 0 ? query_workers_lack(f) : 0;
    if (lack >= RULES_WORKERS_LACK) {
        fire_by_waits(f, arena, o, &c, lack);
        return;
    }
    if (c.cpu_ns <= 0 || f->host.usable_cores <= 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: how much computing a batch takes, or how many cores there are "
                 "(gpuprof run records both of a DataLoader)";
        return;
    }
    o->why = why_not(f, arena, &c);
    if (o->why)
        return;
    find_lines(f, arena, &c);
    add_evidence(f, arena, o, &c);
    o->error_class = ERROR_RERUN_DECIDES;
    o->remedy.object.place = c.line ? c.line->place : NULL;
    outcome_fires(o, c.wait_ns,
                  arena_printf(arena,
                               "making a batch computes %s: on %d cores no number of workers makes "
                               "them as fast as the loop takes them, so it waits %s %s. Half of "
                               "that computing saves half of the wait%s%s%s",
                               time_text(arena, f->host.fetch_cpu_ns), f->host.usable_cores,
                               time_text(arena, c.wait_ns), scope_words(f)->per,
                               *c.where ? ". Most of it: " : "", c.where, c.others));
}

const struct rule rule_expensive_samples = {
    .id = "expensive-samples",
    .title = "Make the samples of the data set cheaper",
    .needs = HAVE_STEPS,
    .check = check_expensive_samples,
    .about_input = true,
    .looks_for =
        "A loop that waits for batches which all usable cores together cannot make as fast "
        "as it takes them, by the CPU time of a batch; and the lines where that is spent. In a "
        "profiler's trace: one that waits for workers for nine tenths of the step. Or one whose "
        "data set works on the GPU in the training thread.",
    .doc = "Files that are opened, unpacked or decoded anew for each sample, tokenizers and "
           "augmentation fill the cores; more workers then only share them. What does not change "
           "can be done once, before training; files can stay open, or be mapped into memory. The "
           "bound is the whole wait.",
    .remedy = {.action = ACTION_MAKE_SAMPLES_CHEAPER, .object.kind = OBJECT_LOADER},
    .program = {.now = FACT_TORCH_LOADER},
    .tips = {{"cheaper-samples", "Prepare data before training, not in each epoch", NULL}},
};
