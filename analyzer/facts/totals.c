/* Sums over the used steps: work by stream, kernels by name and family, copies by kind, calls by name. Cost: one
 * pass over the operations and calls. */
#include "analyzer/facts/passes.h"
#include "analyzer/facts/limits.h"
#include "base/vec.h"

#include "wire/spool_format.h"

#include <stdlib.h>
#include <string.h>

struct sums {
    struct VEC(struct kernel_total) kernels;
    struct VEC(struct copy_total) copies;
    struct VEC(struct api_total) apis;
    struct VEC(uint32_t) next;    /* parallel to kernels: index + 1 of the next
                                     entry with the same name */
    uint32_t *kernel_of, *api_of; /* by string id: index + 1 of the first entry */
};

static bool is_matrix(unsigned family)
{
    return family == FAMILY_GEMM || family == FAMILY_CONV || family == FAMILY_ATTENTION;
}

/* The entry for this operation's name and family, added if it is new. NULL: out of memory. */
static struct kernel_total *kernel_total_of(struct sums *s, const struct op *o, uint32_t i)
{
    uint32_t *at = &s->kernel_of[o->name];
    for (; *at; at = &s->next.at[*at - 1])
        if (s->kernels.at[*at - 1].class.family == o->class.family)
            return &s->kernels.at[*at - 1];
    *at = (uint32_t)s->kernels.n + 1;
    struct kernel_total *k = vec_push(&s->kernels);
    uint32_t *next = vec_push(&s->next);
    if (!k || !next)
        return NULL;
    *next = 0;
    *k = (struct kernel_total){
        .name = o->name, .class = o->class, .min_ns = o->end_ns - o->start_ns, .longest = i};
    return k;
}

static int add_kernel(struct facts *f, struct sums *s, uint32_t i)
{
    const struct op *o = &f->tl->ops[i];
    struct totals *t = &f->totals;
    int64_t ns = o->end_ns - o->start_ns;
    struct kernel_total *k = kernel_total_of(s, o, i);
    if (!k)
        return -1;
    k->count++;
    k->total_ns += ns;
    if (ns < k->min_ns)
        k->min_ns = ns;
    if (ns > k->max_ns) {
        k->max_ns = ns;
        k->longest = i;
    }
    t->kernel_ns += ns;
    t->kernel_count_all++;
    t->called_ns += o->api != TL_NONE ? ns : 0;
    t->short_kernels += ns < FACTS_SHORT_NS;
    t->family_ns[o->class.family] += ns;
    t->family_count[o->class.family]++;
    if (is_matrix(o->class.family)) {
        t->matrix_ns += ns;
        t->tensor_ns += o->class.tensor == TRI_YES ? ns : 0;
        t->matrix_unknown_ns += o->class.tensor == TRI_UNKNOWN ? ns : 0;
        t->fp32_matrix_ns += o->class.tensor == TRI_NO && o->class.dtype == SPOOL_DT_F32 ? ns : 0;
    }
    return 0;
}

static void add_to_stream(struct stream_total *s, const struct op *o)
{
    int64_t ns = o->end_ns - o->start_ns;
    s->count++;
    s->total_ns += ns;
    if (o->kind != OP_KERNEL)
        s->copy_ns += ns;
    else if (o->class.family == FAMILY_COMM)
        s->comm_ns += ns;
}

static struct copy_total *copy_total_of(struct sums *s, const struct op *o, uint32_t i)
{
    for (size_t k = 0; k < s->copies.n; k++) {
        struct copy_total *c = &s->copies.at[k];
        if (c->kind == o->copy_kind && c->src_kind == o->src_kind && c->dst_kind == o->dst_kind)
            return c;
    }
    struct copy_total *c = vec_push(&s->copies);
    if (c)
        *c = (struct copy_total){
            .kind = o->copy_kind, .src_kind = o->src_kind, .dst_kind = o->dst_kind, .longest = i};
    return c;
}

static int add_copy(struct facts *f, struct sums *s, const struct activity *act, uint32_t i)
{
    const struct op *o = &f->tl->ops[i], *longest;
    struct copy_total *c = copy_total_of(s, o, i);
    if (!c)
        return -1;
    int64_t ns = o->end_ns - o->start_ns;
    longest = &f->tl->ops[c->longest];
    c->count++;
    c->bytes += o->bytes;
    c->total_ns += ns;
    if (tl_op_device(f->tl, i) == f->steps.device)
        c->exposed_ns += ns - spans_covered(&act->compute, o->start_ns, o->end_ns);
    if (o->api != TL_NONE && f->tl->apis[o->api].op == i)
        c->host_blocked_ns += f->tl->apis[o->api].end_ns - f->tl->apis[o->api].start_ns;
    if (ns > longest->end_ns - longest->start_ns)
        c->longest = i;
    return 0;
}

static int add_api(struct facts *f, struct sums *s, uint32_t i)
{
    const struct api *p = &f->tl->apis[i];
    int64_t ns = p->end_ns - p->start_ns;
    if (!s->api_of[p->name]) {
        struct api_total *x = vec_push(&s->apis);
        if (!x)
            return -1;
        *x = (struct api_total){.name = p->name, .kind = p->kind, .longest = i};
        s->api_of[p->name] = (uint32_t)s->apis.n;
    }
    struct api_total *x = &s->apis.at[s->api_of[p->name] - 1];
    x->count++;
    x->total_ns += ns;
    if (ns > x->max_ns) {
        x->max_ns = ns;
        x->longest = i;
    }
    f->totals.launches += p->ops > 0;
    return 0;
}

/* Adds the thread's calls that start within used steps. Both calls and
 * steps are sorted by start. */
static int add_apis_of_thread(struct facts *f, struct sums *s, uint32_t thread)
{
    const struct thread *t = &f->tl->threads[thread];
    size_t k = 0;
    for (uint32_t i = t->first_api; i < t->first_api + t->apis; i++) {
        int64_t start = f->tl->apis[i].start_ns;
        while (k < f->steps.count && f->steps.at[k].end_ns <= start)
            k++;
        if (k == f->steps.count)
            return 0;
        if (f->steps.at[k].used && f->steps.at[k].start_ns <= start && add_api(f, s, i) < 0)
            return -1;
    }
    return 0;
}

static int falling(int64_t a, int64_t b, uint32_t name_a, uint32_t name_b)
{
    return a != b ? (a < b ? 1 : -1) : (name_a > name_b) - (name_a < name_b);
}

static int by_kernel_ns(const void *a, const void *b)
{
    const struct kernel_total *x = a, *y = b;
    return falling(x->total_ns, y->total_ns, x->name, y->name);
}

static int by_copy_ns(const void *a, const void *b)
{
    const struct copy_total *x = a, *y = b;
    return falling(x->total_ns, y->total_ns, x->longest, y->longest);
}

static int by_api_ns(const void *a, const void *b)
{
    const struct api_total *x = a, *y = b;
    return falling(x->total_ns, y->total_ns, x->name, y->name);
}

static void *keep(struct arena *arena, void *at, size_t n, size_t size,
                  int (*order)(const void *, const void *))
{
    void *p = arena_array(arena, n, size);
    if (p && n) {
        qsort(at, n, size, order);
        memcpy(p, at, n * size);
    }
    return p;
}

static int publish(struct facts *f, struct sums *s)
{
    struct totals *t = &f->totals;
    t->kernels = keep(&f->arena, s->kernels.at, s->kernels.n, sizeof *t->kernels, by_kernel_ns);
    t->copies = keep(&f->arena, s->copies.at, s->copies.n, sizeof *t->copies, by_copy_ns);
    t->apis = keep(&f->arena, s->apis.at, s->apis.n, sizeof *t->apis, by_api_ns);
    if (!t->kernels || !t->copies || !t->apis)
        return -1;
    t->kernel_count = s->kernels.n;
    t->copy_count = s->copies.n;
    t->api_count = s->apis.n;
    return 0;
}

int totals_sum(struct facts *f, const struct activity *act, struct err *e)
{
    const struct timeline *t = f->tl;
    struct sums s = {0};
    s.kernel_of = calloc((size_t)t->strings.n + 1, sizeof *s.kernel_of);
    s.api_of = calloc((size_t)t->strings.n + 1, sizeof *s.api_of);
    f->totals.streams = arena_array(&f->arena, t->stream_count, sizeof *f->totals.streams);
    int rc = s.kernel_of && s.api_of && f->totals.streams ? 0 : -1;
    for (uint32_t i = 0; i < t->op_count && rc == 0; i++) {
        uint32_t k = f->steps.op_step[i];
        if (k == TL_NONE || !f->steps.at[k].used)
            continue;
        add_to_stream(&f->totals.streams[t->ops[i].stream], &t->ops[i]);
        if (t->ops[i].kind == OP_KERNEL)
            rc = add_kernel(f, &s, i);
        else if (t->ops[i].kind == OP_COPY)
            rc = add_copy(f, &s, act, i);
    }
    for (uint32_t i = 0; i < t->thread_count && rc == 0; i++)
        if (t->threads[i].process == f->steps.process)
            rc = add_apis_of_thread(f, &s, i);
    if (rc == 0)
        rc = publish(f, &s);
    free(s.kernel_of);
    free(s.api_of);
    vec_release(&s.kernels);
    vec_release(&s.next);
    vec_release(&s.copies);
    vec_release(&s.apis);
    return rc < 0 ? err_no_memory(e) : 0;
}
