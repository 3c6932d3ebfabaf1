/* timeline_finish, second half: joins rows that belong together, and gives kernels
 * readable names and classes. */
#include "analyzer/timeline/build.h"
#include "analyzer/timeline/classify.h"
#include "analyzer/timeline/demangle.h"

#include <stdio.h>
#include <string.h>

/* ---- (process, correlation) -> api ---- */

/* Hash table of calls by (process, correlation). A slot holds index + 1 into the table of calls as
 * sorted before nested ones were dropped; the key is read from there. */
struct correlations {
    uint32_t *slots, mask;
    const struct refs *refs;
    uint32_t *kept; /* by that index: the call's index now, or that of its outer call */
};

static uint32_t correlation_hash(int64_t process, int64_t correlation)
{
    uint64_t h = ((uint64_t)correlation ^ (uint64_t)process << 48) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

static uint32_t find_api(const struct correlations *c, const struct refs *r)
{
    if (r->correlation <= 0)
        return TL_NONE;
    for (uint32_t i = correlation_hash(r->process, r->correlation) & c->mask; c->slots[i];
         i = (i + 1) & c->mask) {
        const struct refs *key = &c->refs[c->slots[i] - 1];
        if (key->correlation == r->correlation && key->process == r->process)
            return c->kept[c->slots[i] - 1];
    }
    return TL_NONE;
}

static int index_correlations(struct correlations *c, const struct build *b)
{
    uint32_t size = 64;
    while (size < b->apis.n * 2 && size < 1u << 31)
        size *= 2;
    c->mask = size - 1;
    c->refs = b->api_refs.at;
    c->slots = calloc(size, sizeof *c->slots);
    c->kept = malloc((b->apis.n + 1) * sizeof *c->kept);
    if (!c->slots || !c->kept)
        return -1;
    for (uint32_t n = 0; n < b->apis.n; n++) {
        const struct refs *r = &c->refs[n];
        if (r->correlation <= 0)
            continue;
        uint32_t i = correlation_hash(r->process, r->correlation) & c->mask;
        while (c->slots[i] && (c->refs[c->slots[i] - 1].correlation != r->correlation ||
                               c->refs[c->slots[i] - 1].process != r->process))
            i = (i + 1) & c->mask;
        if (!c->slots[i]) /* a repeated number stays with the outer or earlier call */
            c->slots[i] = n + 1;
    }
    return 0;
}

/* Drops driver calls inside a runtime call of the same thread: they add no information. Work that
 * they launched is attributed to the outer call. */
static void drop_nested(struct build *b, struct correlations *c)
{
    size_t n = 0;
    for (size_t i = 0; i < b->apis.n; i++) {
        const struct api *a = &b->apis.at[i], *outer = n ? &b->apis.at[n - 1] : NULL;
        bool nested = outer && a->layer == 1 && outer->layer == 0 && outer->thread == a->thread &&
                      a->start_ns >= outer->start_ns && a->end_ns <= outer->end_ns;
        if (!nested)
            b->apis.at[n++] = *a;
        c->kept[i] = (uint32_t)n - 1;
    }
    b->apis.n = n;
}

/* Links operations, waits and event recordings with the calls that made them. If a call launched
 * several operations, its `op` is the one that starts first. */
static void attach(struct build *b, const struct correlations *c)
{
    for (uint32_t i = 0; i < b->ops.n; i++) {
        uint32_t a = find_api(c, &b->op_refs.at[i]);
        b->ops.at[i].api = a;
        if (a == TL_NONE)
            continue;
        if (b->apis.at[a].op == TL_NONE)
            b->apis.at[a].op = i;
        b->apis.at[a].ops++;
    }
    for (uint32_t i = 0; i < b->syncs.n; i++) {
        uint32_t a = find_api(c, &b->sync_refs.at[i]);
        b->syncs.at[i].api = a;
        if (a != TL_NONE && b->apis.at[a].sync == TL_NONE)
            b->apis.at[a].sync = i;
    }
    for (uint32_t i = 0; i < b->events.n; i++)
        b->events.at[i].api = find_api(c, &b->event_refs.at[i]);
}

/* Sets each thread's slices of apis and ranges, which are sorted by thread. */
static void slice_threads(struct build *b)
{
    for (uint32_t i = 0; i < b->apis.n; i++) {
        struct thread *t = &b->threads.at[b->apis.at[i].thread];
        if (t->apis++ == 0)
            t->first_api = i;
    }
    for (uint32_t i = 0; i < b->ranges.n; i++) {
        struct thread *t = &b->threads.at[b->ranges.at[i].thread];
        if (t->ranges++ == 0)
            t->first_range = i;
    }
}

/* Sets range.parent; the ranges of a thread are nested. */
static void nest_ranges(struct build *b)
{
    uint32_t open = TL_NONE;
    for (uint32_t i = 0; i < b->ranges.n; i++) {
        struct range *r = &b->ranges.at[i];
        while (open != TL_NONE &&
               (b->ranges.at[open].thread != r->thread || b->ranges.at[open].end_ns <= r->start_ns))
            open = b->ranges.at[open].parent;
        r->parent = open;
        open = i;
    }
}

/* Finds the API calls inside each library call. Clocks may differ by a microsecond. */
static void join_calls(struct build *b)
{
    const int64_t slack_ns = 1000;
    for (size_t i = 0; i < b->calls.n; i++) {
        struct call *c = &b->calls.at[i];
        const struct thread *t = &b->threads.at[c->thread];
        size_t low = t->first_api, high = low + t->apis;
        while (low < high) {
            size_t mid = low + (high - low) / 2;
            if (b->apis.at[mid].start_ns < c->row.start_ns - slack_ns)
                low = mid + 1;
            else
                high = mid;
        }
        c->first_api = (uint32_t)low;
        for (; low < t->first_api + (size_t)t->apis && b->apis.at[low].start_ns <= c->row.end_ns &&
               b->apis.at[low].end_ns <= c->row.end_ns + slack_ns;
             low++)
            c->apis++;
    }
}

int build_join(struct build *b, struct err *e)
{
    struct correlations c = {0};
    int rc = index_correlations(&c, b);
    if (rc == 0) {
        drop_nested(b, &c);
        attach(b, &c);
        slice_threads(b);
        nest_ranges(b);
        join_calls(b);
        build_join_collectives(b);
    }
    free(c.slots);
    free(c.kept);
    return rc < 0 ? err_set(e, "out of memory while joining the profile") : 0;
}

/* ---- names ---- */

struct named { /* results for a name, by string id */
    struct kernel_class class;
    uint32_t name;
    /* known & 1: class and name are set (kernels); known & 2: api_kind is set (calls) */
    uint8_t known, api_kind;
};

static int name_kernel(struct build *b, struct named *n, uint32_t full)
{
    const char *text = str_text(&b->t.strings, full);
    char name[256], plain[DEMANGLED_MAX];
    kernel_display_name(text, name, sizeof name);
    /* classify the demangled name: "<float>" says more than the mangled "If" */
    bool readable = demangle(text, plain, sizeof plain) == 0;
    n->class = classify_kernel(readable ? plain : text);
    n->known = 1;
    n->name = str_intern(&b->t.strings, name, strlen(name));
    return n->name == STR_NONE ? -1 : 0;
}

static const char *copy_name(const struct op *o)
{
    switch (o->copy_kind) {
    case COPY_H2D:
        return o->src_kind == MEMORY_PAGEABLE ? "Memcpy H2D (pageable)" : "Memcpy H2D";
    case COPY_D2H:
        return o->dst_kind == MEMORY_PAGEABLE ? "Memcpy D2H (pageable)" : "Memcpy D2H";
    case COPY_D2D:
        return "Memcpy D2D";
    case COPY_P2P:
        return "Memcpy P2P";
    case COPY_H2H:
        return "Memcpy H2H";
    }
    return "Memcpy";
}

/* Adds operand types and layout from the library call to the class of its kernel. The name still
 * decides which kernel ran. */
static void refine(struct build *b)
{
    for (size_t i = 0; i < b->calls.n; i++) {
        const struct call *c = &b->calls.at[i];
        for (uint32_t k = c->first_api; k < c->first_api + c->apis; k++) {
            const struct api *a = &b->apis.at[k];
            if (a->op != TL_NONE && a->ops == 1 && b->ops.at[a->op].kind == OP_KERNEL)
                classify_refine(&b->ops.at[a->op].class, &c->row);
        }
    }
}

/* Marks the work of graph launches as graph nodes: some sources do not mark it. */
static void mark_graphs(struct build *b)
{
    for (size_t i = 0; i < b->ops.n; i++) {
        struct op *o = &b->ops.at[i];
        if (o->in_graph == GRAPH_NONE && o->api != TL_NONE &&
            b->apis.at[o->api].kind == API_GRAPH_LAUNCH)
            o->in_graph = GRAPH_NODE;
    }
}

int build_name(struct build *b, struct err *e)
{
    struct named *named = calloc((size_t)b->t.strings.n + 1, sizeof *named);
    if (!named)
        return err_set(e, "out of memory while naming kernels");
    int rc = 0;
    for (size_t i = 0; i < b->ops.n && rc == 0; i++) {
        struct op *o = &b->ops.at[i];
        if (o->kind == OP_KERNEL) {
            if (!named[o->full_name].known)
                rc = name_kernel(b, &named[o->full_name], o->full_name);
            o->name = named[o->full_name].name;
            o->class = named[o->full_name].class;
        } else {
            const char *text = o->kind == OP_COPY ? copy_name(o) : "Memset";
            o->full_name = o->name = str_intern(&b->t.strings, text, strlen(text));
            rc = o->name == STR_NONE ? -1 : 0;
        }
    }
    for (size_t i = 0; i < b->apis.n; i++) {
        struct api *a = &b->apis.at[i];
        struct named *n = &named[a->name];
        if (!(n->known & 2)) {
            n->api_kind = (uint8_t)api_kind_of(str_text(&b->t.strings, a->name));
            n->known |= 2;
        }
        a->kind = n->api_kind;
    }
    free(named);
    build_name_groups(b);
    if (rc < 0 || build_mark_collectives(b) < 0)
        return err_set(e, "out of memory while naming kernels");
    mark_graphs(b);
    refine(b);
    return 0;
}
