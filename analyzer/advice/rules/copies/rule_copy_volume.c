/* Fires if a step copies more to the GPU than computing could ever hide: parameters or states that
 * live in host memory, or input far larger than necessary. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/query.h"
#include "analyzer/timeline/name_test.h"
#include "wire/fact_keys.h"

static const enum memory_kind sources[] = {MEMORY_PINNED, MEMORY_PAGEABLE, MEMORY_MANAGED,
                                           MEMORY_UNKNOWN};

/* Sums the copies to the GPU over all kinds of host memory. */
static struct query_copies all_h2d(const struct facts *f)
{
    struct query_copies sum = {.longest = TL_NONE};
    const struct op *ops = f->tl->ops;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct query_copies c = query_h2d(f, sources[i]);
        sum.count += c.count;
        sum.bytes += c.bytes;
        sum.total_ns += c.total_ns;
        sum.exposed_ns += c.exposed_ns;
        if (c.longest != TL_NONE &&
            (sum.longest == TL_NONE || ops[c.longest].end_ns - ops[c.longest].start_ns >
                                           ops[sum.longest].end_ns - ops[sum.longest].start_ns))
            sum.longest = c.longest;
    }
    return sum;
}

/* Returns the exposed time of copies back to the host, in ns per step, if they return what was
 * fetched: without the fetch they are not needed either. 0: other data come back. */
static int64_t puts_back(const struct facts *f, int64_t exposed)
{
    int64_t ns = 0, most = f->breakdown_ns[PART_COPY] - exposed;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        ns += query_d2h(f, sources[i]).exposed_ns;
    ns = per_step(f, ns);
    return query_comes_back_pct(f, NULL) > 50 && most > 0 ? ns < most ? ns : most : 0;
}

static const char *volume_text(const struct facts *f, struct arena *arena,
                               const struct query_copies *c, int64_t exposed, int64_t back)
{
    double mb = (double)c->bytes / (double)f->steps.used / 1e6;
    const char *up = arena_printf(arena, "the program copies %.*f MB per step to the GPU in %s",
                                  mb < 10 ? 3 : 0, mb, time_text(arena, exposed));
    return back > 0 ? arena_printf(arena, "%s, and most of it back in %s", up ? up : "",
                                   time_text(arena, back))
                    : up;
}

static bool of_offload(const char *range)
{
    return query_name_has(range, "FSDP|fsdp|FullySharded|fully_shard|DeepSpeed|deepspeed|offload|"
                                 "Offload|ZeRO");
}

/* Returns true if weights live in host memory: a library that fetches them was at work (stacks show
 * only that it is installed, which proves nothing), or the fetched data go back. */
static bool is_offloaded(const struct facts *f, int64_t back)
{
    const struct timeline *t = f->tl;
    bool any =
        back > 0 || timeline_meta(t, FACT_TORCH_FSDP) || timeline_meta(t, FACT_TORCH_DEEPSPEED);
    struct name_test offload = name_test_open(t, of_offload);
    for (uint32_t i = 0; !any && i < t->range_count; i++)
        any = name_test(&offload, t->ranges[i].name);
    name_test_close(&offload);
    return any;
}

static void check_copy_volume(const struct facts *f, struct arena *arena, struct outcome *o)
{
    struct query_copies c = all_h2d(f);
    int64_t exposed = query_exposed(f, &c);
    int64_t hidden_at_most = f->breakdown_ns[PART_COMPUTE] + f->breakdown_ns[PART_COMM];
    o->why = arena_printf(arena,
                          "copies to the GPU take %.3f ms per step, computing and communication "
                          "%.3f ms: they can overlap",
                          ms(exposed), ms(hidden_at_most));
    if (exposed <= hidden_at_most)
        return;
    const char *rows = "SELECT * FROM copy WHERE kind = 1 ORDER BY bytes DESC";
    outcome_evidence_per(o, "H2D copies", (double)c.count / (double)f->steps.used, "count", rows);
    outcome_evidence_per(o, "bytes", (double)c.bytes / (double)f->steps.used / 1e6, "MB", rows);
    if (c.total_ns > 0)
        outcome_evidence(o, "rate", (double)c.bytes / (double)c.total_ns, "GB/s", rows);
    outcome_evidence_per(o, "exposed copy time", ms(exposed), "ms", rows);
    outcome_evidence_per(o, "time of computing and communication, which copies could overlap with,",
                         ms(hidden_at_most), "ms", NULL);
    int64_t back = puts_back(f, exposed);
    if (back > 0)
        outcome_evidence_per(o, "exposed time of the copies back, by their sizes the same data,",
                             ms(back), "ms",
                             "SELECT * FROM copy WHERE kind = 2 ORDER BY bytes DESC");
    o->remedy.conditions[CONDITION_OFFLOADED] = is_offloaded(f, back);
    const char *volume = volume_text(f, arena, &c, exposed, back);
    outcome_fires(o, exposed + back,
                  arena_printf(arena,
                               "%s, but the GPU computes for only %s: overlap cannot hide the "
                               "copies",
                               volume ? volume : "", time_text(arena, hidden_at_most)));
    outcome_example_op(o, f->tl, c.longest, "longest copy");
}

const struct rule rule_copy_volume = {
    .id = "copy-volume",
    .title = "Copy less to the GPU in every step",
    .needs = HAVE_COPIES | HAVE_STEPS,
    .check = check_copy_volume,
    .looks_for = "H2D copies that take longer than all computing of the step.",
    .doc = "Copies that overlap with kernels cost nothing, but here the copies take longer than "
           "the kernels. The bus is the limit, so only fewer bytes help. Usual causes: the program "
           "keeps parameters or optimizer states in host memory (offload) and fetches them in "
           "every step, sends inputs as FP32 that were bytes originally, or sends the same data "
           "twice. The bound is the exposed time of the copies to the GPU; if the same data "
           "returns, of those from the GPU as well.",
    .remedy = {.action = ACTION_COPY_LESS_TO_GPU, .object.kind = OBJECT_COPY},
    .tips = {{"overlap-copies", "Copy without blocking, on a separate stream, one batch ahead",
              NULL}},
};
