/* Fires if the GPU is idle while the host does something other than launching: Python,
 * post-processing, work of the framework. Names the range or line in which most of it lies. */
#include "analyzer/advice/rule.h"
#include "analyzer/facts/limits.h"
#include "analyzer/facts/lines.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/lines.h"
#include "analyzer/queries/once.h"
#include "analyzer/queries/training/generation.h"
#include "analyzer/queries/training/sharding.h"
#include "analyzer/queries/waits.h"
#include "analyzer/queries/warm.h"
#include "wire/fact_keys.h"

#include <string.h>

/* Returns, by gap, the host time in ns that other rules name by its cause (one-time work, copies on
 * the host, generated text, hooks of ZeRO 3), or NULL without memory. *ns: their sum. */
static const int64_t *explained_elsewhere(const struct facts *f, struct arena *arena, int64_t *ns)
{
    struct query_host_copies copies;
    struct query_generation text;
    struct query_sharding hooks;
    int64_t *other = arena_array(arena, f->gap_count, sizeof *other);
    *ns = 0;
    if (!other || query_host_copies(f, arena, &copies) < 0 ||
        query_generation(f, arena, &text) < 0 || query_sharding(f, arena, &hooks) < 0)
        return NULL;
    bool generates = query_generates(f, &text), shards = query_shards(f, &hooks);
    query_warm_gaps(f, other);
    for (size_t i = 0; i < f->gap_count; i++) {
        int64_t host = gap_ns(f, &f->gaps[i], PART_IDLE_HOST);
        other[i] += copies.of_gap[i] + (generates ? text.host_of_gap[i] : 0) +
                    (shards ? hooks.host_of_gap[i] : 0);
        other[i] = other[i] < host ? other[i] : host;
        *ns += other[i];
    }
    return other;
}

/* True for ranges of torch.compile: files that it wrote into its cache, and its own marks. */
static bool is_compiled(const char *range)
{
    static const char *const marks[] = {"torchinductor", "Torch-Compiled Region", "CompiledFxGraph",
                                        "CompiledFunction", "compiled_fn"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strstr(range, marks[i]))
            return true;
    return false;
}

/* Removes the folders of a path, which mean nothing for generated code. */
static const char *short_name(const char *range)
{
    const char *slash = *range == '/' ? strrchr(range, '/') : NULL;
    return slash ? slash + 1 : range;
}

/* Returns how much of the idle time charged to the host its threads were ready to run but had no
 * core, at most. Threads lack a core at any time, also while the GPU works, so only the idle share
 * counts. */
static int64_t without_core(const struct facts *f, int64_t idle)
{
    if (f->host.starved_ns <= 0 || f->step_ns <= 0)
        return 0;
    double share = (double)query_awaits_host(f) / (double)f->step_ns;
    int64_t ns = (int64_t)((double)f->host.starved_ns * (share < 1 ? share : 1));
    return ns < idle ? ns : idle;
}

/* True if most of the GPU's wait for the host is a thread without a core, and little is sure to be
 * this work. A thread that has no core lacks it for milliseconds, which is longer than a launch
 * takes, so all of the lack may lie in this idle time. */
static bool is_lack_of_core(const struct facts *f, int64_t idle)
{
    return query_wait_is_lack_of_core(f) ||
           (f->host.starved_ns * 100 >= query_awaits_host(f) * QUERY_CROWDED_OUT_PCT &&
            (idle - f->host.starved_ns) * 100 < query_step_with_core(f) * QUERY_OWN_WAIT_PCT);
}

/* Returns true if the host sleeps for most of that time, waiting for something such as a file or
 * another process. Waits for the GPU and for batches do not count. */
static bool waits_for_others(const struct facts *f, int64_t idle)
{
    struct query_waits w;
    int64_t gpu = 0;
    query_waits(f, &w);
    for (int i = 0; i < WAIT_CAUSES; i++)
        gpu += w.ns[i];
    return (f->host.asleep_ns - f->host.wait_ns - per_step(f, gpu)) * 2 > idle;
}

static void advise_waiting(const struct facts *f, struct outcome *o)
{
    outcome_evidence_per(o, "the launching threads sleep", ms(f->host.asleep_ns), "ms",
                         "SELECT * FROM host_sample");
    o->remedy.action = ACTION_WAIT_ASIDE;
}

/* What the texts are made from; times are per step. */
struct told {
    /* `spent`: the host's time in the range with most of it, also while the GPU works; 0 = no more
     * than `all`. */
    int64_t all, lost, inside, spent;
    const char *where;                 /* range with more than half of the time, or NULL */
    const char *mostly;                /* if many ranges share it: the largest of them, or NULL */
    bool compiled, waits, brief, line; /* line: the summary names one with most of it */
};

/* Returns where the host's work lies, as a part of the summary. */
static const char *place_text(const struct facts *f, struct arena *arena, const struct told *t)
{
    if (t->where)
        return arena_printf(arena, ", most of it (%s) in %s'%s'", time_text(arena, t->inside),
                            t->compiled ? "torch.compile's launching code, " : "",
                            short_name(t->where));
    if (t->mostly)
        return arena_printf(arena, " in many places, the most (%s) in '%s'",
                            time_text(arena, t->inside), short_name(t->mostly));
    if (f->health.python_functions > 0)
        return " in Python between operators";
    if (t->brief)
        return query_of_python(f) && !t->waits
                   ? " in many pauses below 1 ms (Python between operators)"
                   : " in many pauses below 1 ms";
    if (t->line)
        return "";
    if (query_silence_ns(f) * 2 > t->all)
        return " outside all recorded ranges and CUDA calls; nothing recorded says whether it "
               "makes "
               "a batch there";
    return f->tl->have & HAVE_RANGES && !t->waits && query_of_python(f)
               ? " outside all recorded ranges (Python between operators)"
               : " outside all recorded ranges";
}

static const char *summary(const struct facts *f, struct arena *arena, const struct told *t)
{
    const char *does =
        t->waits ? "waits for something else and computes nothing" : "does other work";
    const char *place = place_text(f, arena, t);
    const char *core = t->lost * QUERY_SOME >= t->all
                           ? arena_printf(arena, "; for up to %s of that its threads had no core",
                                          time_text(arena, t->lost))
                           : "";
    const char *spent = t->spent ? arena_printf(arena, ", where the host spends %s in all",
                                                time_text(arena, t->spent))
                                 : "";
    return arena_printf(arena, "the GPU waits %s %s while the host %s%s%s%s%s",
                        time_text(arena, t->all), scope_words(f)->per, does, place, spent, core,
                        query_line_text(f, arena, 1u << PART_IDLE_HOST));
}

/* Returns true if the weights were left on the CPU: then only another model, or results, are on the
 * GPU. */
static bool trains_on_cpu(const struct facts *f, const char *where)
{
    const char *weights = timeline_meta(f->tl, FACT_TORCH_PARAMETERS);
    return where && strncmp(where, "backward", 8) == 0 && weights && strstr(weights, ", on cpu");
}

/* Returns true if the range is a step of an optimizer that is not fused yet. */
static bool can_fuse(const struct facts *f, const char *range)
{
    const char *now = timeline_meta(f->tl, FACT_TORCH_OPTIMIZER);
    return range && !(now && strstr(now, "fused=True")) && timeline_names_update(range);
}

/* Returns true if most of the time, without the time that lacked a core, lies in one line of the
 * program or in its function. */
static bool in_a_line(const struct query_cause *c, const struct told *t)
{
    if (!c->line || c->line->ns <= 0)
        return false;
    double share = (double)c->line->part_ns[PART_IDLE_HOST] / (double)c->line->ns;
    return (double)c->ns * share * 2 >= (double)(t->all - t->lost) ||
           c->line->part_ns[PART_IDLE_HOST] * 2 >= t->all - t->lost;
}

/* Returns true if a compiler made the kernels already, but no graph launches them. */
static bool is_compiled_already(const struct facts *f)
{
    size_t kernels = 0, in_graphs = 0;
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        bool kernel = f->tl->ops[i].kind == OP_KERNEL && query_used(f, i);
        kernels += kernel;
        in_graphs += kernel && f->tl->ops[i].in_graph != GRAPH_NONE;
    }
    return query_fused_by_compiler(f) && in_graphs * 2 < kernels && query_captures_seen(f) == 0;
}

/* The line in which PyTorch's compiler works for most of that time. NULL: none. */
static const struct line *compiles_at(const struct facts *f, const struct told *t)
{
    const struct lines *l = facts_lines(f, LINES_STEP);
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].compiles && l->at[i].part_ns[PART_IDLE_HOST] * 2 >= t->all)
            return &l->at[i];
    return NULL;
}

static void advise(const struct facts *f, struct arena *arena, struct outcome *o,
                   const struct told *t)
{
    struct remedy *r = &o->remedy;
    struct query_cause line = query_cause(f);
    const char *named = t->where ? t->where : t->mostly;
    r->conditions[CONDITION_IMAGES] =
        named && query_name_has(named, "image|Image|transforms|torchvision|PIL|resize|Resize|crop|"
                                       "cv2|augment|zoom|jpeg|pixel|normalize");
    bool traced = f->health.python_functions > 0;
    r->conditions[CONDITION_LINES_KNOWN] = traced || facts_lines(f, LINES_STEP)->count > 0;
    const struct line *compiler = compiles_at(f, t);
    if (compiler) {
        o->title = "Compile once, not anew for other values";
        r->action = ACTION_COMPILE_ONCE;
        r->object.place = compiler->place;
    } else if (trains_on_cpu(f, t->where))
        r->action = ACTION_TRAIN_ON_GPU;
    else if (in_a_line(&line, t) && !can_fuse(f, t->where) && !t->compiled)
        outcome_look_at(o, arena, &line);
    else if (t->waits)
        advise_waiting(f, o);
    else if (can_fuse(f, t->where))
        r->action = ACTION_FUSE_HOST_UPDATE;
    else if (t->compiled || ((t->brief || t->mostly) && is_compiled_already(f)))
        r->action = ACTION_COMPILE_TO_GRAPHS;
    else if (t->brief && !traced)
        r->action = ACTION_RUN_LESS_BETWEEN_LAUNCHES; /* none of it can move */
    else
        r->conditions[CONDITION_SPREAD] = t->mostly != NULL;
}

/* Returns the host's time in ranges of this name, in ns per step. Nested ranges count once. */
static int64_t spent_in(const struct facts *f, const char *where)
{
    int64_t sum = 0, until = INT64_MIN;
    uint32_t thread = TL_NONE;
    for (const struct range *r = f->tl->ranges; r < f->tl->ranges + f->tl->range_count; r++) {
        until = r->thread == thread ? until : INT64_MIN;
        thread = r->thread;
        if (r->start_ns < until || strcmp(tl_text(f->tl, r->name), where) != 0)
            continue;
        until = r->end_ns;
        for (size_t i = 0; i < f->steps.count; i++) {
            const struct step *s = &f->steps.at[i];
            int64_t from = r->start_ns > s->start_ns ? r->start_ns : s->start_ns;
            int64_t to = r->end_ns < s->end_ns ? r->end_ns : s->end_ns;
            sum += s->used && to > from ? to - from : 0;
        }
    }
    return per_step(f, sum);
}

/* Removes all work in that range, also work done while the GPU is busy: without it the host reaches
 * sooner what the GPU waits for later. */
static struct edit skip_work(const struct facts *f, struct arena *arena, const char *where)
{
    bool *marks = arena_array(arena, f->tl->range_count + 1, sizeof *marks);
    for (size_t i = 0; marks && i < f->tl->range_count; i++)
        marks[i] = strcmp(tl_text(f->tl, f->tl->ranges[i].name), where) == 0;
    return (struct edit){.kind = marks ? &edit_skip : NULL,
                         .skip = {.range_marks = marks, .pause_ns = FACTS_LAUNCHING_NS},
                         .best_case = true};
}

static void fire(const struct facts *f, struct arena *arena, struct outcome *o,
                 const struct told *t)
{
    o->error_class = ERROR_RERUN_DECIDES; /* how much of that work can go is not known */
    if (t->where)
        o->edit = skip_work(f, arena, t->where);
    if (t->spent)
        outcome_evidence_per(o, "the host's time there in all, also while the GPU works,",
                             ms(t->spent), "ms", NULL);
    o->limit_ns = t->spent ? t->spent : t->all; /* removed work delays nothing any more */
    advise(f, arena, o, t);
    /* removed work does not wait for a core either */
    outcome_fires(o, t->all, summary(f, arena, t));
    outcome_example_gaps(o, f, PART_IDLE_HOST,
                         t->waits ? "GPU idle, host waiting for something else"
                                  : "GPU idle, host busy with other work");
}

static void check_host_work(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t elsewhere;
    const int64_t *other = explained_elsewhere(f, arena, &elsewhere);
    if (!other) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "out of memory";
        return;
    }
    int64_t all = f->breakdown_ns[PART_IDLE_HOST] - per_step(f, elsewhere);
    int64_t lost = without_core(f, all), idle = all - lost;
    o->why = arena_printf(arena, "the GPU waits %.3f ms %s for other work of the host",
                          ms(all > 0 ? all : 0), scope_words(f)->per);
    if (all * QUERY_WORTH < f->step_ns)
        return;
    size_t with_it = query_steps_with(f, PART_IDLE_HOST);
    if (with_it * 2 < f->steps.used) {
        o->why = arena_printf(arena,
                              "only %zu of %zu steps contain such work: it is not part of the loop",
                              with_it, f->steps.used);
        return;
    }
    if (is_lack_of_core(f, all) || idle * QUERY_WORTH < f->step_ns) {
        o->verdict = RULE_SUPPRESSED;
        o->why = arena_printf(arena,
                              "the training thread was ready to run but had no core for %s %s: "
                              "other programs, or too many threads, take the cores",
                              time_text(arena, f->host.starved_ns), scope_words(f)->per);
        return;
    }
    struct query_places p = query_host_places(f, other);
    const char *where = per_step(f, p.in_most) * 2 < all ? NULL : p.most;
    outcome_evidence_idle(o, f, "GPU idle while the host does other work", ms(all), PART_IDLE_HOST);
    if (lost > 0)
        outcome_evidence(o, "of that, at most, its threads were ready to run but had no core",
                         ms(lost), "ms", "SELECT * FROM host_sample");
    if (where)
        outcome_evidence(o, arena_printf(arena, "of that, inside '%s'", short_name(where)),
                         ms(per_step(f, p.in_most)), "ms", NULL);
    int64_t spent = where ? spent_in(f, where) : 0;
    struct told told = {.all = all,
                        .spent = spent > all ? spent : 0,
                        .lost = lost,
                        .inside = per_step(f, p.in_most),
                        .where = where,
                        .mostly = !where && per_step(f, p.named) * 2 >= all ? p.most : NULL,
                        .compiled = where && is_compiled(where) && query_captures_seen(f) == 0,
                        .waits = waits_for_others(f, idle),
                        .brief = !where && per_step(f, p.brief) * 2 >= all};
    struct query_cause line = query_cause(f);
    told.line = !where && in_a_line(&line, &told);
    fire(f, arena, o, &told);
}

const struct rule rule_host_work = {
    .id = "host-work",
    .title = "Move other host work out of the loop",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_host_work,
    .in_window = true,
    .host_pace = true,
    .window_title = "Do other host work beside the GPU, not before it",
    .looks_for = "A GPU that idles while the launching thread does something other than launching, "
                 "copying, waiting or loading data, for at least 0.2 ms at a time.",
    .doc =
        "Typical causes are Python between operators, post-processing on the CPU, metrics and "
        "logging. If the profile contains ranges, the finding names the range or function that "
        "contains most of this work; Python stacks (with_stack=True) or NVTX ranges make the "
        "name more precise. The finding says for how much of the time its threads had no core. "
        "If they mostly sleep meanwhile, the finding says that the host waits. Where most of the "
        "time is in pauses below 1 ms, it is the framework's way from one operator to the next, "
        "and less of it helps, not another thread. gpuprof cannot "
        "know how much of the work can go or move, so the bound is the whole idle time, or what "
        "a replay without any such work in that range saves, if that is more.",
    .remedy = {.action = ACTION_MOVE_HOST_WORK},
    .tips = {{"no-sync-reads", "Do not read results (.item(), .cpu(), print) in every step", NULL},
             {"compiled-steps", "Wrap the step in tf.function instead of running it eagerly",
              "gpuprof sees that launches come too slowly, but not which wrapper is missing"}},
};
