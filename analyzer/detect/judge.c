/* Decides whether the segments of a cut could be steps: one function for each kind of evidence,
 * from an update in each segment down to segments that only look alike. */
#include "analyzer/detect/judge.h"

#include "analyzer/detect/layers.h"
#include "analyzer/detect/limits.h"

#include <math.h>
#include <stdlib.h>

/* True for weights that move to the GPU or back tensor by tensor: two tensors of the same size look
 * alike, but are no steps. */
static bool moves_only(const struct cut *c)
{
    return c->computing < DETECT_HALF;
}

/* True if all that the GPU ran recurs alike, in segments longer than a layer. Then a first segment
 * that takes most of the time is a slow first pass. */
static bool all_recurs(const struct cut *c, const struct sequence *s)
{
    return c->coverage >= 1 && c->similarity >= 1 && c->whole >= DETECT_NEARLY_ALL &&
           s->n >= c->k * DETECT_LAYER_LONG;
}

int judge_steps(struct cut *c, const struct sequence *s, struct scratch *w)
{
    if (c->coverage < DETECT_HALF || c->similarity < DETECT_ALIKE || cut_splits_calls(s, c->token))
        return 0;
    if (cut_judge(c, s, w) < 0)
        return -1;
    /* A long warm-up takes most of the time; the steps after it, each with a batch, do most of the
     * work. */
    bool fills = cut_fills_recording(s, c->token, w->v) ||
                 (cut_hint(c) >= HINT_COPIES && c->steady >= DETECT_WORK) || all_recurs(c, s);
    if (!fills || layers_once(c) || moves_only(c))
        return 0;
    if (cut_hint(c) == HINT_UPDATES)
        return 1;
    return c->steady >= DETECT_WORK && (c->coverage >= DETECT_NEARLY_ALL ||
                                        (cut_hint(c) == HINT_COPIES && c->k >= DETECT_OFTEN));
}

/* Returns how many segments at the beginning, `most` at most, differ from the rest: operations of
 * the loop may have run before it, with a compiler's trials in between. -1 without memory. */
static long began_before(const struct sequence *s, uint32_t x, size_t most, struct scratch *w)
{
    size_t n = count_of(s, x) - 1, other = 0;
    bool *steady = malloc((n + 1) * sizeof *steady);
    int rc = steady ? cut_steady(steady, s, x, w) : -1;
    for (size_t i = 0; rc == 0 && i < n && i < most; i++)
        other = steady[i] ? other : i + 1;
    free(steady);
    return rc < 0 ? -1 : (long)other;
}

/* Returns the coverage counting only operations behind c->from, because a compiler's trials before
 * it may be as frequent. */
static double covered_behind(const struct cut *c, const struct sequence *s)
{
    size_t common = 0, behind = 0;
    for (uint32_t x = 0; x < s->tokens; x++) {
        bool often = count_of(s, x) >= c->k;
        common += often;
        behind += often && s->position[s->first[x + 1] - 1] >= c->from;
    }
    return behind ? fmin(1, c->coverage * (double)common / (double)behind) : 0;
}

int judge_behind(struct cut *c, const struct sequence *s, struct scratch *w)
{
    if (c->k < DETECT_MANY_BEHIND || c->similarity < DETECT_NEARLY_ALL ||
        cut_splits_calls(s, c->token))
        return 0;
    long late = began_before(s, c->token, c->k / DETECT_START, w);
    if (late < 0)
        return -1;
    c->from = s->position[s->first[c->token] + (size_t)late];
    c->coverage = covered_behind(c, s);
    if (c->coverage < DETECT_NEARLY_ALL)
        return 0;
    if (cut_judge(c, s, w) < 0)
        return -1;
    return c->alike >= DETECT_NEARLY_ALL && c->steady >= DETECT_NEARLY_ALL && !moves_only(c);
}

int judge_exact(struct cut *c, const struct sequence *s, struct scratch *w)
{
    if (c->k < DETECT_OFTEN || c->coverage < 1 || c->similarity < 1 ||
        cut_splits_calls(s, c->token))
        return 0;
    if (cut_judge(c, s, w) < 0)
        return -1;
    bool loops = cut_hint(c) == HINT_COPIES || (c->k >= DETECT_MANY && c->votes > 1);
    return c->alike >= DETECT_NEARLY_ALL && c->steady >= DETECT_NEARLY_ALL && loops &&
           !moves_only(c);
}

int judge_served(struct cut *c, const struct sequence *s, struct scratch *w)
{
    int kinds = 0;
    for (uint32_t x = 0; x < s->tokens; x++)
        kinds += s->role[x] == ROLE_COPY && (count_of(s, x) == c->k || count_of(s, x) == c->k + 1);
    if (kinds < 2 || c->k < DETECT_OFTEN || c->coverage < 1 || c->similarity < 1 ||
        cut_splits_calls(s, c->token))
        return 0;
    if (cut_judge(c, s, w) < 0)
        return -1;
    return c->alike >= DETECT_NEARLY_ALL && c->within >= DETECT_NEARLY_ALL &&
           c->steady >= DETECT_HALF && cut_hint(c) == HINT_COPIES && !moves_only(c);
}

int judge_same(struct cut *c, const struct sequence *s, struct scratch *w)
{
    if (c->k < DETECT_OFTEN || c->coverage < DETECT_HALF || c->similarity < 1 ||
        cut_splits_calls(s, c->token) || !cut_fills_recording(s, c->token, w->v))
        return 0;
    if (cut_judge(c, s, w) < 0)
        return -1;
    c->guessed = true;
    /* A program that reads the result of each of many passes may now and then act on a result. */
    bool reads = cut_hint(c) == HINT_COPIES && c->k >= DETECT_MANY;
    return c->alike >= DETECT_MOST && c->within >= (reads ? DETECT_ENOUGH : DETECT_NEARLY_ALL) &&
           c->steady >= DETECT_WORK && c->layers < DETECT_HALF && !layers_once(c) && !moves_only(c);
}

int judge_pass(struct cut *c, const struct sequence *s, struct scratch *w)
{
    if (c->coverage < DETECT_NEARLY_ALL || c->similarity < DETECT_NEARLY_ALL)
        return 0;
    if (cut_judge(c, s, w) < 0)
        return -1;
    return c->alike >= DETECT_NEARLY_ALL && cut_hint(c) == HINT_NONE && !moves_only(c);
}
