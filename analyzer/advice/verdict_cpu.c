/* Writes the verdict for programs that compute without a GPU: what fills most of the step, how many
 * threads compute on how many cores, and which of several ranks is late. */
#include "analyzer/advice/passes.h"
#include "analyzer/advice/verdict.h"
#include "analyzer/facts/lines.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/lines.h"
#include "analyzer/queries/input/loader.h"
#include "base/size.h"
#include "wire/fact_keys.h"

#include <stdlib.h>
#include <string.h>

/* Parts with one remedy. */
static const struct cpu_group {
    enum verdict_class class;
    const char *sentence;
    uint32_t parts;
} groups[] = {
    {VERDICT_INPUT, "Input-bound (no GPU): the training thread waits for data during",
     1u << PART_DATA | 1u << PART_COLLATE},
    {VERDICT_INPUT, "Input-bound (no GPU): starting and stopping the loader's workers takes",
     1u << PART_WORKERS},
    {VERDICT_CPU,
     "Compute-bound on the CPU:", 1u << PART_FORWARD | 1u << PART_BACKWARD | 1u << PART_OPTIMIZER},
    {VERDICT_GC, "Bound by garbage collection: Python's collector stops the program during",
     1u << PART_GC},
    {VERDICT_VALIDATION, "Validation takes", 1u << PART_VALIDATION},
    {VERDICT_COMMUNICATION,
     "Communication-bound (no GPU): the training thread waits for other ranks during",
     1u << PART_EXCHANGE},
    {VERDICT_HOST,
     "Host-bound (no GPU): program work outside data loading, forward, backward and "
     "optimizer takes",
     1u << PART_OTHER},
};

/* Returns the group's time per step in ns. A line of the program that delays the loop between the
 * model's calls counts as other work, not as computing. */
static int64_t group_ns(const struct advice *a, const struct cpu_group *g)
{
    int64_t of_line = query_cause_in_model(a->facts);
    int64_t sum = g->class == VERDICT_CPU ? -of_line : g->class == VERDICT_HOST ? of_line : 0;
    for (int p = 0; p < PART_COUNT; p++)
        sum += g->parts >> p & 1 ? a->facts->breakdown_ns[p] : 0;
    return sum;
}

static double share(const struct advice *a, int64_t ns)
{
    return a->facts->step_ns > 0 ? 100.0 * (double)ns / (double)a->facts->step_ns : 0;
}

static const struct cpu_group *largest_group(const struct advice *a)
{
    const struct cpu_group *best = &groups[0];
    for (size_t i = 1; i < sizeof groups / sizeof *groups; i++)
        if (group_ns(a, &groups[i]) > group_ns(a, best))
            best = &groups[i];
    return best;
}

/* True if model.eval() may not mean validation: libraries of playing agents (Stable-Baselines3)
 * call it for each game, and have no data loader. */
static bool may_play(const struct advice *a)
{
    return !a->facts->tl->loader_count;
}

/* Returns e.g. "127 ms step", or "average 127 ms step (median 94.0 ms)". */
static const char *step_words(struct advice *a)
{
    char step[32], median[32];
    time_words(step, sizeof step, a->facts->step_ns);
    if (!analysis_by_mean(a->facts))
        return arena_printf(&a->arena, "%s %s", step, scope_words(a->facts)->unit);
    return arena_printf(&a->arena, "average %s %s (median %s)", step, scope_words(a->facts)->unit,
                        time_words(median, sizeof median, a->facts->steps.median_ns));
}

/* Names the group's parts of at least 1 % of the step, e.g. "backward, optimizer, forward and loss
 * take". */
static const char *names_take(struct advice *a, const struct cpu_group *g)
{
    const char *text = "";
    int n = 0;
    for (int p = PART_COUNT - 1; p >= 0 && text; p--)
        if (g->parts >> p & 1 && a->facts->breakdown_ns[p] * QUERY_WORTH >= a->facts->step_ns) {
            text = arena_printf(&a->arena, "%s%s%s", text, *text ? ", " : "",
                                analysis_part_title(a->facts, p));
            n++;
        }
    return arena_printf(&a->arena, "%s take%s", text ? text : "", n == 1 ? "s" : "");
}

/* Names the three largest parts. */
static const char *parts_text(struct advice *a)
{
    bool told[PART_COUNT] = {false};
    const char *text = "";
    char ms[32];
    for (int k = 0; k < 3 && text; k++) {
        int best = PART_DATA;
        for (int p = 0; p < PART_COUNT; p++)
            if (part_in(p, CPU_PARTS) && !told[p] &&
                (told[best] || a->facts->breakdown_ns[p] > a->facts->breakdown_ns[best]))
                best = p;
        if (share(a, a->facts->breakdown_ns[best]) < ADVICE_PRINTED_PCT)
            break;
        told[best] = true;
        text = arena_printf(&a->arena, "%s%s%s %s (%.0f %%)", text, *text ? ", " : "",
                            analysis_part_title(a->facts, best),
                            time_words(ms, sizeof ms, a->facts->breakdown_ns[best]),
                            share(a, a->facts->breakdown_ns[best]));
    }
    return text ? text : "";
}

/* True if the threads that compute, over all ranks, are more than the cores. */
static bool oversubscribed(const struct advice *a)
{
    return a->facts->host.usable_cores > 0 &&
           query_compute_threads(a->facts) * query_ranks_here(a->facts) >
               a->facts->host.usable_cores;
}

/* True if the training thread is often ready without a core although this program's threads use few
 * of the cores: then other programs use them. *have: cores that the program gets. */
static bool crowded_out(struct advice *a, double *have)
{
    struct query_loader l = query_loader(a->facts, &a->arena);
    int threads = query_compute_threads(a->facts) * query_ranks_here(a->facts);
    int cores = a->facts->host.usable_cores;
    int most = threads > 0 && threads < cores ? threads : cores; /* one thread fills no two cores */
    *have = l.used_cores;
    return a->facts->host.starved_ns * ADVICE_STARVED >= a->facts->step_ns && cores > 0 &&
           l.used_cores < most * QUERY_OTHERS_USED;
}

static const char *queue_text(struct advice *a)
{
    char queue[32];
    double have;
    bool out = crowded_out(a, &have);
    int threads = query_compute_threads(a->facts) * query_ranks_here(a->facts);
    if (a->facts->host.starved_ns * ADVICE_STARVED < a->facts->step_ns ||
        (!out && threads > 0 && threads < a->facts->host.usable_cores))
        return "";
    const char *why =
        out ? arena_printf(
                  &a->arena,
                  "the program gets %.1f cores on average, and other programs take the rest", have)
            : "the program's own threads compete for the cores";
    return arena_printf(&a->arena,
                        " The training thread is ready to run but has no core for %s per %s: %s.",
                        time_words(queue, sizeof queue, a->facts->host.starved_ns),
                        scope_words(a->facts)->unit, why);
}

static const char *threads_text(struct advice *a)
{
    int threads = query_compute_threads(a->facts), cores = a->facts->host.usable_cores,
        ranks = query_ranks_here(a->facts);
    const char *each = ranks > 1 ? arena_printf(&a->arena, " in each of %d ranks", ranks) : "";
    if (!threads || cores <= 0)
        return queue_text(a);
    return arena_printf(
        &a->arena, " PyTorch computes with %d thread%s%s; the program may use %d core%s.%s",
        threads, threads == 1 ? "" : "s", each, cores, cores == 1 ? "" : "s", queue_text(a));
}

/* Returns a sentence about validation that lies in steps which a median leaves out, or "". */
static const char *beside_text(struct advice *a)
{
    const struct timeline *t = a->facts->tl;
    const struct thread *th = t->thread_count ? &t->threads[a->facts->steps.main_thread] : NULL;
    int64_t sum = 0, count = 0;
    char each[32];
    if (analysis_by_mean(a->facts) || a->facts->breakdown_ns[PART_VALIDATION] > 0)
        return "";
    for (uint32_t i = 0; th && i < th->ranges; i++) {
        const struct range *r = &t->ranges[th->first_range + i];
        bool is = strcmp(tl_text(t, r->name), "validation") == 0 && a->facts->steps.count &&
                  r->start_ns > a->facts->steps.at[0].start_ns;
        sum += is ? r->end_ns - r->start_ns : 0;
        count += is;
    }
    if (!count)
        return "";
    return arena_printf(&a->arena, " %s also runs %lld time%s, %s each time.",
                        may_play(a) ? "Something behind model.eval()" : "Validation",
                        (long long)count, count == 1 ? "" : "s",
                        time_words(each, sizeof each, sum / count));
}

/* Returns a sentence for other profilers' traces, in which a reader may expect a GPU, or "". */
static const char *seen_text(const struct advice *a)
{
    const char *devices = timeline_meta(a->facts->tl, "trace.devices");
    return devices && strcmp(devices, "0") == 0
               ? "The recording contains no GPU activity, and the profiler saw no GPU. "
               : "";
}

static const char *why_text(struct advice *a)
{
    const char *lines = verdict_line(a);
    lines = *lines ? lines : verdict_computing_lines(a);
    return arena_printf(
        &a->arena, "%sThe %s %s: %s.%s%s%s%s%s", seen_text(a),
        analysis_by_mean(a->facts) ? "average" : "median", scope_words(a->facts)->unit,
        parts_text(a), lines, threads_text(a), beside_text(a), a->facts->cpu_ranks.text ? " " : "",
        a->facts->cpu_ranks.text ? arena_printf(&a->arena, "%s.", a->facts->cpu_ranks.text) : "");
}

/* No rule saves much of what takes longest: returns what the user could examine instead. */
static const char *open_text(struct advice *a, const struct cpu_group *g)
{
    int cores = a->facts->host.usable_cores, ranks = query_ranks_here(a->facts);
    double have;
    if (g->parts >> PART_FORWARD & 1 && !oversubscribed(a) && crowded_out(a, &have))
        return "Other programs take the cores: record again on an idle machine.";
    if (g->parts >> PART_FORWARD & 1 && oversubscribed(a))
        return arena_printf(&a->arena,
                            "Start no more threads than there are cores: %d in each rank (%d "
                            "ranks on %d cores): OMP_NUM_THREADS or torch.set_num_threads.",
                            cores / ranks > 0 ? cores / ranks : 1, ranks, cores);
    if (g->parts >> PART_FORWARD & 1)
        return facts_line_looks(a->facts) < LINES_LEAST /* too few samples of lines */
                   ? "No rule found time to save. gpuprof run --modules splits the computing by "
                     "module."
                   : arena_printf(&a->arena,
                                  "No rule found time to save: the model's own computing fills the "
                                  "%s. gpuprof run --modules splits it by module.",
                                  scope_words(a->facts)->unit);
    if (g->parts >> PART_GC & 1)
        return "Call gc.freeze() once the model and the data are built; or gc.disable(), and "
               "gc.collect() between epochs.";
    if (g->parts >> PART_VALIDATION & 1 && may_play(a))
        return "After model.eval() an agent plays (try more environments at once, each in a "
               "process "
               "of its own), or a validation runs (less often, on fewer samples, in larger "
               "batches).";
    if (g->parts >> PART_VALIDATION & 1)
        return "Validate less often, on fewer samples, or in larger batches.";
    if (g->parts >> PART_EXCHANGE & 1)
        return "Exchange less, or beside computing: no_sync() while gradients add up, gradients in "
               "16 bits (register_comm_hook), fewer ranks with larger batches; and check whether "
               "one rank is late.";
    if (g->parts >> PART_OTHER & 1)
        return "Mark the parts of the loop with NVTX ranges to see what that work is "
               "(torch.cuda.nvtx.range needs a GPU: use gpuprof.h or the nvtx package).";
    return "No rule found a change that saves more than 1 % of the step.";
}

static const char *late_next(struct advice *a)
{
    const struct cpu_rank *l = &a->facts->cpu_ranks.at[a->facts->cpu_ranks.late];
    char late[32];
    return arena_printf(&a->arena,
                        "Find what makes rank %lld take %s longer than the others: its data, its "
                        "core, or work that only this rank does.",
                        (long long)l->rank,
                        time_words(late, sizeof late, a->facts->cpu_ranks.late_ns));
}

void verdict_cpu(struct advice *a)
{
    const struct cpu_group *g = largest_group(a);
    double most = share(a, group_ns(a, g));
    const struct cpu_ranks *r = &a->facts->cpu_ranks;
    a->why = verdict_with_records(a, why_text(a));
    if (r->late != TL_NONE && r->count && share(a, r->late_ns) >= ADVICE_LOST_PCT) {
        a->class = VERDICT_STRAGGLER;
        a->verdict = arena_printf(
            &a->arena,
            "Straggler: rank %lld keeps the other ranks waiting during %.0f %% of each %s.",
            (long long)r->at[r->late].rank, share(a, r->late_ns), step_words(a));
        a->next = late_next(a);
        return;
    }
    a->class = g->class;
    if (g->parts >> PART_FORWARD & 1)
        a->verdict = arena_printf(&a->arena, "%s %s %.0f %% of each %s.%s", g->sentence,
                                  names_take(a, g), most, step_words(a), verdict_saving(a));
    else
        a->verdict = arena_printf(&a->arena, "%s %.0f %% of each %s.%s",
                                  g->parts >> PART_VALIDATION & 1 && may_play(a)
                                      ? "What runs after model.eval() takes"
                                      : g->sentence,
                                  most, step_words(a), verdict_saving(a));
    a->next = a->ranked_count ? arena_printf(&a->arena, "%s: %s", a->ranked[0]->title,
                                             outcome_remedy(a->facts, a->ranked[0]))
                              : open_text(a, g);
}

/* Returns the hook's own message on why it recorded nothing, or NULL. */
static const char *hook_complaint(const struct advice *a)
{
    for (size_t i = 0; i < a->facts->tl->health_count; i++)
        if (strncmp(tl_text(a->facts->tl, a->facts->tl->healths[i].code), "python-hook", 11) == 0)
            return tl_text(a->facts->tl, a->facts->tl->healths[i].text);
    return NULL;
}

/* Writes the verdict and returns true if only step marks were recorded, as requested. */
static bool marks_alone(struct advice *a)
{
    const struct timeline *t = a->facts->tl;
    int64_t steps = 0, ns = 0;
    char mean[32];
    for (size_t i = 0; i < t->step_block_count; i++) {
        steps += t->step_blocks[i].steps;
        ns += t->step_blocks[i].end_ns - t->step_blocks[i].start_ns;
    }
    if (steps == 0)
        return false;
    const char *way = timeline_meta(t, "windows.way");
    bool light = way && strcmp(way, "light") == 0;
    verdict_not_enough(
        a, "Not enough data: the recording contains step marks, but none of the work between them.",
        arena_printf(&a->arena, "%lld steps, %s each on average.", (long long)steps,
                     time_words(mean, sizeof mean, ns / steps)),
        light ? "Record without --light, or for longer: it begins once the loop is steady."
              : "Record without --range none to see where the time of a step goes.");
    return true;
}

/* The program ended with an error before it used a GPU: writes that as the verdict instead of the
 * missing steps. */
static bool failed_early(struct advice *a)
{
    const char *status = timeline_meta(a->facts->tl, "ended.status");
    bool killed = timeline_meta(a->facts->tl, "ended.signal") != NULL;
    if (!killed && (!status || strcmp(status, "0") == 0))
        return false;
    bool no_gpu = timeline_meta(a->facts->tl, "no_gpu") != NULL;
    verdict_not_enough(a, "Not enough data: the program ended before it used a GPU.",
                       killed ? "A signal killed it." : "It failed; its own messages say why.",
                       no_gpu ? "Make the program run without gpuprof first; then record again. "
                                "This machine has no GPU: if it needs one, --device virtual:h200."
                              : "Make the program run without gpuprof first; then record again.");
    return true;
}

void verdict_cpu_no_steps(struct advice *a)
{
    const char *hook = hook_complaint(a);
    if (verdict_records_missing(a) || marks_alone(a) || failed_early(a))
        return;
    bool torch =
        timeline_meta(a->facts->tl, FACT_TORCH_VERSION) != NULL || query_of_pytorch(a->facts);
    const char *command = timeline_meta(a->facts->tl, "command");
    bool python = query_of_python(a->facts) || (command && strstr(command, "python"));
    const char *next =
        hook      ? "Record again with CPython 3.9 or newer, and without its options -I, -E and -S."
        : !python ? "Mark the loop with NVTX ranges named 'step', or with gpuprof_step_begin() and "
                    "gpuprof_step_end() of gpuprof.h; then record again."
        : torch
            ? "Record a run of several steps: gpuprof recognises an optimizer's step(), backward "
              "passes and the batches of a DataLoader; mark any other loop with NVTX ranges named "
              "'step' (the "
              "nvtx package)."
            : "The program does not use PyTorch: mark the loop with NVTX ranges named 'step' "
              "(the nvtx package), and record again.";
    const char *why = hook    ? hook
                      : torch ? "The program imported PyTorch, but repeated no optimizer step, no "
                                "backward pass and no DataLoader loop, and used no GPU."
                              : "The program marked no step and used no GPU.";
    verdict_not_enough(a, "Not enough data: gpuprof found no repeating step, and so no loop.", why,
                       next);
}
