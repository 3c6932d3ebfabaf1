/* Finds the work on positions of sequences by the sizes of library calls. */
#include "analyzer/queries/kernels/positions.h"

#include "analyzer/queries/kernels/shapes.h"
#include "analyzer/queries/limits.h"

#include "wire/spool_format.h"

#include <stdio.h>

bool query_positions(const struct facts *f, const char *key, struct query_positions *p)
{
    const char *text = timeline_meta(f->tl, key);
    long long share, rows, columns;
    if (!text || sscanf(text, "%lld %% of %lld x %lld", &share, &rows, &columns) != 3 ||
        share < 1 || share > 100 || rows < 1 || columns < 1 || rows > INT32_MAX ||
        columns > INT32_MAX)
        return false;
    *p = (struct query_positions){(double)share / 100, rows, columns,
                                  timeline_meta_place(f->tl, key)};
    return true;
}

/* The sizes m, n and k of a product, and how many it computes; NULL: the op is none, or they are not known. */
static const int64_t *sizes_of(const struct facts *f, const uint32_t *calls, uint32_t op)
{
    const struct row_call *c = calls[op] == TL_NONE ? NULL : &f->tl->calls[calls[op]].row;
    return c && c->family == SPOOL_CALL_GEMM ? c->dim : NULL;
}

static bool has_size(const int64_t *sizes, int64_t size)
{
    return sizes[0] == size || sizes[1] == size || sizes[2] == size;
}

/* A product over all positions, or one for each sequence, as attention's are. */
static bool on_positions(const int64_t *sizes, const struct query_positions *p)
{
    return has_size(sizes, p->rows * p->columns) || (sizes[3] > 1 && has_size(sizes, p->columns));
}

static bool works(const struct facts *f, uint32_t op)
{
    return f->tl->ops[op].kind == OP_KERNEL && query_used(f, op);
}

static enum query_take takes(const struct facts *f, uint32_t op, const void *marks)
{
    (void)f;
    return ((const bool *)marks)[op] ? QUERY_BUSY : QUERY_NO;
}

/* If most of the marked time is in kernels that run at least once for each column, as recurrent
 * layers do, whose products no library call names: marks those of the columns that nothing uses. */
static const bool *column_by_column(const struct facts *f, struct arena *arena,
                                    const struct query_positions *p, const bool *marks)
{
    const struct timeline *t = f->tl;
    int64_t *times = arena_array(arena, t->strings.n + 1, sizeof *times);
    bool *gone = arena_array(arena, t->op_count + 1, sizeof *gone);
    int64_t all = 0, of_columns = 0, least = p->columns * (int64_t)f->steps.used;
    if (!times || !gone || p->columns < QUERY_COLUMNS)
        return NULL;
    for (uint32_t i = 0; i < t->op_count; i++)
        times[t->ops[i].name] += marks[i];
    for (uint32_t i = 0; i < t->op_count; i++) {
        int64_t ns = marks[i] ? t->ops[i].end_ns - t->ops[i].start_ns : 0;
        all += ns;
        if (!marks[i] || times[t->ops[i].name] < least)
            continue;
        of_columns += ns;
        gone[i] = (double)(i % (uint32_t)p->columns) < p->share * (double)p->columns;
    }
    return of_columns * 2 > all ? gone : NULL;
}

struct query_positions_work query_positions_all(const struct facts *f, struct arena *arena,
                                                const struct query_positions *p)
{
    const struct timeline *t = f->tl;
    const uint32_t *calls = query_op_calls(f, arena);
    bool *marks = arena_array(arena, t->op_count + 1, sizeof *marks);
    int64_t products = 0, of_positions = 0;
    for (uint32_t i = 0; calls && marks && i < t->op_count; i++) {
        const int64_t *sizes = sizes_of(f, calls, i);
        int64_t ns = t->ops[i].end_ns - t->ops[i].start_ns;
        if (!works(f, i))
            continue;
        bool on_them = !sizes || on_positions(sizes, p);
        marks[i] = on_them && query_is_optimizer(f, i) == QUERY_NO &&
                   query_is_zeroing(f, i) == QUERY_NO && t->ops[i].class.family != FAMILY_COMM;
        products += sizes ? ns : 0;
        of_positions += sizes && on_them ? ns : 0;
    }
    bool by_products = of_positions > 0 && of_positions * 2 >= products;
    const bool *gone = by_products || !marks ? NULL : column_by_column(f, arena, p, marks);
    if (!by_products && !gone)
        return (struct query_positions_work){.marks = NULL};
    return (struct query_positions_work){marks, query_ops_of(f, takes, marks), gone};
}

/* The sizes of a product other than the number of positions, the larger one first. */
static void other_sizes(const int64_t *sizes, int64_t positions, int64_t other[2])
{
    int n = 0;
    bool left_out = false;
    for (int i = 0; i < 3; i++) {
        if (sizes[i] == positions && !left_out)
            left_out = true;
        else if (n < 2)
            other[n++] = sizes[i];
    }
    if (other[0] < other[1]) {
        int64_t less = other[0];
        other[0] = other[1];
        other[1] = less;
    }
}

/* The sizes of the product with the largest of all; false: it is none on positions, or no larger
 * than layers inside a model are. */
static bool find_head(const struct facts *f, const uint32_t *calls, int64_t positions,
                      int64_t head[2])
{
    int64_t largest = 0;
    bool on_them = false;
    for (uint32_t i = 0; i < f->tl->op_count; i++) {
        const int64_t *sizes = works(f, i) ? sizes_of(f, calls, i) : NULL;
        int64_t other[2];
        if (!sizes)
            continue;
        bool has = has_size(sizes, positions);
        other_sizes(sizes, has ? positions : 0, other);
        if (other[0] <= largest)
            continue;
        largest = other[0];
        on_them = has;
        head[0] = other[0];
        head[1] = other[1];
    }
    return on_them && head[0] >= QUERY_HEAD_WIDER * head[1];
}

struct query_positions_work query_positions_head(const struct facts *f, struct arena *arena,
                                                 const struct query_positions *p)
{
    const struct timeline *t = f->tl;
    const uint32_t *calls = query_op_calls(f, arena);
    bool *marks = arena_array(arena, t->op_count + 1, sizeof *marks);
    int64_t positions = p->rows * p->columns, head[2] = {0, 0};
    uint32_t step = TL_NONE;
    int seen = 0; /* forward, and two products of the backward pass */
    if (!calls || !marks || !find_head(f, calls, positions, head))
        return (struct query_positions_work){.marks = NULL};
    for (uint32_t i = 0; i < t->op_count; i++) {
        if (!works(f, i))
            continue;
        const int64_t *sizes = sizes_of(f, calls, i);
        int64_t other[2] = {0, 0};
        if (f->steps.op_step[i] != step)
            seen = 0;
        step = f->steps.op_step[i];
        if (sizes && has_size(sizes, positions))
            other_sizes(sizes, positions, other);
        bool is_head = other[0] == head[0] && other[1] == head[1];
        marks[i] = is_head || seen % 3 == 1;
        seen += is_head;
    }
    return (struct query_positions_work){marks, query_ops_of(f, takes, marks), NULL};
}
