/* Compares the trials of `try`: draws the bootstrap interval and decides the verdict; see ab.h. */
#include "analyzer/compare/ab.h"

#include "base/order.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 10, DRAWS = 5000 };

const char *const ab_verdict_text[] = {"CONFIRMED", "SMALLER",      "LARGER",
                                       "REFUTED",   "UNDERPOWERED", "MEASURED"};

static double mean(const int64_t *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)v[i];
    return sum / (double)n;
}

static void set_paces(struct ab_arm *arm)
{
    for (size_t i = 0; i < arm->count; i++)
        arm->run[i].pace_ns = (int64_t)mean(arm->run[i].ns, arm->run[i].count);
}

static double mean_log(const struct ab_arm *arm, size_t from, size_t to)
{
    double sum = 0;
    for (size_t i = from; i < to; i++)
        sum += log((double)arm->run[i].pace_ns);
    return sum / (double)(to - from);
}

/* Workers deliver in bursts: one long step, then short ones. Returns the largest number of steps
 * from one long step to the next, taking the run as a circle; 1 if no step is twice as long as the
 * mean. */
static size_t burst(const struct ab_run *r)
{
    double limit = 2 * mean(r->ns, r->count);
    size_t first = r->count, last = 0, most = 1;
    for (size_t i = 0; i < r->count; i++) {
        if ((double)r->ns[i] < limit)
            continue;
        if (first < r->count && i - last > most)
            most = i - last;
        first = first < r->count ? first : i;
        last = i;
    }
    size_t around = first < r->count ? first + r->count - last : 1;
    return around > most ? around : most;
}

/* Draws a run from blocks of its steps and returns the logarithm of its pace. A block must contain
 * a whole burst: a draw without the burst's long step would look like a fast run. */
static double draw_run(const struct ab_run *r, int64_t *scratch, uint64_t *state)
{
    size_t block = r->count / 4 < BLOCK ? (r->count / 4 ? r->count / 4 : 1) : BLOCK;
    size_t whole = burst(r), most = r->count * 2 / 3;
    whole = whole < most ? whole : most;
    block = whole > block ? whole : block;
    for (size_t filled = 0; filled < r->count;) {
        size_t at = (size_t)(random_next(state) % r->count);
        for (size_t i = 0; i < block && filled < r->count; i++)
            scratch[filled++] = r->ns[(at + i) % r->count];
    }
    return log(mean(scratch, r->count));
}

static double draw_arm(const struct ab_arm *arm, int64_t *scratch, uint64_t *state)
{
    double sum = 0;
    for (size_t i = 0; i < arm->count; i++)
        sum += draw_run(&arm->run[random_next(state) % arm->count], scratch, state);
    return sum / (double)arm->count;
}

/* Compares the measured interval with 0 and with the prediction. */
static void set_verdict(struct ab_result *r, const struct ab_prediction *p)
{
    r->verdict = AB_CONFIRMED;
    r->why = "the measured interval overlaps the predicted one";
    bool advised = p->known || p->at_most > 0;
    if (r->high < 0) {
        r->verdict = advised ? AB_REFUTED : AB_MEASURED;
        r->why = "the step became longer";
    } else if (r->low <= 0) {
        bool far = p->known && r->high < p->low;
        r->verdict = far ? AB_REFUTED : AB_UNDERPOWERED;
        r->why = far ? "any saving is within the noise, far below the prediction"
                     : "the interval contains 0: any saving is within the noise";
    } else if (!p->known && p->at_most > 0 && r->low > p->at_most) {
        r->verdict = AB_REFUTED;
        r->why = "it saves more than the predicted bound: the bound is wrong";
    } else if (!p->known) {
        r->verdict = AB_MEASURED;
        r->why = p->at_most > 0 ? "it saves time, within the predicted bound"
                                : "it saves time; there was no prediction";
    } else if (r->high < p->low) {
        r->verdict = AB_SMALLER;
        r->why = "it saves less than predicted";
    } else if (r->low > p->high) {
        r->verdict = AB_LARGER;
        r->why = "it saves more than predicted";
    }
}

/* Returns true if early and late runs without the change differ by more than half of its effect,
 * measured or predicted. Then the machine changed, and a verdict would mean nothing. */
static bool drifted(const struct ab_arm *a, double effect, const struct ab_prediction *p)
{
    double share = p->known ? p->mid : p->at_most;
    double predicted = share > 0 && share < 1 ? -log(1 - share) : 0;
    size_t half = a->count / 2;
    double drift = mean_log(a, half, a->count) - mean_log(a, 0, half);
    return fabs(drift) > fmax(fabs(effect), predicted) / 2;
}

static size_t longest(const struct ab_arm *arm)
{
    size_t n = 1;
    for (size_t i = 0; i < arm->count; i++)
        n = arm->run[i].count > n ? arm->run[i].count : n;
    return n;
}

static int64_t *make_scratch(struct ab_arm *a, struct ab_arm *b)
{
    size_t n = longest(a) > longest(b) ? longest(a) : longest(b);
    int64_t *scratch = malloc(n * sizeof *scratch);
    if (scratch) {
        set_paces(a);
        set_paces(b);
    }
    return scratch;
}

int ab_judge(struct ab_arm *a, struct ab_arm *b, const struct ab_prediction *p, struct ab_result *r,
             struct err *e)
{
    *r = (struct ab_result){.verdict = AB_UNDERPOWERED, .why = "fewer than two runs an arm"};
    if (a->count < 2 || b->count < 2)
        return 0;
    double *draws = malloc(DRAWS * sizeof *draws);
    int64_t *scratch = make_scratch(a, b);
    uint64_t state = 20240229;
    if (!draws || !scratch) {
        free(draws);
        free(scratch);
        return err_set(e, "out of memory");
    }
    double log_a = mean_log(a, 0, a->count), log_b = mean_log(b, 0, b->count);
    for (int i = 0; i < DRAWS; i++) {
        double drawn_a = draw_arm(a, scratch, &state);
        draws[i] = 1 - exp(draw_arm(b, scratch, &state) - drawn_a);
    }
    qsort(draws, DRAWS, sizeof *draws, order_double);
    r->a_ns = llround(exp(log_a));
    r->b_ns = llround(exp(log_b));
    r->saved = 1 - exp(log_b - log_a);
    r->low = draws[DRAWS * 25 / 1000];
    r->high = draws[DRAWS * 975 / 1000];
    free(draws);
    free(scratch);
    set_verdict(r, p);
    if (a->count < AB_LEAST || b->count < AB_LEAST) {
        r->verdict = AB_UNDERPOWERED;
        r->why = "fewer than three runs an arm";
    }
    if (drifted(a, log_b - log_a, p)) {
        r->verdict = AB_UNDERPOWERED;
        r->why = "too noisy: early and late runs without the change differ by more than half of "
                 "what it saves, so the machine changed";
    }
    return 0;
}

double ab_spread(struct ab_arm *a, struct ab_arm *b)
{
    struct ab_arm *arm[] = {a, b};
    int64_t *scratch = make_scratch(a, b);
    double squares = 0;
    size_t freedom = 0;
    for (int k = 0; k < 2 && scratch; k++) {
        double mean = arm[k]->count ? mean_log(arm[k], 0, arm[k]->count) : 0;
        for (size_t i = 0; i < arm[k]->count; i++) {
            double d = log((double)arm[k]->run[i].pace_ns) - mean;
            squares += d * d;
        }
        freedom += arm[k]->count ? arm[k]->count - 1 : 0;
    }
    free(scratch);
    return freedom ? sqrt(squares / (double)freedom) : 0;
}

void ab_release(struct ab_arm *arm)
{
    for (size_t i = 0; i < arm->count; i++)
        free(arm->run[i].ns);
    arm->count = 0;
}
