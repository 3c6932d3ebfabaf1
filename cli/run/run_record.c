/* Recording: from spools through the collector into the profile, while the program runs. */
#include "cli/common/command.h"
#include "cli/run/run_armed.h"

#include "analyzer/collector/collect.h"
#include "analyzer/profile/redact.h"
#include "analyzer/profile/spools_folder.h"
#include "analyzer/profile/store.h"
#include "base/clock.h"
#include "base/secrets/secrets.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

struct recording {
    struct store *store;
    struct collector *collector;
    struct sink inner; /* the store's sink */
    struct redact *redact;
    struct metrics *metrics; /* NULL: no metrics */
    struct armed *armed; /* if set, there is no store; NULL: the run is recorded into one profile */
    struct wishes wishes;
    const struct record_options *options;
    const struct run_folders *folders;
    struct host_periods periods; /* of the cgroups, before the program started */
    struct err lost;             /* why the store was closed */
    bool full;                   /* the disk was full at some time */
};

/* The disk is full. The profile keeps what was committed, and gives back the room of the rest,
 * because the program may need it. From now on only rows without a time are written. If even that
 * fails, there is no profile any more. */
static int keep_committed_on_full_disk(struct recording *r, const struct err *why)
{
    struct err ignored = ERR_INIT;
    if (store_roll_back(r->store, &ignored) == 0) {
        collect_disk_full(r->collector);
        r->full = true;
        return 0;
    }
    r->lost = *why;
    store_close(r->store);
    r->store = NULL;
    return -1;
}

/* The store calls this when it finds no space on the disk. The spools lie on the same one. */
static bool make_room(void *self)
{
    struct recording *r = self;
    r->full = true;
    return r->collector && collect_make_room(r->collector);
}

static uint32_t store_text(void *self, const char *s, size_t n)
{
    struct recording *r = self;
    return r->store ? r->inner.intern(r->inner.self, s, n) : 0;
}

static int store_row(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct recording *r = self;
    if (!r->store)
        return err_set(e, "%s", r->lost.text);
    return r->inner.put(r->inner.self, kind, row, e) < 0 ? keep_committed_on_full_disk(r, e) : 0;
}

static int keep_state(void *self, const char *name, const void *state, size_t n, struct err *e)
{
    struct recording *r = self;
    if (!r->store)
        return err_set(e, "%s", r->lost.text);
    return store_put_state(r->store, name, state, n, e) < 0 ? keep_committed_on_full_disk(r, e) : 0;
}

static int keep_rows(void *self, struct err *e)
{
    struct recording *r = self;
    if (!r->store)
        return err_set(e, "%s", r->lost.text);
    return store_commit_rows(r->store, e) < 0 ? keep_committed_on_full_disk(r, e) : 0;
}

/* Writes what is known before the program starts. */
static void put_facts(struct recording *r)
{
    char words[4096] = "", command[4096], text[32];
    size_t used = 0, count = 0;
    for (char *const *a = r->options->argv; *a && used < sizeof words - 1; a++, count++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s", *a) + 1;
    secrets_join(words, used < sizeof words ? used : sizeof words, command, sizeof command);
    collect_put_meta(r->collector, "command", command);
    snprintf(text, sizeof text, "%zu", used < sizeof words ? count : 0);
    collect_put_meta(r->collector, "command_words", text);
    collect_put_meta(r->collector, "source", "run");
    collect_put_meta(r->collector, "gpuprof_version", GPUPROF_VERSION);
    collect_put_meta(r->collector, "device_choice",
                     r->options->device_choice ? r->options->device_choice : "auto");
    if (r->options->no_gpu)
        collect_put_meta(r->collector, "no_gpu", "1");
    snprintf(text, sizeof text, "%" PRId64, clock_ns(CLOCK_REALTIME));
    collect_put_meta(r->collector, "start_realtime_ns", text);
    host_put_facts(r->collector);
    if (run_commit())
        collect_put_meta(r->collector, "commit", run_commit());
    if (r->options->step_kernel)
        collect_put_meta(r->collector, "steps.kernel", r->options->step_kernel);
    if (r->options->way)
        collect_put_meta(r->collector, "windows.way", r->options->way);
    host_remember_periods(&r->periods);
}

static int64_t profile_bytes(void *self)
{
    const struct recording *r = self;
    return r->store ? store_expected_bytes(r->store) : 0;
}

static void tell_line(void *self, const char *line)
{
    asked_say(self, "state %s\n", line);
}

static void tell_status(void *self, const struct asked *from)
{
    struct recording *r = self;
    collect_status(r->collector, tell_line, (void *)(uintptr_t)from);
}

static void show_status(void *self)
{
    collect_show(((struct recording *)self)->collector);
}

/* Rows go from the collector through redaction and the metrics into the profile. */
static int open_collector(struct recording *r, const struct apart *at, struct err *e)
{
    const struct record_options *o = r->options;
    if (o->armed)
        r->armed = armed_open(o, r->folders, e);
    else
        r->store = store_create_kept(at->at, at->as, spools_folder_tag(r->folders->spools), e);
    if (!r->store && !r->armed)
        return -1;
    struct sink sink = {.self = r, .intern = store_text, .put = store_row};
    if (r->armed)
        sink = armed_sink(r->armed);
    else
        r->inner = store_sink(r->store);
    if (o->metrics.path) {
        if (!(r->metrics = metrics_open(&o->metrics, sink, e)))
            return -1;
        sink = metrics_sink(r->metrics);
    }
    if (!(r->redact = redact_open(sink, o->redact, e)))
        return -1;
    r->collector =
        collect_open(r->folders->spools, clock_monotonic_ns(), redact_sink(r->redact), e);
    if (!r->collector)
        return -1;
    char hook[PATH_MAX];
    if (!o->no_samples)
        collect_stacks(r->collector, run_folder_python(hook, sizeof hook) == 0 ? hook : NULL);
    return 0;
}

/* Sets how much of the run is recorded. */
static void set_limits(struct recording *r)
{
    const struct record_options *o = r->options;
    if (r->armed) {
        collect_limit(r->collector, armed_most_bytes(r->armed), armed_bytes, r->armed);
        collect_on_request(r->collector);
        return;
    }
    if (o->max_bytes)
        collect_limit(r->collector, o->max_bytes, profile_bytes, r);
    collect_times(r->collector, &o->times);
}

struct recording *record_open(const struct record_options *o, const struct run_folders *folders,
                              const struct apart *at, struct err *e)
{
    struct recording *r = calloc(1, sizeof *r);
    if (!r) {
        err_set(e, "out of memory");
        return NULL;
    }
    r->options = o;
    r->folders = folders;
    if (open_collector(r, at, e) < 0) {
        record_close(r);
        return NULL;
    }
    collect_meet(r->collector, folders->meeting);
    wishes_begin(&r->wishes, folders, o->output);
    r->wishes.status = tell_status;
    r->wishes.show = show_status;
    r->wishes.self = r;
    set_limits(r);
    collect_virtual_gauges(r->collector, o->virtual_nvml);
    if (r->store)
        store_on_full(r->store, make_room, r);
    if (r->store)
        collect_keep(r->collector,
                     &(struct collect_keeper){.put = keep_state, .commit = keep_rows, .self = r});
    put_facts(r);
    return r;
}

void record_ask(struct recording *r)
{
    wishes_signal(&r->wishes);
}

void record_drain(struct recording *r)
{
    struct err e = ERR_INIT; /* r->lost keeps the reason */
    char line[1024];
    collect_drain(r->collector, &e);
    collect_sample(r->collector);
    if (collect_stuck(r->collector, line, sizeof line))
        warn("%s", line);
    wishes_look(&r->wishes);
    if (r->armed)
        armed_tick(r->armed, r->collector, &r->wishes);
    else
        wishes_refuse(&r->wishes,
                      "the run records without being asked, into one profile at its end; "
                      "gpuprof run --armed records on request");
    if (r->metrics)
        metrics_tick(r->metrics, r->collector);
}

int record_pause_ms(const struct recording *r)
{
    return collect_pause_ms(r->collector);
}

/* Stores the line that the virtual GPU left in a file in the recording's folder. */
static void put_left(struct recording *r, const char *name, const char *key)
{
    char path[PATH_MAX + 16], text[1024] = "";
    snprintf(path, sizeof path, "%s/%s", r->folders->spools, name);
    FILE *f = fopen(path, "r");
    if (f && fgets(text, sizeof text, f))
        collect_put_meta(r->collector, key, text);
    if (f)
        fclose(f);
}

/* Stores how the program ended, and what the virtual GPU lacked. */
static void put_end(struct recording *r, int ended)
{
    char text[16];
    if (ended < 0)
        return;
    snprintf(text, sizeof text, "%d", WIFSIGNALED(ended) ? WTERMSIG(ended) : WEXITSTATUS(ended));
    collect_put_meta(r->collector, WIFSIGNALED(ended) ? "ended.signal" : "ended.status", text);
    put_left(r, "missing_call", "ended.missing_call");
    put_left(r, "unreached", "virtual.unreached");
    put_left(r, "kernel_times", "virtual.kernel_times");
}

/* Each window has its own profile; the metrics are those of all steps of the run. */
static int finish_armed(struct recording *r, struct err *e)
{
    struct err why = ERR_INIT;
    armed_stop(r->armed, r->collector);
    if (r->metrics)
        metrics_end_begin(r->metrics);
    int rc = collect_finish(r->collector, e);
    if (armed_finish(r->armed, r->collector, &r->wishes, e) < 0)
        rc = -1;
    if (r->metrics && metrics_end(r->metrics, r->collector, &why) < 0)
        warn("--metrics: %s", why.text);
    return rc;
}

void record_hurry(struct recording *r)
{
    collect_end_live(r->collector);
    if (r->store)
        store_hurry(r->store);
}

int record_finish(struct recording *r, int ended, struct err *e)
{
    put_end(r, ended);
    host_put_limited(r->collector, &r->periods);
    if (r->armed)
        return finish_armed(r, e);
    int rc = collect_finish(r->collector, e);
    wishes_look(&r->wishes);
    wishes_refuse(&r->wishes, "the program has ended");
    if (r->lost.text[0]) {
        *e = r->lost;
        return -1;
    }
    if (rc == 0 && r->full) { /* the spools' room is needed for the last rows */
        collect_close(r->collector);
        r->collector = NULL;
    }
    return rc < 0 ? -1 : store_finish(r->store, e);
}

const char *record_profile(const struct recording *r)
{
    return r->store ? store_place(r->store) : r->options->output;
}

void record_close(struct recording *r)
{
    if (!r)
        return;
    collect_close(r->collector);
    r->collector = NULL;
    redact_close(r->redact);
    metrics_close(r->metrics);
    armed_close(r->armed);
    store_close(r->store);
    free(r);
}
