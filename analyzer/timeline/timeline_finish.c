/* timeline_finish: sorts, joins, names, then finds what holds for the whole profile. */
#include "analyzer/timeline/build.h"

#include <stdio.h>
#include <string.h>

/* Names that importers may state; the analysis itself sets the other bits of enum have. */
static const struct {
    const char *name;
    uint32_t bit;
} have_names[] = {
    {"kernels", HAVE_KERNELS},
    {"copies", HAVE_COPIES},
    {"memory_kinds", HAVE_MEMORY_KINDS},
    {"api", HAVE_API},
    {"sync", HAVE_SYNC},
    {"events", HAVE_EVENTS},
    {"ranges", HAVE_RANGES},
    {"calls", HAVE_CALLS},
    {"loader", HAVE_LOADER},
    {"steps", HAVE_STEPS},
    {"device", HAVE_DEVICE},
    {"memsets", HAVE_MEMSETS},
    {"collectives", HAVE_COLLECTIVES},
    {"ranks", HAVE_RANKS},
    {"host", HAVE_HOST},
    {"memory", 0}, /* no rule needs this */
};

static uint32_t have_parse(const char *list)
{
    uint32_t have = 0;
    while (*list) {
        size_t n = strcspn(list, ",");
        for (size_t i = 0; i < sizeof have_names / sizeof *have_names; i++)
            if (strlen(have_names[i].name) == n && memcmp(have_names[i].name, list, n) == 0)
                have |= have_names[i].bit;
        list += n + (list[n] == ',');
    }
    return have;
}

/* For a source without the meta row "have": it recorded the kinds of data
 * that the profile contains. */
static uint32_t have_inferred(const struct timeline *t)
{
    uint32_t have = 0;
    for (size_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        have |= o->kind == OP_KERNEL ? HAVE_KERNELS
                : o->kind == OP_COPY ? HAVE_COPIES
                                     : HAVE_MEMSETS;
        if (o->kind == OP_COPY && o->src_kind != MEMORY_UNKNOWN)
            have |= HAVE_MEMORY_KINDS;
    }
    for (size_t i = 0; i < t->device_count; i++)
        if (t->devices[i].cc_major > 0)
            have |= HAVE_DEVICE;
    for (size_t i = 0; i < t->process_count; i++)
        if (t->processes[i].rank >= 0)
            have |= HAVE_RANKS;
    return have | (t->api_count ? HAVE_API : 0) | (t->sync_count ? HAVE_SYNC : 0) |
           (t->event_count ? HAVE_EVENTS : 0) | (t->range_count ? HAVE_RANGES : 0) |
           (t->call_count ? HAVE_CALLS : 0) | (t->loader_count ? HAVE_LOADER : 0) |
           (t->collective_count ? HAVE_COLLECTIVES : 0) | (t->host_sample_count ? HAVE_HOST : 0);
}

static uint32_t have_of(const struct timeline *t)
{
    uint32_t have = 0;
    bool told = false;
    for (size_t i = 0; i < t->meta_count; i++)
        if (strcmp(tl_text(t, t->metas[i].key), "have") == 0) {
            have |= have_parse(tl_text(t, t->metas[i].value));
            told = true;
        }
    return told ? have : have_inferred(t);
}

static void span_add(struct timeline *t, bool *any, int64_t start, int64_t end)
{
    if (!*any || start < t->start_ns)
        t->start_ns = start;
    if (!*any || end > t->end_ns)
        t->end_ns = end;
    *any = true;
}

static void find_span(struct timeline *t)
{
    bool any = false;
    for (size_t i = 0; i < t->op_count; i++) {
        const struct op *o = &t->ops[i];
        if (i == 0)
            t->gpu_start_ns = o->start_ns, t->gpu_end_ns = o->end_ns;
        if (o->end_ns > t->gpu_end_ns)
            t->gpu_end_ns = o->end_ns;
        span_add(t, &any, o->start_ns, o->end_ns);
    }
    for (size_t i = 0; i < t->api_count; i++)
        span_add(t, &any, t->apis[i].start_ns, t->apis[i].end_ns);
    for (size_t i = 0; i < t->range_count; i++)
        span_add(t, &any, t->ranges[i].start_ns, t->ranges[i].end_ns);
    for (size_t i = 0; i < t->loader_count; i++)
        span_add(t, &any, t->loaders[i].start_ns, t->loaders[i].end_ns);
}

int build_health(struct build *b, const char *code, const char *text, int64_t value)
{
    struct row_health *h = vec_push(&b->healths);
    if (!h)
        return -1;
    *h = (struct row_health){.severity = 1, .value = value};
    h->code = str_intern(&b->t.strings, code, strlen(code));
    h->text = str_intern(&b->t.strings, text, strlen(text));
    return h->code == STR_NONE || h->text == STR_NONE ? -1 : 0;
}

static int tell_repair(struct build *b, const char *code, const char *text, int64_t count)
{
    char line[256];
    snprintf(line, sizeof line, text, (long long)count);
    return count ? build_health(b, code, line, count) : 0;
}

static int tell_repairs(struct build *b)
{
    const struct repairs *r = &b->repairs;
    if (tell_repair(b, "times-reversed",
                    "%lld records ended before they started: gpuprof treats them as instants",
                    r->reversed) < 0 ||
        tell_repair(b, "times-absurd", "%lld records had impossible times and were left out",
                    r->absurd) < 0 ||
        tell_repair(b, "numbers-absurd",
                    "%lld numbers were impossible: gpuprof treats them as unknown",
                    r->numbers) < 0 ||
        tell_repair(
            b, "references-missing",
            "the recording refers to %lld threads, streams or processes without describing them",
            r->dangling) < 0)
        return -1;
    return tell_repair(b, "ids-repeated", "%lld rows repeated an id and were left out",
                       r->duplicates);
}

#define HAND_OVER(vec, field, count) (b->t.field = b->vec.at, b->t.count = b->vec.n)

static void hand_over(struct build *b)
{
    HAND_OVER(ops, ops, op_count);
    HAND_OVER(apis, apis, api_count);
    HAND_OVER(syncs, syncs, sync_count);
    HAND_OVER(events, events, event_count);
    HAND_OVER(ranges, ranges, range_count);
    HAND_OVER(calls, calls, call_count);
    HAND_OVER(loaders, loaders, loader_count);
    HAND_OVER(os_calls, os_calls, os_call_count);
    HAND_OVER(collectives, collectives, collective_count);
    HAND_OVER(overheads, overheads, overhead_count);
    HAND_OVER(streams, streams, stream_count);
    HAND_OVER(threads, threads, thread_count);
    HAND_OVER(devices, devices, device_count);
    HAND_OVER(processes, processes, process_count);
    HAND_OVER(metas, metas, meta_count);
    HAND_OVER(healths, healths, health_count);
    HAND_OVER(recorded, recorded, recorded_count);
    HAND_OVER(step_blocks, step_blocks, step_block_count);
    HAND_OVER(gpu_samples, gpu_samples, gpu_sample_count);
    HAND_OVER(host_samples, host_samples, host_sample_count);
    HAND_OVER(stacks, stacks, stack_count);
    HAND_OVER(stack_samples, stack_samples, stack_sample_count);
    HAND_OVER(launch_lines, launch_lines, launch_line_count);
    HAND_OVER(allocations, allocations, allocation_count);
}

int timeline_finish(struct timeline *t, struct err *e)
{
    struct build *b = (struct build *)t;
    if (b->finished)
        return 0;
    if (build_sort(b, e) < 0 || build_join(b, e) < 0 || build_name(b, e) < 0)
        return -1;
    if (tell_repairs(b) < 0 || build_missing_ranks(b) < 0)
        return err_set(e, "out of memory while checking the profile");
    vec_release(&b->op_refs);
    vec_release(&b->api_refs);
    vec_release(&b->sync_refs);
    vec_release(&b->event_refs);
    vec_release(&b->range_refs);
    hand_over(b);
    if (build_callers(b) < 0)
        return err_set(e, "out of memory while reading who calls");
    if (build_launch_lines(b) < 0)
        return err_set(e, "out of memory while looking for the lines of launches");
    if (build_updates(t) < 0)
        return err_set(e, "out of memory while looking for updates");
    if (build_convolutions(t) < 0)
        return err_set(e, "out of memory while looking for convolutions");
    build_trials(t);
    find_span(t);
    t->have = have_of(t);
    b->finished = true;
    return 0;
}
