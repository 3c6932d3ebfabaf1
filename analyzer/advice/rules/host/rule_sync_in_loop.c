/* Fires if the host waits for the GPU within the step and then launches into an empty queue. */
#include "analyzer/advice/outcome_loader.h"
#include "analyzer/advice/rule.h"
#include "analyzer/advice/rules/limits.h"
#include "analyzer/queries/ranks/comm.h"
#include "analyzer/queries/dominant.h"
#include "analyzer/queries/lines.h"
#include "analyzer/queries/training/actions.h"
#include "analyzer/queries/host.h"
#include "analyzer/queries/training/checks.h"
#include "analyzer/queries/training/phase.h"
#include "analyzer/queries/training/sharding.h"
#include "analyzer/queries/search.h"
#include "analyzer/queries/waits.h"
#include "wire/fact_keys.h"

#include <string.h>

enum { CALLS = 64 /* names and lines of waiting calls that are counted separately */ };

/* Calls of one name, from one line if that is known, in used steps. */
struct waiting {
    uint32_t name, caller, longest;
    int64_t ns, longest_ns;
};

/* In used steps. */
struct syncs {
    struct waiting by_name[CALLS];
    size_t names;
    int64_t count, blocked_ns;
    int64_t read_backs, scalars; /* copies to the host; of these, copies of a few bytes */
};

static void count_wait(struct syncs *s, const struct api *c, uint32_t index)
{
    int64_t ns = c->end_ns - c->start_ns;
    size_t k = 0;
    s->count++;
    s->blocked_ns += ns;
    while (k < s->names && (s->by_name[k].name != c->name || s->by_name[k].caller != c->caller))
        k++;
    if (k == CALLS)
        return;
    if (k == s->names)
        s->by_name[s->names++] =
            (struct waiting){.name = c->name, .caller = c->caller, .longest_ns = -1};
    struct waiting *w = &s->by_name[k];
    w->ns += ns;
    if (ns > w->longest_ns) {
        w->longest_ns = ns;
        w->longest = index;
    }
}

static struct syncs sync_calls(const struct facts *f, const bool *not_these)
{
    struct syncs s = {.names = 0};
    const struct timeline *t = f->tl;
    for (uint32_t i = 0; i < t->api_count; i++) {
        const struct api *c = &t->apis[i];
        bool back = query_reads_back(t, c), wait = query_call_wait(t, c) == CALL_AWAITS_GPU;
        if ((not_these && not_these[i]) || (!back && !wait) ||
            t->threads[c->thread].process != f->steps.process ||
            query_step_at(f, c->start_ns) == TL_NONE)
            continue;
        s.read_backs += back;
        s.scalars += back && t->ops[c->op].bytes <= RULES_SCALAR_BYTES;
        if (wait)
            count_wait(&s, c, i);
    }
    return s;
}

/* Returns the calls with most of the waiting time, or NULL if there are none. */
static const struct waiting *worst(const struct syncs *s)
{
    const struct waiting *w = NULL;
    for (size_t i = 0; i < s->names; i++)
        if (!w || s->by_name[i].ns > w->ns)
            w = &s->by_name[i];
    return w;
}

/* Removes the version: "cudaEventSynchronize" from "cudaEventSynchronize_v3020". */
static const char *plain_name(const struct facts *f, struct arena *arena, const struct waiting *w)
{
    const char *name = tl_text(f->tl, w->name), *version = strstr(name, "_v");
    return arena_printf(arena, "%.*s", version ? (int)(version - name) : 60, name);
}

/* Returns true if the call measures time: it waits for an event that was recorded just before, and
 * an earlier event was recorded with work in between. */
static bool measures_time(const struct timeline *t, uint32_t api)
{
    enum { BEHIND = 64 /* most calls between the two events */ };
    const struct api *c = &t->apis[api];
    uint32_t first = t->threads[c->thread].first_api;
    if (c->kind != API_SYNC_EVENT || api == first || t->apis[api - 1].kind != API_EVENT_RECORD)
        return false;
    bool work = false;
    for (uint32_t i = api - 1; i > first && api - i < BEHIND; i--) {
        const struct api *before = &t->apis[i - 1];
        if (before->kind == API_SYNC_EVENT)
            return false;
        if (before->kind == API_EVENT_RECORD)
            return work;
        work |= before->op != TL_NONE;
    }
    return false;
}

/* Returns true if most of the host's waiting is in such calls. */
static bool mostly_timing(const struct facts *f, const struct syncs *s, const bool *others)
{
    int64_t ns = 0;
    const struct timeline *t = f->tl;
    for (uint32_t i = 0; i < t->api_count; i++)
        if (!(others && others[i]) && t->threads[t->apis[i].thread].process == f->steps.process &&
            query_step_at(f, t->apis[i].start_ns) != TL_NONE && measures_time(t, i))
            ns += t->apis[i].end_ns - t->apis[i].start_ns;
    return ns * 2 > s->blocked_ns;
}

static void advise_for_timing(struct outcome *o)
{
    o->remedy.action = ACTION_READ_TIMES_ONCE;
}

/* True if the host waits so often that its lead is lost again and again, with a core or without. */
static bool often(const struct facts *f, const struct syncs *s)
{
    return s->count >= RULES_WAITS_OFTEN * (int64_t)f->steps.used;
}

/* Chooses the remedy for the most frequent cause of waiting, or a general one if the cause is not
 * known. */
static void advise(const struct facts *f, struct arena *arena, struct outcome *o,
                   const struct query_waits *w, const struct syncs *s)
{
    bool reads = s->read_backs > 0;
    const struct waiting *most = worst(s);
    static const enum action by_cause[WAIT_CAUSES] = {
        [WAIT_MASK] = ACTION_FIX_RESULT_SIZES,
        [WAIT_READ] = ACTION_READ_RARELY,
        [WAIT_EXPLICIT] = ACTION_REMOVE_SYNCHRONIZE,
        [WAIT_UPLOAD] = ACTION_UPLOAD_WITHOUT_WAITING,
    };
    o->remedy.object.name = most ? plain_name(f, arena, most) : NULL;
    if (!reads && w->most == WAIT_OTHER) /* nothing is read back: the wait is explicit */
        o->remedy.action = ACTION_LET_STREAMS_WAIT;
    if (by_cause[w->most])
        o->remedy.action = by_cause[w->most];
    if (w->most == WAIT_UPLOAD && query_waits_in_loader(f) && often(f, s)) /* each sample's */
        o->remedy.action = ACTION_UPLOAD_BATCHES;
    if (reads && w->most == WAIT_OTHER && timeline_meta(f->tl, FACT_TORCH_VERSION))
        o->remedy.action = ACTION_FIND_WAIT; /* the hook would have seen a tensor being read */
}

/* The call that the hook names: "sync bool() train.py:9". One inside an installed package, which stands
 * there with the package's folder, may not be the user's to change. */
static void advise_for_call(const struct facts *f, struct arena *arena, struct outcome *o,
                            const struct waiting *w)
{
    const char *in = w ? query_range_of(f, w->longest) : NULL;
    if (in && query_waits_for_shards(in)) {
        o->remedy.action = ACTION_LOWER_ZERO_STAGE;
        return;
    }
    const char *place = in && strncmp(in, "sync ", 5) == 0 ? strrchr(in, ' ') + 1 : "";
    size_t n = strcspn(place, "/");
    if (*place && !o->remedy.object.place)
        o->remedy.object.place = place;
    if (*place && o->remedy.action == ACTION_WAIT_LESS && strncmp(in, "sync bool()", 11) == 0)
        remedy_text(&o->remedy, PARAM_OPERATOR, "if");
    if (place[n] != '/')
        return;
    const char *package = arena_printf(arena, "%.*s", (int)n, place);
    o->remedy.object.place = place;
    remedy_text(&o->remedy, PARAM_PACKAGE, package);
    outcome_waits_in(o, place, package);
}

/* Returns the idle time of waits that other rules explain, in ns per step. */
static int64_t claimed_elsewhere(const struct facts *f, struct arena *arena)
{
    struct query_phase clipping = query_phase(f, arena, &phase_clipping);
    struct query_phase scaling = query_phase(f, arena, &phase_scaling);
    return per_step(f, clipping.sync_ns + scaling.sync_ns);
}

/* Returns, by call, waits that belong to something else: cuDNN's search for algorithms, and checks
 * for NaN. NULL: none. */
static const bool *not_these(const struct facts *f, struct arena *arena, const bool *search,
                             const bool *checks)
{
    bool *both = search && checks ? arena_array(arena, f->tl->api_count + 1, 1) : NULL;
    for (size_t i = 0; both && i < f->tl->api_count; i++)
        both[i] = search[i] || checks[i];
    return both ? both : checks ? checks : search;
}

/* True if the training thread had no core for as long as the GPU idles after waits. */
static bool crowded(const struct facts *f, int64_t idle)
{
    return query_lack_of_core_dominates(f) && f->host.starved_ns >= idle;
}

/* Returns true if the idle time after a wait has another cause: the training thread had no core at
 * that time. */
static bool lacked_a_core(const struct facts *f, struct arena *arena, struct outcome *o,
                          const struct syncs *s, int64_t idle)
{
    size_t with_it = query_steps_with(f, PART_IDLE_SYNC);
    if (with_it * 2 < f->steps.used && f->host.starved_ns >= idle) {
        o->why = arena_printf(
            arena,
            "only %zu of %zu steps idle after one, and the training thread had no core for %s %s",
            with_it, f->steps.used, time_text(arena, f->host.starved_ns), scope_words(f)->per);
        return true;
    }
    if (crowded(f, idle) && !often(f, s)) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = arena_printf(arena,
                              "the GPU idles %s %s after synchronisations, but the training thread "
                              "had no core for %s: record again on free cores",
                              time_text(arena, idle), scope_words(f)->per,
                              time_text(arena, f->host.starved_ns));
        return true;
    }
    return false;
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct syncs *s,
                         const struct query_waits *why, int64_t idle)
{
    double used = (double)(f->steps.used ? f->steps.used : 1);
    const char *rows =
        "SELECT a.* FROM api a JOIN string s ON s.id = a.name WHERE s.text LIKE '%Synchronize%' "
        "OR s.text LIKE 'cudaMemcpy%' ORDER BY end_ns - start_ns DESC";
    outcome_evidence_idle(o, f, "GPU idle after synchronisations", ms(idle), PART_IDLE_SYNC);
    outcome_evidence_per(o, "synchronising calls", (double)s->count / used, "count", rows);
    outcome_evidence_per(o, "host blocked in them", ms(per_step(f, s->blocked_ns)), "ms", rows);
    outcome_evidence_per(o, "results read back (D2H)", (double)s->read_backs / used, "count",
                         "SELECT * FROM copy WHERE kind = 2");
    if (s->scalars)
        outcome_evidence(o,
                         query_of_python(f) ? "of them, single numbers, as .item() reads them"
                                            : "of them, single numbers (64 bytes and less)",
                         (double)s->scalars / used, "count",
                         "SELECT * FROM copy WHERE kind = 2 AND bytes <= 64");
    if (why->count[WAIT_MASK])
        outcome_evidence(o, "waits for the size of a result (x[mask], nonzero)",
                         (double)why->count[WAIT_MASK] / used, "count", NULL);
}

/* If the program does not read a tensor itself, returns which operator ran on the GPU right before
 * the wait, e.g. ", behind nonzero (DeviceSelectSweepKernel), launched at train.py:9"; else "". */
static const char *behind(const struct facts *f, struct arena *arena, struct outcome *o,
                          const struct waiting *w, enum wait_cause most)
{
    uint32_t launch;
    if (!w || (most != WAIT_MASK && (most != WAIT_OTHER || o->remedy.action != ACTION_FIND_WAIT)))
        return "";
    const char *runs = query_wait_operator(f->tl, w->longest, &launch);
    if (launch == TL_NONE)
        return "";
    const char *line = outcome_caller(f->tl, launch);
    const char *kernel =
        query_kernel_function(tl_text(f->tl, f->tl->ops[f->tl->apis[launch].op].name), arena);
    if (line && !o->remedy.object.place)
        o->remedy.object.place = arena_printf(arena, "%.*s", (int)strcspn(line, " ,"), line);
    remedy_text(&o->remedy, PARAM_OPERATOR, runs);
    const char *text =
        arena_printf(arena, ", behind %s%s%s%s%s%s", runs ? runs : "the kernel ",
                     runs && kernel ? " (" : "", kernel ? kernel : "", runs && kernel ? ")" : "",
                     line ? ", launched at " : "", line ? line : "");
    return text ? text : "";
}

/* `w`: the calls with most of the waiting time, or NULL. */
static void fire(const struct facts *f, struct arena *arena, struct outcome *o,
                 const struct waiting *w, int64_t idle, int64_t cost, enum wait_cause most)
{
    const char *in = w ? query_range_of(f, w->longest) : NULL,
               *after = query_gap_range(f, PART_IDLE_SYNC);
    const char *line = w ? outcome_caller(f->tl, w->longest) : NULL;
    if (!line && !(in && strncmp(in, "sync ", 5) == 0)) /* such a range's name contains the line */
        line = query_wait_line(f, arena);
    bool elsewhere = after && (!in || strcmp(in, after) != 0);
    const char *before = behind(f, arena, o, w, most);
    outcome_fires(
        o, cost,
        arena_printf(arena,
                     "%s%s%s%s waits for the GPU%s%s%s%s; the GPU then idles for %s %s%s%s%s",
                     w ? tl_text(f->tl, w->name) : "a synchronisation", in ? " (in range '" : "",
                     in ? in : "", in ? "')" : "", scope_words(f)->in_loop,
                     line ? ", called from " : "", line ? line : "", before, time_text(arena, idle),
                     scope_words(f)->per, elsewhere ? ", most of it in range '" : "",
                     elsewhere ? after : "", elsewhere ? "'" : ""));
    if (cost > idle)
        o->summary = arena_printf(arena,
                                  "%s, and for %s from the data of each action to its read, which "
                                  "actions that are chosen together share",
                                  o->summary, time_text(arena, cost));
    if (crowded(f, idle))
        o->summary = arena_printf(arena,
                                  "%s; the training thread had no core for %s, so that part of it "
                                  "may have that cause",
                                  o->summary, time_text(arena, f->host.starved_ns));
    if (w)
        outcome_example_call(o, f->tl, w->longest, "longest wait");
    outcome_example_gaps(o, f, PART_IDLE_SYNC, "GPU idle after a synchronisation");
    int64_t silent = query_silence_ns(f), of_line;
    if (silent * QUERY_SOME <= f->step_ns)
        return;
    const struct line *l = query_line_of(f, 1u << PART_IDLE_SYNC | 1u << PART_IDLE_HOST, &of_line);
    char named[512];
    bool saves = o->remedy.action == ACTION_READ_RARELY && !in && !line;
    if (l && saves && !o->remedy.object.place) /* it reads what it then works on, as torch.save() */
        o->remedy.object.place = l->place;
    o->summary =
        arena_printf(arena, "%s. While it idles the host makes no CUDA call for %s %s%s%s",
                     o->summary, time_text(arena, silent), scope_words(f)->per, l ? ": " : "",
                     l ? line_text(l, named, sizeof named)
                       : ", and no range says why: if it makes a batch, do that ahead of the loop");
    outcome_evidence_per(o, "idle while the host makes no CUDA call, in no range,", ms(silent),
                         "ms", NULL);
}

/* Returns true if most of the waiting is for actions that an environment needs. Reading them later
 * is no remedy, and only a rerun shows how much less the program then waits. *cost: at most what the
 * GPU idles in all while it works for the actions, since several of them would share that. */
static bool advise_for_actions(const struct facts *f, struct outcome *o, int64_t *cost)
{
    struct query_actions a = query_actions(f);
    if (a.count == 0 || a.ns * 2 < a.all_ns || (size_t)a.count * 2 < f->steps.used ||
        query_all_with_all(f).count > 0) /* it reads the sizes of what it receives */
        return false;
    double used = (double)(f->steps.used ? f->steps.used : 1);
    outcome_evidence(o, "of them, read before the next data come, with no backward pass (actions)",
                     (double)a.count / used, "count", NULL);
    outcome_evidence_per(o, "GPU idle from an action's data to its read,",
                         ms(per_step(f, a.idle_ns)), "ms", NULL);
    *cost = per_step(f, a.idle_ns) > *cost ? per_step(f, a.idle_ns) : *cost;
    o->remedy.action = ACTION_CHOOSE_ACTIONS_TOGETHER;
    o->error_class = ERROR_RERUN_DECIDES;
    return true;
}

static void check_sync_in_loop(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_search search = query_search(f, arena);
    struct query_checks checks = query_checks(f, arena);
    int64_t idle = f->breakdown_ns[PART_IDLE_SYNC] - claimed_elsewhere(f, arena);
    idle -= per_step(f, search.sync_ns + checks.read_ns);
    const bool *others = not_these(f, arena, search.call_marks, checks.call_marks);
    struct syncs s = sync_calls(f, others);
    double used = (double)(f->steps.used ? f->steps.used : 1);
    o->why = arena_printf(arena, "%.1f synchronisations %s leave the GPU idle for %.3f ms",
                          (double)s.count / used, scope_words(f)->per, ms(idle > 0 ? idle : 0));
    bool none = s.count + s.read_backs == 0; /* all waits are explained by other rules */
    if (idle * QUERY_WORTH < f->step_ns || none)
        return;
    if (lacked_a_core(f, arena, o, &s, idle))
        return;
    struct query_waits why;
    query_waits(f, &why);
    add_evidence(f, o, &s, &why, idle);
    int64_t cost = idle;
    if (!advise_for_actions(f, o, &cost)) {
        advise(f, arena, o, &why, &s);
        o->edit =
            (struct edit){.kind = &edit_unsync, .spared = others, .best_case = crowded(f, idle)};
        advise_for_call(f, arena, o, worst(&s));
        if (why.most == WAIT_OTHER && mostly_timing(f, &s, others))
            advise_for_timing(o);
    }
    fire(f, arena, o, worst(&s), idle, cost, why.most);
}

const struct rule rule_sync_in_loop = {
    .id = "sync-in-loop",
    .title = "Do not wait for the GPU in every step",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_STEPS,
    .check = check_sync_in_loop,
    .in_window = true,
    .window_title = "Wait for the GPU less often",
    .looks_for = "GPU idle time after cuda*Synchronize, a blocking copy back, .item(), .cpu() or "
                 "print(tensor).",
    .doc = "A synchronisation itself costs little, but it costs the host its lead: afterwards the "
           "queue is empty, and the GPU waits for every launch, copy and piece of host work until "
           "the queue has filled again. gpuprof counts only this idle time. Removing a wait saves "
           "nothing if the next synchronisation waits instead: if a step has several, the finding "
           "states the saving of the best one alone and of all together. .detach() does not remove "
           "a synchronisation. Of a program in C or C++ the finding names the line that waits. If "
           "the program can load code itself, as NVTX's header can, gpuprof names the line only "
           "with GPUPROF_STACKS=1 in the environment of gpuprof run.",
    .remedy = {.action = ACTION_WAIT_LESS, .object.kind = OBJECT_CALL},
    .tips = {{"no-sync-reads", "Do not read results (.item(), .cpu(), print) in every step", NULL}},
};
