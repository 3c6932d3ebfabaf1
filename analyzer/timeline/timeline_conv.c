/* timeline_finish: finds matrix products that compute a convolution. A convolution with 1x1 filters
 * is computed as a matrix product, by a kernel with the name of one. The operator around the launch
 * shows that it is a convolution. For kernels in graphs, launches of the same kernel outside of
 * graphs (in warm-up steps) decide. */
#include "analyzer/timeline/build.h"
#include "analyzer/timeline/name_test.h"

/* Names of PyTorch's operators on NVIDIA's and AMD's GPUs. */
static bool is_convolution(const char *name)
{
    static const char *const begins[] = {"aten::cudnn_convolution", "aten::miopen_convolution",
                                         "aten::convolution_backward"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

struct span_at { /* cursor over the outermost such operators of a thread */
    const struct name_test *named;
    uint32_t next, end; /* the thread's remaining ranges */
    int64_t start_ns, end_ns;
};

/* True if `ns` lies in such an operator of the thread. Calls must come with rising times. */
static bool inside(const struct timeline *t, struct span_at *s, int64_t ns)
{
    while (s->end_ns <= ns && s->next < s->end) {
        const struct range *r = &t->ranges[s->next++];
        if (r->end_ns > ns && name_test(s->named, r->name)) {
            s->start_ns = r->start_ns;
            s->end_ns = r->end_ns;
        }
    }
    return s->start_ns <= ns && ns < s->end_ns;
}

static bool is_product(const struct op *o)
{
    return o->kind == OP_KERNEL && o->class.family == FAMILY_GEMM;
}

static void by_operators(struct timeline *t)
{
    struct name_test named = name_test_open(t, is_convolution);
    for (uint32_t k = 0; k < t->thread_count; k++) {
        const struct thread *th = &t->threads[k];
        struct span_at s = {&named, th->first_range, th->first_range + th->ranges, INT64_MIN,
                            INT64_MIN};
        for (uint32_t i = th->first_api; i < th->first_api + th->apis; i++) {
            const struct api *a = &t->apis[i];
            if (a->op != TL_NONE && is_product(&t->ops[a->op]) && inside(t, &s, a->start_ns))
                t->ops[a->op].class.family = FAMILY_CONV;
        }
    }
    name_test_close(&named);
}

/* By kernel name: if all launches outside of graphs compute convolutions, those in graphs do,
 * too. -1: out of memory. */
static int by_graphs(struct timeline *t)
{
    enum { CONV = 1, PRODUCT = 2 };
    uint8_t *seen = calloc((size_t)t->strings.n + 1, 1);
    if (!seen)
        return -1;
    for (size_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (o->kind == OP_KERNEL && o->in_graph == GRAPH_NONE)
            seen[o->full_name] |= o->class.family == FAMILY_CONV   ? CONV
                                  : o->class.family == FAMILY_GEMM ? PRODUCT
                                                                   : 0;
    }
    for (size_t i = 0; i < t->op_count; i++)
        if (is_product(&t->ops[i]) && t->ops[i].in_graph != GRAPH_NONE &&
            seen[t->ops[i].full_name] == CONV)
            t->ops[i].class.family = FAMILY_CONV;
    free(seen);
    return 0;
}

int build_convolutions(struct timeline *t)
{
    by_operators(t);
    return by_graphs(t);
}
