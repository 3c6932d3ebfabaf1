/* Finds steps by repetition, without marks. Rare operations (optimizer, loss, first convolution)
 * occur once per step, so many different operations agree on the number of steps. Periods are
 * nested: layers in a step, micro-batches in a step, steps between two evaluations. The step is the
 * shortest period that contains an update of the parameters; if no update is known by its name, a
 * copy between host and GPU. Little may happen less often than the step. If this finds nothing, a
 * period of equal segments in each of which the host waits may be the step; then the answer is
 * doubtful.
 *
 *   tokens in launch order -> occurrence counts -> H[K] + H[K+1] votes -> for each K the operation
 *   that cuts best (coverage, regularity, host's pause before it) -> the period -> steady state
 *
 * Cost: O(n log n), and a bounded number of passes over the tokens. Memory: 48 bytes per token. */
#include "analyzer/detect/detect.h"
#include "analyzer/detect/busiest.h"
#include "analyzer/detect/cut.h"
#include "analyzer/detect/judge.h"
#include "analyzer/detect/layers.h"
#include "analyzer/detect/limits.h"
#include "analyzer/detect/waits.h"
#include "analyzer/measure/median.h"

#include <math.h>
#include <stdlib.h>

enum { CANDIDATES = 15 };

/* ---- candidates ---- */

/* Finds the numbers of segments (K) with the most votes, at least `least`, best first. Returns how
 * many. */
static size_t candidates(const struct sequence *s, size_t least, size_t out_k[CANDIDATES],
                         size_t out_votes[CANDIDATES])
{
    uint32_t *h = calloc(s->n + 3, sizeof *h);
    size_t n = 0;
    if (!h)
        return 0;
    for (uint32_t x = 0; x < s->tokens; x++)
        h[count_of(s, x)]++;
    for (size_t k = 2; k <= s->n; k++) {
        size_t votes = (size_t)h[k] + h[k + 1];
        if (votes < least || (n == CANDIDATES && votes <= out_votes[n - 1]))
            continue;
        size_t i = n < CANDIDATES ? n++ : n - 1;
        for (; i > 0 && out_votes[i - 1] < votes; i--) {
            out_votes[i] = out_votes[i - 1];
            out_k[i] = out_k[i - 1];
        }
        out_votes[i] = votes;
        out_k[i] = k;
    }
    free(h);
    return n;
}

/* Cuts from one update of the parameters to the next, if updates are known by name. Returns 1; 0 if
 * the segments are no steps; -1 without memory. */
static int cut_at_updates(struct cut *c, const struct sequence *s, struct scratch *w)
{
    if (s->update == TL_NONE || count_of(s, s->update) < 3)
        return 0;
    *c = (struct cut){.k = count_of(s, s->update) - 1};
    for (uint32_t x = 0; x < s->tokens; x++)
        c->votes += count_of(s, x) == c->k || count_of(s, x) == c->k + 1;
    cut_by(c, s, s->update, w);
    return judge_steps(c, s, w);
}

/* Finds the best cut into `wanted` segments, or one fewer. Returns 1; 0 if there is none; -1
 * without memory. */
static int cut_into(struct cut *c, const struct sequence *s, size_t wanted, struct scratch *w)
{
    int rc = 0;
    for (size_t k = wanted; rc == 0 && k + 1 >= wanted && k > 0; k--) {
        *c = (struct cut){.k = k};
        rc = cut_best(c, s, k, DETECT_TRIES, w);
    }
    return rc > 0 && cut_judge(c, s, w) < 0 ? -1 : rc;
}

/* Finds the cuts whose segments could be steps by `judge`, one for each K. Returns how many, or -1
 * without memory. */
static int find_cuts(struct cut cuts[CANDIDATES], const struct sequence *s, size_t least,
                     judgement *judge, struct scratch *w)
{
    size_t k[CANDIDATES], votes[CANDIDATES], n = candidates(s, least, k, votes);
    size_t tries = DETECT_BUDGET / (CANDIDATES * (s->n + 1));
    tries = tries < 3 ? 3 : tries > DETECT_TRIES ? DETECT_TRIES : tries;
    int found = 0;
    for (size_t i = 0; i < n; i++) {
        struct cut c = {.votes = votes[i], .k = k[i]};
        int rc = cut_best(&c, s, k[i], tries, w);
        if (rc > 0)
            rc = judge(&c, s, w);
        if (rc < 0)
            return -1;
        if (rc)
            cuts[found++] = c;
    }
    return found;
}

static enum hint best_hint(const struct cut *cuts, size_t n)
{
    enum hint best = HINT_NONE;
    for (size_t i = 0; i < n; i++)
        best = cut_hint(&cuts[i]) > best ? cut_hint(&cuts[i]) : best;
    return best;
}

/* Equal layers repeat more often than passes through a model, and more kinds of operations agree on
 * them. So if nothing shows that the segments of `cuts` are steps, cuts into fewer segments, each
 * with a batch and a result, replace them. Returns the new number of cuts, or -1 without memory. */
static int passes_of_layers(struct cut cuts[CANDIDATES], int n, const struct sequence *s,
                            struct scratch *w)
{
    struct cut passes[CANDIDATES];
    int found = n > 0 && best_hint(cuts, (size_t)n) == HINT_NONE
                    ? find_cuts(passes, s, 2, judge_served, w)
                    : 0;
    int kept = 0;
    double layers = n > 0 ? (double)cuts[0].k : 0;
    for (int i = 0; i < found; i++)
        if ((double)passes[i].k * DETECT_TWICE <= layers)
            cuts[kept++] = passes[i];
    return found < 0 ? -1 : kept ? kept : n;
}

/* Finds all cuts that could be steps, by one kind of evidence after the other, the most reliable
 * first. `guess`: by the least reliable evidence only. Returns how many, or -1 without memory. */
static int all_cuts(struct cut cuts[CANDIDATES], const struct sequence *s, size_t wanted,
                    bool guess, struct scratch *w)
{
    if (wanted)
        return cut_into(&cuts[0], s, wanted, w);
    if (guess)
        return find_cuts(cuts, s, 1, judge_same, w);
    int found = cut_at_updates(&cuts[0], s, w);
    if (!found)
        found = passes_of_layers(cuts, find_cuts(cuts, s, DETECT_VOTES, judge_steps, w), s, w);
    if (!found)
        found = find_cuts(cuts, s, DETECT_VOTES, judge_behind, w);
    return found ? found : find_cuts(cuts, s, 1, judge_exact, w);
}

/* ---- which of the periods is the step ---- */

/* Compares cuts: by votes and by how many segments are alike, then by coverage. */
static bool better_cut(const struct cut *a, const struct cut *b)
{
    double x = (double)a->votes * a->alike * a->alike, y = (double)b->votes * b->alike * b->alike;
    return x > y || (x == y && a->coverage > b->coverage);
}

/* Conditions on a cut. */
struct wanted {
    enum hint hint;
    double k, whole, alike; /* minimum values */
};

static const struct cut *best_of(const struct cut *cuts, size_t n, const struct wanted *w)
{
    const struct cut *best = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct cut *c = &cuts[i];
        if (cut_hint(c) == w->hint && (double)c->k >= w->k && c->whole >= w->whole &&
            c->alike >= w->alike && (!best || better_cut(c, best)))
            best = c;
    }
    return best;
}

/* Takes the best cut, and then, as long as there is one, a cut within its segments whose segments
 * are as alike. A cut into the halves of a step that trains two models is not taken, because its
 * segments differ. */
static const struct cut *choose_cut(const struct cut *cuts, size_t n)
{
    struct wanted w = {.hint = best_hint(cuts, n)};
    for (size_t i = 0; i < n; i++)
        if (cut_hint(&cuts[i]) == w.hint)
            w.whole = fmax(w.whole, DETECT_ENOUGH * cuts[i].whole);
    const struct cut *chosen = NULL;
    for (const struct cut *c = best_of(cuts, n, &w); c; c = best_of(cuts, n, &w)) {
        chosen = c;
        w.k = DETECT_TWICE * (double)c->k;
        w.alike = DETECT_ENOUGH * c->alike;
        if (layers_alike(c))
            break;
    }
    for (const struct cut *c = chosen; c && layers_alike(c); c = layers_pass(cuts, n, c))
        chosen = c;
    return chosen;
}

/* ---- the answer ---- */

/* Returns true for operations that run only before or behind the loop: a compiler's trials, copies
 * of the data set, copies of the trained weights. */
static bool outside(const struct sequence *s, uint32_t x, const struct cut *by)
{
    const uint32_t *p = s->position + s->first[x], *end = s->position + s->first[x + 1];
    const uint32_t *c = s->position + s->first[by->token];
    size_t n = count_of(s, by->token);
    bool few = by->from || count_of(s, x) * DETECT_RARE < n;
    if (few && end[-1] < c[n / DETECT_START])
        return true;
    if (s->role[x] != ROLE_COPY)
        return false;
    while (p < end && (*p < *c || *p > c[n - 1]))
        p++;
    return p == end;
}

/* Returns how often an operation recurs at equal distances and less often than the segments; 0 if
 * none does. If no update is known, several segments may then be one step. */
static size_t outer_period(const struct sequence *s, const struct cut *c, struct scratch *w)
{
    size_t best = 0;
    for (uint32_t x = 0; x < s->tokens; x++) {
        size_t n = count_of(s, x);
        if (n >= DETECT_OFTEN && n > best && (double)n * DETECT_TWICE <= (double)c->k &&
            !outside(s, x, c) && cut_regularity(s, x, w->v) < DETECT_REGULAR)
            best = n;
    }
    return best;
}

/* Returns how many times a pattern of many operations repeats within each segment, as layers and
 * micro-batches do; 0 if none does. */
static size_t inner_repeats(const struct sequence *s, const struct cut *c)
{
    size_t k[CANDIDATES], votes[CANDIDATES], n = candidates(s, DETECT_VOTES, k, votes);
    for (size_t i = 0; i < n; i++) {
        double times = (double)k[i] / (double)c->k;
        if (times >= DETECT_TWICE && fabs(times - round(times)) < DETECT_WHOLE)
            return (size_t)round(times);
    }
    return 0;
}

/* Returns a sentence on why other segments may be the steps. */
static const char *doubt_of(const struct sequence *s, const struct cut *c, double confidence,
                            size_t outer, bool layers, bool few, struct arena *arena)
{
    size_t inner = inner_repeats(s, c);
    const char *more = "", *less = "";
    if (layers)
        more = "; they may be the layers of one pass through a model";
    else if (outer)
        more = arena_printf(arena, "; %.1f of them may be one step, because others occur %zu times",
                            (double)c->k / (double)outer, outer);
    else if (c->guessed)
        more = "; they look alike, but each may also be a part of a step, or several";
    else if (few)
        more = "; they are few, and none updates parameters, so each may be a part of a step";
    if (inner)
        less = arena_printf(arena, "; in each a pattern repeats %zu times", inner);
    return more && less ? arena_printf(arena,
                                       "confidence %.0f %% that these are the steps%s%s. Name a "
                                       "kernel that runs once in each step: --step-kernel NAME",
                                       100 * confidence, more, less)
                        : NULL;
}

/* True for segments that are no steps, because so much of the recorded time lies outside of them:
 * layers of a model that ran once, and doubtful ones behind a long start-up. */
static bool is_aside(const struct detected *d, const struct sequence *s, int64_t *v)
{
    for (size_t i = 0; i < d->count; i++)
        v[i] = d->at[i].end_ns - d->at[i].start_ns;
    double ns = (double)median_ns(v, d->count) * (double)d->count,
           all = (double)(s->time[s->n - 1] - s->time[0]);
    return (d->confidence < DETECT_HALF && ns * DETECT_RARE < all) ||
           (d->layers && ns < DETECT_PASS_WHOLE * all);
}

/* Fills the answer from cut c, if it is one. `layers`: the segments may be layers. Returns -1
 * without memory. */
static int fill(struct detected *d, const struct sequence *s, const struct cut *c, bool layers,
                struct arena *arena, struct scratch *w)
{
    d->count = count_of(s, c->token) - 1;
    d->at = arena_array(arena, d->count, sizeof *d->at);
    d->steady = arena_array(arena, d->count, sizeof *d->steady);
    if (!d->at || !d->steady || cut_steady(d->steady, s, c->token, w) < 0)
        return -1;
    const uint32_t *p = s->position + s->first[c->token];
    for (size_t i = 0; i < d->count; i++)
        d->at[i] = (struct span){s->time[p[i]], s->time[p[i + 1]]};
    d->votes = c->votes;
    d->guessed = c->guessed;
    d->layers = layers;
    bool sure = cut_hint(c) == HINT_UPDATES; /* work before or behind the loop does not matter */
    d->confidence = fmin(fmin(c->coverage, c->similarity), sure ? c->within : c->whole);
    size_t outer = sure ? 0 : outer_period(s, c, w);
    /* Without a known update, the segments must also fill most of the time and come regularly. */
    if (!sure)
        d->confidence = fmax(0, fmin(d->confidence, fmin(c->steady, 1 - c->regularity)));
    bool few = !sure && c->k <= DETECT_LAYERS_MOST, given = c->votes == 0;
    if (!given && (outer || c->from || layers || few || c->guessed))
        d->confidence = fmin(d->confidence, DETECT_DOUBT);
    if (!given && !sure && is_aside(d, s, w->v))
        return 0;
    d->text =
        given ? arena_printf(arena, "cut into %zu steps, as given", d->count)
              : arena_printf(arena, "detected: %zu operation%s once in each of %zu steps%s",
                             c->votes, c->votes == 1 ? " that occurs" : "s that occur", d->count,
                             c->token == s->update ? ", the optimizer's among them" : "");
    if (d->text && !given && d->confidence < DETECT_SURE)
        d->doubt = doubt_of(s, c, d->confidence, outer, layers, few, arena);
    return d->text ? 0 : -1;
}

/* A program that times its passes waits for the whole GPU in each of them. So segments with such a
 * wait are no layers. If only few segments have one, longer segments that all have it replace them.
 * Returns -1 without memory. */
static int timed_pass(const struct cut **c, bool *layers, struct cut passes[CANDIDATES],
                      const struct sequence *s, const struct timeline *t, uint32_t process,
                      struct scratch *w)
{
    double share = waits_for_device(*c, s, t, process);
    *layers &= share < DETECT_NEARLY_ALL;
    if (share <= 0 || share >= DETECT_HALF)
        return share < 0 ? -1 : 0;
    int n = find_cuts(passes, s, DETECT_VOTES, judge_pass, w);
    return n > 0 ? waits_pass(c, passes, n, s, t, process) : n;
}

/* Finds the steps in one sequence and fills *d; d->text stays NULL if there are none. Returns -1
 * without memory. */
static int detect(struct detected *d, const struct timeline *t, const struct sequence_of *of,
                  size_t wanted, bool guess, struct arena *arena)
{
    struct sequence s;
    struct scratch w = {0};
    struct cut cuts[CANDIDATES], passes[CANDIDATES];
    const struct cut *c = NULL;
    int rc = sequence_build(&s, t, of);
    if (rc == 0) {
        w.v = malloc((s.n + 2) * sizeof *w.v);
        w.seen = malloc(((size_t)s.tokens + 1) * sizeof *w.seen);
        w.count = calloc((size_t)s.tokens + 1, sizeof *w.count);
        rc = w.v && w.seen && w.count ? 0 : -1;
    }
    if (rc == 0 && s.n >= 2)
        rc = all_cuts(cuts, &s, wanted, guess, &w);
    if (rc > 0 && !wanted)
        rc = drop_cuts_in_calls(cuts, rc, &s, t, of->process);
    if (rc > 0 && guess)
        rc = keep_cuts_with_waits(cuts, rc, &s, t, of->process);
    if (rc > 0)
        c = choose_cut(cuts, (size_t)rc);
    bool layers = c && layers_perhaps(cuts, (size_t)rc, c);
    if (c && !wanted && cut_hint(c) == HINT_NONE)
        rc = timed_pass(&c, &layers, passes, &s, t, of->process, &w);
    if (c && rc >= 0)
        rc = fill(d, &s, c, layers, arena, &w);
    free(w.v);
    free(w.seen);
    free(w.count);
    sequence_release(&s);
    return rc;
}

int detect_steps(struct detected *d, const struct timeline *t, uint32_t process, size_t wanted,
                 bool guess, struct arena *arena, struct err *e)
{
    *d = (struct detected){0};
    struct busiest b;
    if (busiest_of_several(&b, t, process) < 0)
        return err_no_memory(e);
    const struct sequence_of tried[] = {{process, b.even ? b.device : TL_NONE, false},
                                        {process, TL_NONE, false},
                                        {process, TL_NONE, true}, /* shapes vary: compare names
                                                                     only */
                                        {process, b.device, false}};
    int rc = 0;
    for (size_t i = !b.even; i < (b.device == TL_NONE ? 3 : 4) && rc == 0 && !d->text; i++)
        rc = detect(d, t, &tried[i], wanted, false, arena);
    if (rc == 0 && !d->text && !wanted && guess && t->op_count)
        rc = detect(d, t, &tried[!b.even], wanted, true, arena);
    if (rc < 0)
        return err_no_memory(e);
    if (!d->text && wanted)
        return err_set(e,
                       "--steps-per-run: nothing that was recorded occurs %zu times, so it cannot "
                       "be cut into so many steps: try --step-kernel",
                       wanted);
    return 0;
}
