/* PyTorch's reductions of a few integers, read from the only argument of their kernel. */
#include "values/reduce.h"

#include "values/cast.h"
#include "values/integers.h"
#include "core/core_state.h"

#include <string.h>

enum { DIMS = 25, NEXT = 8 };

struct dims { /* IntDivider of OffsetCalculator */
    int32_t count;
    struct {
        uint32_t size, magic, shift;
    } by[DIMS];
};
struct strides_in { /* OffsetCalculator<1>, in bytes */
    struct dims dims;
    uint32_t of[DIMS][1];
};
struct strides_out { /* OffsetCalculator<2>: of the values, and of a second result */
    struct dims dims;
    uint32_t of[DIMS][2];
};
/* Parts of the argument, which begins with the operation's own data. */
struct reduction {
    struct vg_reduce_config config;
    struct strides_in in;
    struct strides_out out;
    char *from, *to[2];
};

/* Reads the parts that lie before the input's address, which is at argument + at. */
static bool read_at(struct reduction *r, const char *argument, size_t at)
{
    const struct vg_reduce_config *c = &r->config;
    memcpy(&r->from, argument + at, sizeof r->from);
    memcpy(r->to, argument + at + NEXT, sizeof r->to);
    for (size_t pad = 0; pad <= 4; pad += 4) {
        const char *from = argument + at - pad;
        memcpy(&r->out, from -= sizeof r->out, sizeof r->out);
        memcpy(&r->in, from -= sizeof r->in, sizeof r->in);
        memcpy(&r->config, from -= sizeof r->config, sizeof r->config);
        if (c->element > 0 && c->inputs > 0 && c->outputs > 0 && c->width > 0 && c->height > 0 &&
            c->width <= 1024 && c->height <= 1024 && c->width * c->height == c->threads &&
            r->out.dims.count >= 0 && r->out.dims.count <= DIMS)
            return true;
    }
    return false;
}

/* The input's address and the next word are addresses of the device. What lies before them may
 * be such a pair by chance, because PyTorch fills only as many strides as it needs: the right
 * place is the one whose parts fit. */
static bool read_reduction(struct reduction *r, const char *argument)
{
    enum { MOST = 64 };
    const size_t least = 4 + sizeof(struct vg_reduce_config) + sizeof(struct strides_in) +
                         sizeof(struct strides_out);
    for (size_t at = least; at < least + MOST; at += NEXT) {
        void *is[2];
        memcpy(is, argument + at, sizeof is);
        if (vg_writable(is[0]) && vg_writable(is[1]) && read_at(r, argument, at))
            return true;
    }
    return false;
}

/* step: how many numbers lie between the strides of two dimensions. */
static size_t offset_of(const struct dims *dims, const uint32_t *of, size_t step, uint32_t index)
{
    size_t offset = 0;
    for (int32_t d = 0; d < dims->count && dims->by[d].size; d++) {
        offset += (size_t)(index % dims->by[d].size) * of[(size_t)d * step];
        index /= dims->by[d].size;
    }
    return offset;
}

struct totals {
    int64_t sum, least, most;
};

/* Adds up the inputs of one result, which begin at `base`. False: the memory holds something else
 * than counts, lengths or indices. */
static bool add_up(const struct reduction *r, const char *base, size_t each, struct totals *t)
{
    struct vg_stretch within = vg_stretch_of(base);
    *t = (struct totals){0, INT64_MAX, INT64_MIN};
    for (uint32_t i = 0; i < (uint32_t)r->config.inputs; i++) {
        const char *at = base + offset_of(&r->in.dims, &r->in.of[0][0], 1, i);
        int64_t wide = 0;
        int32_t narrow;
        if (!vg_within(within, at, each))
            return false;
        memcpy(each == 8 ? (void *)&wide : (void *)&narrow, at, each);
        wide = each == 8 ? wide : narrow;
        if (!vg_is_count(wide))
            return false;
        t->sum += wide;
        t->least = wide < t->least ? wide : t->least;
        t->most = wide > t->most ? wide : t->most;
    }
    return true;
}

/* False: another operation, no integers, or too many. If the memory holds no integers, the result
 * is 0. */
static bool reduce_integers(const struct reduction *r, const char *name, size_t each)
{
    const char *in = strstr(name, "8ReduceOpI");
    const struct vg_reduce_config *c = &r->config;
    if (!in || !strchr("il", in[10]) || (each != 4 && each != 8) || r->in.dims.count < 0 ||
        r->in.dims.count > DIMS || (int64_t)c->inputs * c->outputs > VG_MOST_INTEGERS)
        return false;
    bool both = strstr(in, "9MinMaxOpsI"), sum = strstr(in, "11sum_functorI"),
         most = strstr(in, "13MaxNanFunctorI"), least = strstr(in, "13MinNanFunctorI");
    if (!both && !sum && !most && !least)
        return false;
    for (uint32_t i = 0; i < (uint32_t)c->outputs; i++) {
        struct totals t;
        size_t to = offset_of(&r->out.dims, &r->out.of[0][0], 2, i);
        size_t from = offset_of(&r->out.dims, &r->out.of[0][1], 2, i);
        if (!add_up(r, r->from + from, in[10] == 'l' ? 8 : 4, &t))
            t = (struct totals){0, 0, 0};
        int64_t values[2] = {sum ? t.sum : most ? t.most : t.least, t.most};
        for (int k = 0; k <= both; k++)
            if (vg_writable(r->to[k] + to) && vg_writable(r->to[k] + to + each - 1))
                memcpy(r->to[k] + to, &values[k], each); /* little-endian, like the device */
    }
    return true;
}

void vg_reduce(const char *name, unsigned char value, size_t each, const char *argument)
{
    struct reduction r;
    if (!read_reduction(&r, argument) || (size_t)r.config.outputs * each > vg_core.copy_limit ||
        reduce_integers(&r, name, each))
        return;
    bool indices = strstr(name, "6MaxOps") || strstr(name, "6MinOps");
    for (int k = 0; k < 2; k++) {
        size_t bytes = k && indices ? sizeof(int64_t) : each;
        for (uint32_t i = 0; i < (uint32_t)r.config.outputs; i++) {
            /* The index is the second result, at the same position. */
            size_t at = offset_of(&r.out.dims, &r.out.of[0][0], 2, i);
            char *to = r.to[k] + at / each * bytes;
            if (!r.to[k] || !vg_writable(to) || !vg_writable(to + bytes - 1))
                break;
            memset(to, 0, bytes);
            *to = (char)value; /* little-endian */
        }
    }
}
