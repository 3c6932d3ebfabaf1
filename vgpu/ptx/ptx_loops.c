/* The loops of a warp. Turns of a loop that goes on regularly are skipped, so that nested loops are
 * counted to their end by running few of their turns. Every few turns (a period) the loop's state
 * is noted: the values carried from turn to turn, the values compared, and the warp's work so far.
 * If four notes show that all of it grows by equal steps, the warp continues shortly before the
 * first comparison whose result changes. If a warp is stopped by its budget anyway, the remaining
 * turns of its outermost loop are estimated. */
#include "ptx/ptx_warp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOTES = 4,
    LONG = 128, /* instructions in a turn: of longer turns, fewer make a period */
    MIDDLE = 24,
    READ = 1,
    WRITTEN = 2
};

struct note {
    ptx_lanes *value; /* values of the carried registers */
    double (*difference)[PTX_LANES];
    struct ptx_tally sum;
};

struct ptx_turns {
    int *carried, *tested; /* registers: those read before they are written; those compared */
    uint64_t *bits;        /* which bits of a carried register count */
    int carried_n, tested_n;
    int turn, period, notes;
    double ran;
    uint32_t mask;
    struct note note[NOTES]; /* the oldest first */
};

void ptx_tally_add(struct ptx_tally *to, const struct ptx_tally *t, double weight)
{
    double *a = (double *)to;
    const double *b = (const double *)t;
    for (size_t i = 0; i < sizeof *t / sizeof *b; i++)
        a[i] += b[i] * weight;
}

static bool compares(const struct ptx_inst *x)
{
    return x->op == OP_SETP || x->op == OP_MIN || x->op == OP_MAX;
}

void ptx_compared(struct ptx_run *r, const struct ptx_inst *i, uint32_t mask)
{
    for (int lane = 0; compares(i) && i->outs > 0 && i->ins >= 2 && lane < PTX_LANES; lane++)
        if (mask >> lane & 1)
            r->difference[i->out[0]][lane] = ptx_difference(i, r->reg, lane);
}

static uint64_t bits_of(const struct ptx_inst *x)
{
    unsigned bytes = x->part == P_WIDE ? 8 : ptx_type_bytes(x->type);
    return bytes == 1 || bytes == 2 || bytes == 4 ? ((uint64_t)1 << 8 * bytes) - 1 : UINT64_MAX;
}

static void note_read(uint8_t *seen, int reg)
{
    if (reg >= 0 && !(seen[reg] & WRITTEN))
        seen[reg] |= READ;
}

static void note_use(const struct ptx_inst *x, uint8_t *seen)
{
    note_read(seen, x->guard);
    note_read(seen, x->address);
    for (int n = 0; n < x->ins; n++)
        note_read(seen, x->in[n]);
    for (int n = 0; x->steers && n < x->outs; n++) {
        if (x->guard >= 0) /* lanes without the guard keep the old value */
            note_read(seen, x->out[n]);
        seen[x->out[n]] |= WRITTEN;
    }
}

static bool is_real(const struct ptx_inst *x)
{
    return x->type >= T_HALF && x->type <= T_F64;
}

/* Lists each register once, by the last instruction that writes it. */
static void list(const struct ptx_run *r, int at, uint8_t *seen, struct ptx_turns *t)
{
    for (int i = at; i >= r->k->inst[at].target; i--) {
        const struct ptx_inst *x = &r->k->inst[i];
        for (int n = 0; x->steers && n < x->outs; n++) {
            if (compares(x) && n == 0 && !is_real(x))
                t->tested[t->tested_n++] = x->out[n];
            if (seen[x->out[n]] != (READ | WRITTEN))
                continue;
            seen[x->out[n]] = 0;
            t->bits[t->carried_n] = is_real(x) ? 0 : bits_of(x);
            t->carried[t->carried_n++] = x->out[n];
        }
    }
}

static bool make_room(struct ptx_turns *t)
{
    size_t values = (size_t)t->carried_n + 1, differences = (size_t)t->tested_n + 1;
    bool ok = true;
    for (int i = 0; i < NOTES; i++) {
        t->note[i].value = calloc(values, sizeof *t->note[i].value);
        t->note[i].difference = calloc(differences, sizeof *t->note[i].difference);
        ok &= t->note[i].value && t->note[i].difference;
    }
    return ok;
}

void ptx_turns_free(struct ptx_turns *t)
{
    if (!t)
        return;
    for (int i = 0; i < NOTES; i++) {
        free(t->note[i].value);
        free(t->note[i].difference);
    }
    free(t->carried);
    free(t->tested);
    free(t->bits);
    free(t);
}

static struct ptx_turns *turns_new(const struct ptx_run *r, int at)
{
    size_t most = 1;
    struct ptx_turns *t = calloc(1, sizeof *t);
    uint8_t *seen = calloc((size_t)r->k->reg_count + 1, 1);
    for (int i = r->k->inst[at].target; i <= at; i++)
        most += r->k->inst[i].outs;
    if (t) {
        t->carried = calloc(most, sizeof *t->carried);
        t->tested = calloc(most, sizeof *t->tested);
        t->bits = calloc(most, sizeof *t->bits);
    }
    bool ok = t && seen && t->carried && t->tested && t->bits;
    for (int i = r->k->inst[at].target; ok && i <= at; i++)
        note_use(&r->k->inst[i], seen);
    if (ok)
        list(r, at, seen, t);
    ok = ok && make_room(t);
    free(seen);
    if (ok)
        return t;
    ptx_turns_free(t);
    return NULL;
}

void ptx_turns_end(struct ptx_turns *t)
{
    if (t)
        t->turn = t->notes = 0;
}

/* The warp's work so far, with that of skipped turns. */
static struct ptx_tally done(const struct ptx_run *r)
{
    struct ptx_tally sum = *r->sum;
    sum.cycles = fmax(r->now, r->latest);
    ptx_tally_add(&sum, &r->skipped, 1);
    return sum;
}

static void take_note(const struct ptx_run *r, struct ptx_turns *t)
{
    if (t->notes == NOTES) {
        struct note oldest = t->note[0];
        memmove(t->note, t->note + 1, (NOTES - 1) * sizeof *t->note);
        t->note[--t->notes] = oldest;
    }
    struct note *n = &t->note[t->notes++];
    for (int i = 0; i < t->carried_n; i++)
        memcpy(n->value[i], r->reg[t->carried[i]], sizeof n->value[i]);
    for (int i = 0; i < t->tested_n; i++)
        memcpy(n->difference[i], r->difference[t->tested[i]], sizeof n->difference[i]);
    n->sum = done(r);
}

static bool carries_evenly(const struct ptx_run *r, const struct ptx_turns *t)
{
    for (int i = 0; i < t->carried_n; i++)
        for (int lane = 0; lane < PTX_LANES && !r->data[t->carried[i]]; lane++) {
            uint64_t v[NOTES];
            if (!(t->mask >> lane & 1))
                continue;
            for (int n = 0; n < NOTES; n++)
                v[n] = t->note[n].value[i][lane];
            for (int n = 2; n < NOTES; n++)
                if (((v[n] - v[n - 1]) ^ (v[1] - v[0])) & (t->bits[i] ? t->bits[i] : UINT64_MAX))
                    return false;
            if (!t->bits[i] && v[1] != v[0])
                return false;
        }
    return true;
}

/* Number of periods until a comparison changes its result. INFINITY: never; 0: unknown. */
static double until_change(const double d[NOTES])
{
    double step = d[1] - d[0];
    bool even = true, nearer = true;
    for (int n = 1; n < NOTES; n++) {
        even &= fabs(d[n] - d[n - 1] - step) == 0;
        nearer &= fabs(d[n]) < fabs(d[n - 1]) && d[n] * d[n - 1] > 0;
    }
    if (!even)
        return nearer ? 0 : INFINITY;
    double last = d[NOTES - 1];
    return fabs(step) == 0 || last * step > 0 ? INFINITY : -last / step;
}

/* Number of periods that are certain to run like the last ones. */
static double periods(const struct ptx_run *r, const struct ptx_turns *t)
{
    double least = INFINITY;
    for (int i = 0; i < t->tested_n; i++)
        for (int lane = 0; lane < PTX_LANES && !r->data[t->tested[i]]; lane++) {
            double d[NOTES];
            for (int n = 0; n < NOTES; n++)
                d[n] = t->note[n].difference[i][lane];
            if (t->mask >> lane & 1)
                least = fmin(least, until_change(d));
        }
    return isinf(least) ? 0 : floor(least) - 1;
}

/* Adds the work of `count` periods. Each count grows by equal steps (as in a triangle's rows), or
 * in proportion to the instructions; otherwise each period counts as the mean of the last ones. */
static void add_periods(struct ptx_tally *to, const struct note *note, double count)
{
    const double ran[NOTES] = {note[0].sum.instructions, note[1].sum.instructions,
                               note[2].sum.instructions, note[3].sum.instructions};
    double pairs = count * (count + 1) / 2, last = ran[3] - ran[2], growth = last - ran[2] + ran[1];
    bool grows = fabs(growth - (ran[2] - 2 * ran[1] + ran[0])) == 0;
    for (size_t i = 0; i < sizeof *to / sizeof(double); i++) {
        double v[NOTES], *sum = (double *)to + i;
        for (int n = 0; n < NOTES; n++)
            v[n] = ((const double *)&note[n].sum)[i];
        double own = v[3] - 2 * v[2] + v[1];
        bool evenly = fabs(own - (v[2] - 2 * v[1] + v[0])) == 0;
        if (!grows)
            *sum += (v[3] - v[0]) / (NOTES - 1) * count;
        else if (evenly)
            *sum += fmax(0, (v[3] - v[2]) * count + own * pairs);
        else
            *sum += (v[3] - v[2]) * fmax(0, count + growth / last * pairs);
    }
}

static void skip(struct ptx_run *r, struct ptx_turns *t, double count)
{
    const struct note *last = &t->note[NOTES - 1];
    for (int i = 0; i < t->carried_n; i++)
        for (int lane = 0; lane < PTX_LANES && !r->data[t->carried[i]]; lane++)
            if (t->mask >> lane & 1) {
                uint64_t v = last->value[i][lane], step = v - last[-1].value[i][lane];
                r->reg[t->carried[i]][lane] = step ? (v + step * (uint64_t)count) & t->bits[i] : v;
            }
    add_periods(&r->skipped, t->note, count);
    ptx_turns_end(t);
}

void ptx_turn(struct ptx_run *r, int at, uint32_t mask)
{
    if (!r->turns[at])
        r->turns[at] = turns_new(r, at);
    struct ptx_turns *t = r->turns[at];
    if (!t)
        return;
    t->turn++;
    if (t->turn == 1)
        t->ran = r->sum->instructions;
    double each = r->sum->instructions - t->ran;
    if (t->turn == 2)
        t->period = each > LONG ? 2 : each > MIDDLE ? 4 : 8;
    if (mask != t->mask)
        t->notes = 0;
    t->mask = mask;
    if (t->turn < 2 || t->turn % t->period)
        return;
    take_note(r, t);
    double count = t->notes == NOTES && carries_evenly(r, t) ? periods(r, t) : 0;
    if (count >= 1)
        skip(r, t, count);
}

/* ---- a warp that was stopped ---- */

void ptx_loop_turns(struct ptx_loop *l, double difference, double ran)
{
    double step = difference - l->last;
    if (l->turns == 0) {
        l->first = difference;
        l->ran_first = ran;
    } else if (l->turns == 1) {
        l->step = step;
    } else {
        l->uneven |= step < l->step || step > l->step;
    }
    l->last = difference;
    l->ran_last = ran;
    l->turns++;
}

static bool tells(const struct ptx_loop *l)
{
    return l->turns >= 2 && !l->uneven && fabs(l->last) < fabs(l->first);
}

/* The comparison that shows how far a loop has come: usually the one that decides about another
 * turn. If that one compares a flag that does not change (a kernel that fetches its next tile and
 * notes whether there is one), a branch inside the loop that is passed once in each turn. NULL:
 * none. */
static const struct ptx_loop *telling(const struct ptx_run *r, int end)
{
    const struct ptx_loop *l = &r->loop[end];
    bool flag = l->turns >= 2 && !l->uneven && fabs(l->last - l->first) == 0;
    if (!flag)
        return tells(l) ? l : NULL;
    for (int i = r->k->inst[end].target; i < end; i++) {
        const struct ptx_inst *x = &r->k->inst[i];
        if (x->op == OP_BRANCH && x->target > i && tells(&r->loop[i]) &&
            abs(r->loop[i].turns - l->turns) <= 1)
            return &r->loop[i];
    }
    return NULL;
}

static double ran(const struct ptx_run *r)
{
    return r->sum->instructions + r->skipped.instructions;
}

/* Instructions that remain in such a loop, besides those since its last turn. */
static double left_of(const struct ptx_run *r, const struct ptx_loop *l)
{
    double turns = l->last / (l->first - l->last) * (l->turns - 1);
    double each = (l->ran_last - l->ran_first) / (l->turns - 1);
    return turns * each - (ran(r) - l->ran_last);
}

/* By which factor the warp is longer than what ran. Uses the outermost loop that has turned at
 * least twice by equal steps. A loop over a list in memory, or one that was entered again, shows
 * nothing. `first` is the distance that was left after its first turn, `last` after its last
 * one. */
double ptx_stretch(const struct ptx_run *r)
{
    double left = 0;
    int outermost = r->k->inst_count;
    for (int i = 0; i < r->k->inst_count; i++) {
        const struct ptx_inst *x = &r->k->inst[i];
        const struct ptx_loop *l =
            x->op == OP_BRANCH && x->target <= i && x->target <= outermost ? telling(r, i) : NULL;
        if (!l)
            continue;
        outermost = x->target;
        left = left_of(r, l);
    }
    return left > 0 ? 1 + left / ran(r) : 1;
}

bool ptx_too_early(const struct ptx_run *r, int at)
{
    int outermost = r->k->inst_count;
    const struct ptx_loop *around = NULL;
    for (int i = at; i < r->k->inst_count; i++) {
        const struct ptx_inst *x = &r->k->inst[i];
        if (x->op == OP_BRANCH && x->target <= at && x->target < outermost) {
            outermost = x->target;
            around = &r->loop[i];
        }
    }
    return around && around->turns < 2;
}

bool ptx_skips_loop(const struct ptx_run *r, int at)
{
    for (int i = at + 1; i < r->k->inst[at].target; i++) {
        const struct ptx_inst *x = &r->k->inst[i];
        if (x->op == OP_BRANCH && x->target > at && x->target <= i)
            return true;
    }
    return false;
}
