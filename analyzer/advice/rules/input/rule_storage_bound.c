/* Fires if the loader's workers wait for files rather than compute. */
#include "analyzer/advice/outcome_loader.h"
#include "analyzer/advice/rule.h"
#include "analyzer/queries/input/loader.h"

/* Returns true if storage, rather than memory, served a good part of the bytes that were read or
 * mapped. */
static bool reads_storage(const struct query_loader *l)
{
    return l->storage_bytes > 0 && l->storage_bytes * QUERY_SOME >= l->read_bytes;
}

static const char *what_for(const struct query_loader *l, int64_t elsewhere)
{
    if (l->io_wait_ns > 0 && l->io_wait_ns * 2 >= elsewhere)
        return "a disk";
    if (l->major_faults > 0 && l->storage_bytes != 0)
        return "file pages that memory no longer holds";
    if (reads_storage(l))
        return "storage, which serves what memory does not hold";
    if (l->storage_bytes < 0)
        return "files, a network or a lock (no wait for a local disk was counted)";
    if (l->read_bytes > 0)
        return "a network, FUSE files or a lock (a local disk served almost none of their reads)";
    return "a network or a lock (they read no files)";
}

static void add_evidence(const struct facts *f, struct outcome *o, const struct query_loader *l,
                         int64_t elsewhere)
{
    const char *rows = "SELECT * FROM host_sample";
    double all = (double)l->making_ns;
    outcome_awaited_evidence(f, o, l);
    outcome_evidence(o, "share of their time: computing", 100 * (double)l->cpu_ns / all, "%", rows);
    if (l->run_queue_ns >= 0)
        outcome_evidence(o, "ready, but without a core", 100 * (double)l->run_queue_ns / all, "%",
                         rows);
    outcome_evidence(o, "waiting for something else", 100 * (double)elsewhere / all, "%", rows);
    if (l->io_wait_ns >= 0)
        outcome_evidence(o, "waiting for a local disk", 100 * (double)l->io_wait_ns / all, "%",
                         rows);
    if (l->major_faults >= 0)
        outcome_evidence(o, "page faults that read a disk", (double)l->major_faults, "count", rows);
    if (l->read_bytes >= 0)
        outcome_evidence(o, "bytes that they request by read calls, per second of work",
                         (double)l->read_bytes * 1e3 / all, "MB/s", rows);
    if (l->storage_bytes >= 0)
        outcome_evidence(o,
                         "bytes that they read from storage, not from memory, per second of work",
                         (double)l->storage_bytes * 1e3 / all, "MB/s", rows);
}

static void check_storage_bound(const struct facts *f, struct arena *arena, struct outcome *o)
{
    int64_t idle = f->breakdown_ns[PART_IDLE_INPUT];
    struct query_loader l;
    if (!outcome_awaited_loader(f, arena, o, &l))
        return;
    if (!l.sampled || l.cpu_ns < 0) {
        o->verdict = RULE_CANNOT_TELL;
        o->why = "not recorded: what the loader's workers wait for (gpuprof run samples their "
                 "clocks; record a longer window)";
        return;
    }
    int64_t elsewhere = query_elsewhere_ns(&l);
    o->why = arena_printf(arena, "the workers wait for files during %.0f %% of their work",
                          100 * (double)elsewhere / (double)l.making_ns);
    if (!query_waits_for_files(&l))
        return;
    add_evidence(f, o, &l, elsewhere);
    o->edit = (struct edit){.kind = &edit_read_free,
                            .read_free.left = 1 - (double)elsewhere / (double)l.making_ns,
                            .best_case = true};
    outcome_fires(o, idle,
                  arena_printf(arena,
                               "the loader's workers wait for %s during %.0f %% of their work; the "
                               "GPU waits for them %s %s",
                               what_for(&l, elsewhere),
                               100 * (double)elsewhere / (double)l.making_ns,
                               time_text(arena, idle), scope_words(f)->per));
    outcome_example_gaps(o, f, PART_IDLE_INPUT, "GPU idle, next batch not ready");
}

const struct rule rule_storage_bound = {
    .id = "storage-bound",
    .title = "Feed the loader from faster storage, or from memory",
    .needs = HAVE_KERNELS | HAVE_API | HAVE_WAITS | HAVE_STEPS,
    .check = check_storage_bound,
    .about_input = true,
    .looks_for =
        "A GPU that waits for data while the loader's workers neither compute nor wait for a core.",
    .doc = "A worker's clocks show what it waits for: CPU time is decoding, run-queue time is a "
           "lack of cores (see starved-workers), and the rest is files, the network or a lock. "
           "gpuprof counts the bytes that storage served apart from the bytes that the workers "
           "requested; the difference came from memory (the page cache). The kernel's network file "
           "systems count as storage; FUSE and object stores do not. More workers help only while "
           "the storage serves several requests at once. From the second epoch on, workers read a "
           "data set that fits in memory from the page cache. A few large files (tar, TFRecord) "
           "read far faster than many small ones. The saving is a bound from a replay in which "
           "reading takes no time, because the recording cannot show how fast other storage is.",
    .remedy = {.action = ACTION_USE_FASTER_STORAGE, .object.kind = OBJECT_LOADER},
    .tips = {{"fast-storage", "Feed the loader from fast storage, or from memory", NULL}},
};
