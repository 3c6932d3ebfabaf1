/* Chooses the warps to run, and how many warps each one stands for. Blocks from the quarters of the
 * grid, in each direction, show a block's work, which may differ across the grid (a triangular
 * loop). The first and the last block show how far accesses reach. Where these blocks do not all do
 * the same (half of them may have nothing to do), more blocks run. In each block the first warp,
 * its neighbour, the middle one and the last one run. How much of their data earlier warps have
 * already touched shows how much the warps of a block share. */
#include "cost/cost_code.h"

#include <math.h>
#include <stdlib.h>

/* SOME: blocks that run if only the ends differ, which may be edges. MORE: if others do, too. */
enum {
    BLOCKS = 4,
    SOME = 10,
    MORE = 32,
    WARPS = 4,
    TASKS = 16,
    BUDGET = 120000,
    WARP_BUDGET = 40000
};

/* Blocks whose warps run instructions in a larger ratio do not do the same. */
static const double alike = 1.1;

struct sampling {
    struct ptx_run *run;
    const struct ptx_launch *l;
    unsigned warps;
    bool tasks;            /* warps may have different tasks, such as one that copies for all */
    int64_t left, longest; /* instructions: still to run; that one block took at most */
    int done;              /* blocks so far; and in these, instructions ... */
    double least, most;    /* ... of a warp of the block with fewest and with most */
    double warp_least, warp_most; /* ... of the warp with fewest and with most */
    bool ends_differ;             /* the first or the last block does more, or less */
    struct code_work *out;
};

static uint64_t block_count(const struct ptx_launch *l)
{
    return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
}

static void go_to_block(struct sampling *s, uint64_t index)
{
    const unsigned *g = s->l->grid;
    unsigned at[3] = {(unsigned)(index % g[0]), (unsigned)(index / g[0] % g[1]),
                      (unsigned)(index / g[0] / g[1])};
    ptx_run_block(s->run, at);
}

static int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Picks one of the first sample blocks. No two samples are in the same quarter of a direction, and the golden
 * section moves each within its quarter: the middles would all have the same position in a row if a
 * kernel derives the position from the block's number. */
static uint64_t sample_index(const unsigned *grid, int i)
{
    static const unsigned part[3][BLOCKS] = {{0, 1, 2, 3}, {1, 3, 0, 2}, {2, 0, 3, 1}};
    static const double within[BLOCKS] = {0.618, 0.236, 0.854, 0.472};
    uint64_t index = 0;
    for (int d = 2; d >= 0; d--)
        index = index * grid[d] + (uint64_t)(grid[d] * (part[d][i] + within[i]) / BLOCKS);
    return index;
}

/* Picks one more: multiples of the golden section are spread evenly over the grid. */
static uint64_t another_index(uint64_t blocks, int i)
{
    double at = i * 0.6180339887498949;
    return (uint64_t)((at - floor(at)) * (double)blocks);
}

/* How many warps each of the `count` warps that ran stands for. The first stands for itself,
 * because it loads what the others reuse. Each other one stands for the warps nearest to it,
 * because the warps of a block may have different tasks. */
static void weigh(const unsigned *warp, unsigned count, unsigned warps, double *weight)
{
    weight[0] = count > 1 ? 1 : warps;
    for (unsigned i = 1; i < count; i++) {
        unsigned from = i > 1 ? (warp[i - 1] + warp[i]) / 2 + 1 : 1;
        unsigned to = i + 1 < count ? (warp[i] + warp[i + 1]) / 2 + 1 : warps;
        weight[i] = to - from;
    }
}

static bool copies_in_bulk(const struct ptx_kernel *k)
{
    for (int i = 0; i < k->inst_count; i++)
        if (k->inst[i].op == OP_BULK)
            return true;
    return false;
}

static unsigned choose(const struct sampling *s, unsigned *choice)
{
    const unsigned some[WARPS] = {0, 1, s->warps / 2, s->warps - 1};
    bool all = s->tasks && s->warps <= TASKS;
    unsigned count = 0;
    for (unsigned i = 0; i < (all ? s->warps : WARPS); i++) {
        unsigned warp = all ? i : some[i];
        if (warp < s->warps && (count == 0 || warp > choice[count - 1]))
            choice[count++] = warp;
    }
    return count;
}

/* Runs sample warps of a block, and adds the estimate for all its warps to the total. */
static void block(struct sampling *s, uint64_t index)
{
    struct code_work *total = s->out;
    unsigned choice[TASKS], warp[TASKS], count = 0, chosen = choose(s, choice);
    struct ptx_tally tally[TASKS] = {{0}};
    double weight[TASKS], longest = 0, ran_before = total->warp.instructions;
    int64_t left_before = s->left;
    go_to_block(s, index);
    for (unsigned i = 0; i < chosen && (i == 0 || s->left > 0); i++) {
        warp[count] = choice[i];
        int64_t ran = ptx_run_warp(s->run, choice[i], min_of(s->left, WARP_BUDGET), &tally[count]);
        s->left -= ran;
        total->ran += ran;
        double own = tally[count].instructions;
        s->warp_least = s->warp_most > 0 ? fmin(s->warp_least, own) : own;
        s->warp_most = fmax(s->warp_most, own);
        longest = fmax(longest, tally[count++].cycles);
    }
    weigh(warp, count, s->warps, weight);
    for (unsigned i = 0; i < count; i++)
        ptx_tally_add(&total->warp, &tally[i], weight[i]);
    total->longest_cycles = fmax(total->longest_cycles, longest);
    total->chain_cycles += longest;
    double each = (total->warp.instructions - ran_before) / s->warps;
    s->least = s->done > 0 ? fmin(s->least, each) : each;
    s->most = fmax(s->most, each);
    s->longest = left_before - s->left > s->longest ? left_before - s->left : s->longest;
    s->done++;
}

static void reach(struct sampling *s, uint64_t index, unsigned warp)
{
    struct ptx_tally end = {0};
    go_to_block(s, index);
    s->out->ran += ptx_run_warp(s->run, warp, WARP_BUDGET / 4, &end);
    s->ends_differ |=
        end.instructions > alike * s->warp_most || alike * end.instructions < s->warp_least;
}

static int by_start(const void *a, const void *b)
{
    const struct ptx_touch *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Length of the union of the ranges that are read, or written. */
static double reached(const struct ptx_touch *all, int n, bool writes)
{
    double bytes = 0;
    uint64_t end = 0;
    for (int i = 0; i < n; i++) {
        const struct ptx_touch *t = &all[i];
        if (!t->to || t->writes != writes || t->to <= end)
            continue;
        bytes += (double)(t->to - (t->from > end ? t->from : end));
        end = t->to;
    }
    return bytes;
}

static bool measure_reach(const struct ptx_kernel *k, const struct ptx_run *r,
                          struct code_work *out)
{
    struct ptx_touch *all = malloc((size_t)k->inst_count * sizeof *all);
    const struct ptx_touch *touches = ptx_run_touches(r);
    double addresses = 0;
    if (!all)
        return false;
    for (int i = 0; i < k->inst_count; i++) {
        all[i] = touches[i];
        if (k->inst[i].op == OP_ATOMIC && touches[i].to)
            addresses +=
                (double)(touches[i].to - touches[i].from) / ptx_type_bytes(k->inst[i].type);
    }
    qsort(all, (size_t)k->inst_count, sizeof *all, by_start);
    out->read_bytes = fmin(reached(all, k->inst_count, false), out->load_bytes);
    out->written_bytes = fmin(reached(all, k->inst_count, true), out->store_bytes);
    double atomics = out->warp.atomics * out->warps * out->blocks;
    out->atomics_per_address = addresses > 0 ? atomics / addresses : 0;
    free(all);
    return true;
}

bool vg_code_sample(const struct ptx_kernel *k, const struct ptx_launch *l, struct code_work *out)
{
    unsigned threads = l->block[0] * l->block[1] * l->block[2];
    uint64_t blocks = block_count(l);
    struct sampling s = {.run = ptx_run_new(k, l),
                         .l = l,
                         .warps = (threads + PTX_LANES - 1) / PTX_LANES,
                         .tasks = copies_in_bulk(k),
                         .out = out};
    if (!s.run)
        return false;
    s.left = s.tasks ? BUDGET * (TASKS / WARPS) : BUDGET;
    *out = (struct code_work){.blocks = (double)blocks, .warps = s.warps};
    for (int i = 0; i < BLOCKS && s.left > 0; i++) {
        uint64_t index = blocks <= BLOCKS ? (uint64_t)i : sample_index(l->grid, i);
        if (index >= blocks)
            break;
        block(&s, index);
    }
    unsigned ends[TASKS] = {0, s.warps - 1};
    unsigned count = s.tasks ? choose(&s, ends) : 2;
    reach(&s, 0, 0);
    for (unsigned i = 0; i < count; i++) {
        if (s.tasks && i > 0)
            reach(&s, 0, ends[i]);
        reach(&s, blocks - 1, ends[i]);
    }
    /* A block that is cut short by the budget would count for less than it does. */
    for (int i = BLOCKS; i < MORE && blocks > BLOCKS && s.left > 2 * s.longest; i++)
        if (s.most > alike * s.least || (s.ends_differ && i < SOME))
            block(&s, another_index(blocks, i));
    struct ptx_tally sum = out->warp;
    out->warp = (struct ptx_tally){0};
    ptx_tally_add(&out->warp, &sum, 1 / (s.done * out->warps));
    out->chain_cycles /= s.done;
    double all = out->blocks * out->warps;
    out->load_bytes = out->warp.load_sectors * 32 * all;
    out->store_bytes = out->warp.store_sectors * 32 * all;
    out->bulk_bytes = out->warp.bulk_sectors * 32 * all;
    bool ok = measure_reach(k, s.run, out);
    ptx_run_free(s.run);
    return ok;
}

double vg_code_probe(const struct ptx_kernel *k, const struct ptx_launch *l, int64_t budget)
{
    struct sampling s = {.run = ptx_run_new(k, l), .l = l};
    struct ptx_tally sum = {0};
    if (!s.run)
        return 0;
    go_to_block(&s, block_count(l) / 2);
    ptx_run_warp(s.run, 0, budget, &sum);
    ptx_run_free(s.run);
    return sum.instructions;
}
