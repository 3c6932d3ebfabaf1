/* Puts what is known only at the end of a process: its threads, streams, devices, its losses,
 * and the process itself. */
#include "analyzer/collector/spool/spool.h"

static void put_health(struct spool *s, struct spool_out *out, int severity, const char *code,
                       const char *text, int64_t value)
{
    if (value <= 0)
        return;
    struct row_health h = {++out->ids[ROW_HEALTH],  s->process, severity, spool_intern(out, code),
                           spool_intern(out, text), value};
    spool_put(out, ROW_HEALTH, &h);
}

void spool_put_loss(struct spool *s, struct spool_out *out, const char *code, const char *text,
                    int64_t value)
{
    put_health(s, out, 1, code, text, value);
}

void spool_read_counters(struct spool *s)
{
    for (int i = 0; s->h && i < SPOOL_COUNTERS; i++)
        s->lost.counter[i] = (int64_t)atomic_load(&s->h->counter[i]);
}

/* The agent's counter since the requested window began. */
static int64_t counted(const struct spool *s, enum spool_counter c)
{
    return s->lost.counter[c] - s->lost_before.counter[c];
}

#define LOST(what) (s->lost.what - s->lost_before.what)

/* Puts losses that the agent counted. */
static void put_counted(struct spool *s, struct spool_out *out)
{
    static const struct {
        enum spool_counter counter;
        const char *code, *text;
    } losses[] = {
        {SPOOL_CUPTI_DROPPED, "cupti-dropped", "CUPTI dropped records: totals are too small"},
        {SPOOL_BUFFER_STARVED, "buffer-starved",
         "CUPTI requested a buffer when none was free: record less (--duration) or leave the "
         "collector a core"},
        {SPOOL_DISCARDED, "discarded", "CUPTI records discarded because no buffer was free"},
        {SPOOL_RING_FULL, "ring-full",
         "host events dropped: the collector could not keep up, and there was no room for more "
         "rings (512 MiB per process, less where --max-size or the disk leaves less)"},
        {SPOOL_NO_RING, "no-ring",
         "host events dropped: more threads at once than rings (1024), or no room for a ring on "
         "the disk or in --max-size"},
        {SPOOL_TOO_DEEP, "too-deep", "ranges left out: nested deeper than 128"},
        {SPOOL_STRINGS_FULL, "strings-full", "names lost: the string table is full"},
        {SPOOL_NAMES_FULL, "names-full", "kernel names lost: the name table is full"},
        {SPOOL_BUFFERS_LOST, "buffers-lost",
         "another profiler in the program took activity buffers"},
    };
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        put_health(s, out, 1, losses[i].code, losses[i].text, counted(s, losses[i].counter));
}

/* Puts counts of records that were read, but are not in the profile. */
static void put_left_out(struct spool *s, struct spool_out *out)
{
    put_health(s, out, 1, "untimed", "records without usable times were left out", LOST(untimed));
    put_health(s, out, 1, "names-missing",
               "kernels without names, because the process was killed first: they are called "
               "kernel@ADDRESS, and sums by name lack them",
               LOST(unnamed));
    put_health(
        s, out, 1, "cupti-ids",
        "CUPTI gave many calls the same number: which call launched which kernel is not known",
        s->same_ids >= SPOOL_SAME_IDS);
    put_health(
        s, out, 0, "unasked",
        "CUPTI records lost outside of the windows, while CUPTI was turned on or off: nothing "
        "is missing from what was to be recorded",
        counted(s, SPOOL_CUPTI_UNASKED) + LOST(unasked));
    put_health(s, out, 0, "in-flight",
               "GPU operations queued or still running at the end were left out", LOST(in_flight));
    put_health(s, out, 0, "unknown-kinds",
               "records of kinds that this version does not know were skipped",
               LOST(unknown_kinds));
    put_health(s, out, 1, "spool-cut",
               "the program truncated the file with its records: unread records are lost",
               s->guard.cut);
    put_health(s, out, 1, "cut-buffers", "gpuprof could read some activity buffers only in part",
               LOST(cut_buffers));
    put_health(s, out, 1, "bad-records", "damaged host records were left out", LOST(bad_records));
    put_health(s, out, 1, "off-clock",
               "CUPTI records left out because the real-time clock changed meanwhile: their times "
               "are unknown",
               LOST(off_clock));
    put_health(s, out, 1, "clock-set",
               "changes of the real-time clock during the run: the moments around them count as "
               "not recorded",
               s->segments.n ? (int64_t)(s->segments.n + s->segments_lost) - 1 : 0);
}

/* Warns if windows were to be chosen by steps or calls of the program that never came. */
static void put_without_windows(struct spool *s, struct spool_out *out)
{
    bool by_steps = s->fixed.window == SPOOL_WINDOWS_EVERY && !s->leader;
    put_health(s, out, 1, "no-marks",
               "the program marks no steps, so gpuprof ignored --every and --window and recorded "
               "everything: mark steps with NVTX ranges named step, or choose by time (--every 60s "
               "--window 2s)",
               by_steps && s->h->cupti_version && !atomic_load(&s->h->steps));
    put_health(
        s, out, 1, "no-marks",
        "the program marks no steps, so --light recorded nothing in full: mark steps with NVTX "
        "ranges named step, or choose by time (--every 600s --window 1s)",
        s->fixed.window == SPOOL_WINDOWS_LIGHT && !s->leader && s->h->cupti_version &&
            !atomic_load(&s->h->steps));
    put_health(
        s, out, 1, "no-profiler-range",
        "the program never called cudaProfilerStart, so --range cuda-profiler recorded nothing",
        s->fixed.window == SPOOL_WINDOWS_PROFILER && !s->leader && s->h->cupti_version &&
            !s->windows.n);
}

static void put_losses(struct spool *s, struct spool_out *out)
{
    spool_read_counters(s);
    s->unplaced += (int64_t)s->waits_held.n;
    s->waits_held.n = 0;
    spool_place_untimed(s, out);
    put_counted(s, out);
    put_left_out(s, out);
    put_without_windows(s, out);
    put_health(s, out, 0, "rings-left",
               "times that a thread of the program filled a ring of host records and went on in "
               "another one, because the collector got no core in time; nothing is lost by that",
               counted(s, SPOOL_RINGS_LEFT));
    put_health(s, out, 0, "agent-cpu",
               "nanoseconds that the agent's own thread computed; the overhead contains them",
               counted(s, SPOOL_SELF_NS));
}

int64_t spool_device_id(struct spool *s, struct spool_out *out, uint32_t ordinal)
{
    if (ordinal == UINT32_MAX)
        return -1;
    for (size_t i = 0; i < s->devices.n; i++)
        if (s->devices.at[i].row.ordinal == ordinal)
            return s->devices.at[i].row.id;
    struct spool_device *d = vec_push(&s->devices);
    if (!d)
        return -1;
    d->row = (struct row_device){.id = ++out->ids[ROW_DEVICE],
                                 .process = s->process,
                                 .ordinal = ordinal,
                                 .is_virtual = s->chose_virtual ? 1 : -1,
                                 .cc_major = -1,
                                 .cc_minor = -1};
    if (s->chose_virtual)
        d->row.name = spool_intern(out, "Virtual GPU");
    return d->row.id;
}

static void put_places(struct spool *s, struct spool_out *out)
{
    for (size_t i = 0; i < s->threads.n; i++) {
        struct row_thread t = {s->threads.at[i].id, s->process, s->threads.at[i].tid,
                               s->threads.at[i].name};
        spool_put(out, ROW_THREAD, &t);
    }
    for (size_t i = 0; i < s->streams.n; i++) {
        struct spool_stream *p = &s->streams.at[i];
        int64_t device = spool_device_id(s, out, p->device), flags = p->flags;
        for (size_t k = 0; k < s->contexts.n && !p->known; k++)
            if (s->contexts.at[k].context == p->context &&
                s->contexts.at[k].null_stream == p->stream)
                flags = STREAM_LEGACY_DEFAULT;
        struct row_stream r = {p->id,     s->process, device,     p->context,
                               p->stream, flags,      p->priority};
        spool_put(out, ROW_STREAM, &r);
    }
    for (size_t i = 0; i < s->devices.n; i++)
        spool_put(out, ROW_DEVICE, &s->devices.at[i].row);
}

void spool_put_ends(struct spool *s, struct spool_out *out)
{
    put_places(s, out);
    put_losses(s, out);
    spool_put_callers_end(s, out);
    spool_put_stretch_end(s, out);
    s->row.id = s->process;
    s->row.sealed = atomic_load(&s->h->sealed) != 0;
    s->row.start_ns = spool_time(s, s->fixed.start_monotonic_ns);
    spool_put(out, ROW_PROCESS, &s->row);
    spool_put_recorded(s, out);
}
