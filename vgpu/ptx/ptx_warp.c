/* Runs one warp. The lanes with the smallest program counter run first, so that lanes that took a
 * branch meet the others behind it. A backward branch on a condition from memory is taken only a
 * few times, because the number of turns is unknown. */
#include "ptx/ptx_bulk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    DATA_TURNS = 16, /* turns of a loop whose end is decided by data in memory */
    TAKEN = 8        /* cycles that a taken branch costs */
};

/* A sum with a wide product becomes part of the product. r->data marks wide products meanwhile. */
static void set_prices(struct ptx_run *r)
{
    const struct ptx_kernel *k = r->k;
    for (int i = 0; i < k->inst_count; i++) {
        const struct ptx_inst *x = &k->inst[i];
        bool fused = false;
        for (int n = 0; n < x->ins; n++)
            fused |= x->op == OP_ADD && ptx_type_bytes(x->type) == 8 && r->data[x->in[n]];
        r->price[i] = fused ? (struct ptx_price){.latency = 1} : ptx_price(x);
        for (int n = 0; n < x->outs; n++)
            r->data[x->out[n]] = x->op == OP_MUL && x->part == P_WIDE;
    }
}

struct ptx_run *ptx_run_new(const struct ptx_kernel *k, const struct ptx_launch *l)
{
    struct ptx_run *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    size_t regs = (size_t)k->reg_count + 1, insts = (size_t)k->inst_count;
    r->k = k;
    r->l = l;
    r->reg = calloc(regs, sizeof *r->reg);
    r->ready = calloc(regs, sizeof *r->ready);
    r->data = calloc(regs, sizeof *r->data);
    r->difference = calloc(regs, sizeof *r->difference);
    r->price = calloc(insts, sizeof *r->price);
    r->touch = calloc(insts, sizeof *r->touch);
    r->joined = calloc(insts, sizeof *r->joined);
    r->loop = calloc(insts, sizeof *r->loop);
    r->seen = calloc(PTX_SEEN, sizeof *r->seen);
    r->turns = calloc(insts, sizeof(struct ptx_turns *));
    if (!r->reg || !r->ready || !r->data || !r->difference || !r->price || !r->touch ||
        !r->joined || !r->loop || !r->seen || !r->turns) {
        ptx_run_free(r);
        return NULL;
    }
    set_prices(r);
    ptx_join_loads(k, r->joined);
    return r;
}

void ptx_run_free(struct ptx_run *r)
{
    if (!r)
        return;
    for (int i = 0; r->turns && i < r->k->inst_count; i++)
        ptx_turns_free(r->turns[i]);
    free(r->turns);
    free(r->reg);
    free(r->ready);
    free(r->data);
    free(r->difference);
    free(r->price);
    free(r->touch);
    free(r->joined);
    free(r->loop);
    free(r->seen);
    free(r);
}

void ptx_run_block(struct ptx_run *r, const unsigned block[3])
{
    memcpy(r->block, block, sizeof r->block);
    r->blocks++;
    r->seen_count = 0;
}

const struct ptx_touch *ptx_run_touches(const struct ptx_run *r)
{
    return r->touch;
}

static void set_all(struct ptx_run *r, int reg, uint64_t value)
{
    for (int lane = 0; reg >= 0 && lane < PTX_LANES; lane++)
        r->reg[reg][lane] = value;
}

static void set_position(struct ptx_run *r, unsigned warp)
{
    const struct ptx_launch *l = r->l;
    const int *special = r->k->special;
    unsigned threads = l->block[0] * l->block[1] * l->block[2];
    for (unsigned lane = 0; lane < PTX_LANES; lane++) {
        unsigned t = warp * PTX_LANES + lane, below = (1u << lane) - 1;
        uint64_t v[SR_COUNT] = {
            [SR_TID] = t % l->block[0],
            [SR_TID + 1] = t / l->block[0] % l->block[1],
            [SR_TID + 2] = t / l->block[0] / l->block[1],
            [SR_LANE] = lane,
            [SR_WARP] = warp,
            [SR_NWARP] = (threads + PTX_LANES - 1) / PTX_LANES,
            [SR_LANEMASK_LT] = below,
            [SR_LANEMASK_LE] = below | 1u << lane,
            [SR_LANEMASK_GT] = ~(below | 1u << lane),
            [SR_LANEMASK_GE] = ~below,
            [SR_LANEMASK_EQ] = 1u << lane,
        };
        for (int d = 0; d < 3; d++) {
            v[SR_CTAID + d] = r->block[d];
            v[SR_NTID + d] = l->block[d];
            v[SR_NCTAID + d] = l->grid[d];
        }
        for (int i = 0; i < SR_COUNT; i++)
            if (special[i] >= 0)
                r->reg[special[i]][lane] = v[i];
        if (t < threads)
            r->alive |= 1u << lane;
    }
}

static void start(struct ptx_run *r, unsigned warp)
{
    const struct ptx_kernel *k = r->k;
    memset(r->reg, 0, (size_t)k->reg_count * sizeof *r->reg);
    memset(r->ready, 0, (size_t)k->reg_count * sizeof *r->ready);
    memset(r->data, 0, (size_t)k->reg_count * sizeof *r->data);
    memset(r->loop, 0, (size_t)k->inst_count * sizeof *r->loop);
    memset(r->at, 0, sizeof r->at);
    r->now = r->latest = r->stored = 0;
    r->skipped = (struct ptx_tally){0};
    for (int i = 0; i < k->inst_count; i++)
        ptx_turns_end(r->turns[i]);
    r->alive = 0;
    for (int i = 0; i < k->constant_count; i++)
        set_all(r, k->constant[i].reg, k->constant[i].value);
    for (int i = 0; i < k->slot_count; i++) {
        const struct ptx_slot *s = &k->slot[i];
        uint64_t v = 0;
        if (s->steers && s->param >= 0 && s->param < k->param_count && r->l->args &&
            r->l->args[s->param])
            memcpy(&v, (const char *)r->l->args[s->param] + s->offset, s->size);
        set_all(r, s->reg, v);
    }
    set_position(r, warp);
}

uint32_t ptx_guarded(const struct ptx_run *r, const struct ptx_inst *i, uint32_t mask)
{
    uint32_t yes = 0;
    if (i->guard < 0)
        return mask;
    for (int lane = 0; lane < PTX_LANES; lane++)
        yes |= (uint32_t)((r->reg[i->guard][lane] != 0) != i->guard_not) << lane;
    return mask & yes;
}

static double max_of(double a, double b)
{
    return a > b ? a : b;
}

/* The cycle in which the instruction's operands are ready. Between branches the compiler moves
 * loads forward, so a waiting load delays only the instructions that need it. No load passes a
 * store, which may go to the same place. */
static double issue_time(const struct ptx_run *r, const struct ptx_inst *i)
{
    double t = r->now;
    for (int n = 0; n < i->ins; n++)
        t = max_of(t, (double)r->ready[i->in[n]]);
    if (i->guard >= 0)
        t = max_of(t, (double)r->ready[i->guard]);
    bool behind = i->op == OP_LOAD && !i->constant && i->space <= S_GLOBAL;
    t = behind ? max_of(t, r->stored) : t;
    return i->address >= 0 ? max_of(t, (double)r->ready[i->address]) : t;
}

static void count(struct ptx_run *r, int at)
{
    const struct ptx_price *p = &r->price[at];
    struct ptx_tally *s = r->sum;
    s->instructions++;
    s->issue += (double)p->issue;
    s->fp32 += (double)p->fp32;
    s->fp64 += (double)p->fp64;
    s->alu += (double)p->alu;
    s->special += (double)p->special;
    s->matrix_flops += r->k->inst[at].matrix_flops;
}

/* Results of an exchange between lanes: a lane's own value stands for another's, unless the
 * instruction names one source lane for all. */
static void exchange(struct ptx_run *r, const struct ptx_inst *i, uint32_t mask)
{
    uint64_t v = mask, first = (uint64_t)__builtin_ctz(mask);
    const uint64_t *from = i->indexed && i->ins > 1 ? r->reg[i->in[1]] : NULL;
    ptx_lanes had;
    memcpy(had, r->reg[i->ins > 0 ? i->in[0] : 0], sizeof had);
    if (i->op == OP_VOTE && i->ins > 0) {
        uint32_t yes = 0;
        for (int lane = 0; lane < PTX_LANES; lane++)
            yes |= (uint32_t)((mask >> lane & 1) && r->reg[i->in[0]][lane]) << lane;
        v = i->type == T_PRED ? yes != 0 : yes;
    }
    for (int n = 0; n < i->outs; n++)
        for (int lane = 0; lane < PTX_LANES; lane++) {
            uint64_t *to = &r->reg[i->out[n]][lane];
            if (!(mask >> lane & 1))
                continue;
            if (i->op == OP_SHUFFLE && i->ins > 0)
                *to = n == 0 ? had[from ? from[lane] % PTX_LANES : (uint64_t)lane] : 1;
            else if (i->op == OP_ELECT)
                *to = n == 0 ? first : first == (uint64_t)lane;
            else
                *to = v;
        }
}

static void compute(struct ptx_run *r, const struct ptx_inst *i, uint32_t mask)
{
    bool data = i->op == OP_OTHER || (i->guard >= 0 && r->data[i->guard]); /* not known */
    for (int n = 0; n < i->ins; n++)
        data |= r->data[i->in[n]];
    for (int n = 0; n < i->outs; n++)
        r->data[i->out[n]] = data;
    ptx_compared(r, i, mask);
    if (i->op == OP_SHUFFLE || i->op == OP_VOTE || i->op == OP_ACTIVE || i->op == OP_ELECT ||
        i->op == OP_READY)
        exchange(r, i, mask);
    else
        ptx_compute(i, r->reg, mask);
}

/* Sets the clock registers, since a warp that waits for some time reads the clock in each turn. */
static void show_clock(struct ptx_run *r, const struct ptx_inst *i)
{
    const int *special = r->k->special;
    double hz = r->l->clock_hz > 0 ? r->l->clock_hz : 1e9, now = r->now + r->skipped.cycles;
    if (i->ins == 0 || i->in[0] < 0)
        return;
    if (i->in[0] == special[SR_CLOCK])
        set_all(r, i->in[0], (uint64_t)now);
    else if (i->in[0] == special[SR_TIMER])
        set_all(r, i->in[0], (uint64_t)(now * 1e9 / hz));
}

static void step(struct ptx_run *r, int at, uint32_t mask)
{
    const struct ptx_inst *i = &r->k->inst[at];
    const struct ptx_price *p = &r->price[at];
    double latency = (double)p->latency, t = issue_time(r, i);
    mask = ptx_guarded(r, i, mask);
    count(r, at);
    if (i->op == OP_LOAD || i->op == OP_STORE || i->op == OP_ATOMIC || i->op == OP_COPY ||
        i->op == OP_TEXTURE)
        latency = ptx_memory(r, at, mask);
    else if (i->op == OP_BULK)
        ptx_bulk(r, at, mask);
    else if (i->steers && mask) {
        show_clock(r, i);
        compute(r, i, mask);
    }
    if (i->op == OP_SHUFFLE)
        r->sum->shared++;
    for (int n = 0; n < i->outs; n++)
        r->ready[i->out[n]] = (float)(t + latency);
    r->now += (double)p->issue;
    r->latest = max_of(r->latest, t);
    if (i->op == OP_STORE && i->space <= S_GLOBAL)
        r->stored = max_of(r->stored, t);
    if (i->op == OP_BARRIER)
        r->now = max_of(r->now, r->latest + latency);
}

/* The lanes that take the branch. */
static uint32_t takers(struct ptx_run *r, int at, uint32_t mask)
{
    const struct ptx_inst *i = &r->k->inst[at];
    uint32_t yes = ptx_guarded(r, i, mask);
    struct ptx_loop *loop = &r->loop[at];
    bool ahead = i->target > at, data = i->guard >= 0 && r->data[i->guard];
    if ((yes && !ahead) || (ahead && i->guard >= 0))
        ptx_loop_turns(loop, i->guard >= 0 ? r->difference[i->guard][__builtin_ctz(mask)] : 0,
                       r->sum->instructions + r->skipped.instructions);
    if (ahead)
        return yes && data && ptx_skips_loop(r, at) ? 0 : yes;
    if (data && loop->turns > DATA_TURNS)
        return 0;
    if (yes == mask)
        ptx_turn(r, at, mask);
    else
        ptx_turns_end(r->turns[at]);
    return yes;
}

/* Moves the lanes over a branch or an exit. True: they have diverged or ended. */
static bool branch(struct ptx_run *r, int *at, uint32_t mask)
{
    const struct ptx_inst *i = &r->k->inst[*at];
    r->now = max_of(issue_time(r, i), r->latest) + 1;
    count(r, *at);
    uint32_t yes = i->op == OP_EXIT ? ptx_guarded(r, i, mask) : takers(r, *at, mask);
    if (i->op == OP_EXIT) {
        r->alive &= ~yes;
        ++*at;
        return yes != 0;
    }
    if (yes)
        r->now += TAKEN;
    if (yes == mask || !yes) {
        *at = yes ? i->target : *at + 1;
        return false;
    }
    for (int lane = 0; lane < PTX_LANES; lane++)
        if (mask >> lane & 1)
            r->at[lane] = yes >> lane & 1 ? i->target : *at + 1;
    return true;
}

/* The lanes with the smallest program counter; *stop: the next counter at which others wait. */
static uint32_t next_lanes(const struct ptx_run *r, int *at, int *stop)
{
    uint32_t mask = 0;
    *at = *stop = r->k->inst_count;
    for (int lane = 0; lane < PTX_LANES; lane++)
        if ((r->alive >> lane & 1) && r->at[lane] < *at)
            *at = r->at[lane];
    for (int lane = 0; lane < PTX_LANES; lane++)
        if (r->alive >> lane & 1) {
            if (r->at[lane] == *at)
                mask |= 1u << lane;
            else if (r->at[lane] < *stop)
                *stop = r->at[lane];
        }
    return mask;
}

static void put_back(struct ptx_run *r, uint32_t mask, int at)
{
    for (int lane = 0; lane < PTX_LANES; lane++)
        if (mask >> lane & 1)
            r->at[lane] = at;
}

/* MORE: a warp gets at most so many budgets; SOME: in parts of 1/SOME of a budget. */
enum { MORE = 4, SOME = 16 };

static int next_place(const struct ptx_run *r)
{
    int at, stop;
    next_lanes(r, &at, &stop);
    return at;
}

static bool goes_on(const struct ptx_run *r, double ran, int64_t budget, double *limit)
{
    if (ran >= *limit && *limit < (double)budget * MORE && ptx_too_early(r, next_place(r)))
        *limit = ran + (double)budget / SOME;
    return ran < *limit;
}

int64_t ptx_run_warp(struct ptx_run *r, unsigned warp, int64_t budget, struct ptx_tally *sum)
{
    struct ptx_tally own = {0};
    double limit = (double)budget;
    r->sum = &own;
    start(r, warp);
    while (r->alive && goes_on(r, own.instructions, budget, &limit)) {
        int at, stop;
        uint32_t mask = next_lanes(r, &at, &stop);
        bool apart = at >= r->k->inst_count;
        if (apart) /* behind the last instruction */
            r->alive &= ~mask;
        while (!apart && at < stop && own.instructions < limit) {
            uint8_t op = r->k->inst[at].op;
            if (op == OP_BRANCH || op == OP_EXIT)
                apart = branch(r, &at, mask);
            else
                step(r, at++, mask);
            if (at >= r->k->inst_count)
                break;
            if (apart && op == OP_EXIT)
                put_back(r, mask, at);
        }
        if (!apart)
            put_back(r, mask, at);
    }
    own.cycles = max_of(r->now, r->latest);
    int64_t ran = (int64_t)own.instructions;
    double stretch = r->alive ? ptx_stretch(r) : 1;
    ptx_tally_add(sum, &own, stretch);
    ptx_tally_add(sum, &r->skipped, stretch);
    return ran;
}
