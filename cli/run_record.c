/* Recording: spools -> collector -> profile, while the program runs. */
#include "cli/run.h"

#include "analyzer/import/collect.h"
#include "analyzer/store/store.h"
#include "analyzer/store/tables.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

struct recording {
    struct store *store;
    struct collector *collector;
    struct sink inner;      /* the store's */
    int64_t from_ns, to_ns; /* rows outside are left out */
    const struct record_options *options;
    struct err first; /* what went wrong while the program ran */
    int64_t start_realtime_ns;
};

static int64_t clock_ns(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint32_t window_intern(void *self, const char *s, size_t n)
{
    struct recording *r = self;
    return r->inner.intern(r->inner.self, s, n);
}

/* Offset of start_ns in rows of `kind`, -1 when they carry no span. */
static int start_offset(enum row_kind kind)
{
    if (kind == ROW_PROCESS)
        return -1;
    for (size_t i = 0; i < tables[kind].count; i++)
        if (strcmp(tables[kind].columns[i].name, "start_ns") == 0)
            return tables[kind].columns[i].offset;
    return -1;
}

static int window_put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct recording *r = self;
    int offset = r->from_ns || r->to_ns != INT64_MAX ? start_offset(kind) : -1;
    if (offset >= 0) {
        int64_t start;
        memcpy(&start, (const char *)row + offset, sizeof start);
        if (start < r->from_ns || start >= r->to_ns)
            return 0;
    }
    return r->inner.put(r->inner.self, kind, row, e);
}

struct recording *record_open(const struct record_options *o, const char *folder, struct err *e)
{
    struct recording *r = calloc(1, sizeof *r);
    if (!r) {
        err_set(e, "out of memory");
        return NULL;
    }
    r->options = o;
    r->from_ns = (int64_t)(o->delay_s * 1e9);
    r->to_ns = o->duration_s > 0 ? r->from_ns + (int64_t)(o->duration_s * 1e9) : INT64_MAX;
    r->store = store_create(o->output, o->force, e);
    if (!r->store) {
        free(r);
        return NULL;
    }
    r->inner = store_sink(r->store);
    struct sink sink = {.self = r, .intern = window_intern, .put = window_put};
    r->start_realtime_ns = clock_ns(CLOCK_REALTIME);
    r->collector = collect_open(folder, clock_ns(CLOCK_MONOTONIC), sink, e);
    if (!r->collector) {
        record_close(r);
        return NULL;
    }
    return r;
}

void record_drain(struct recording *r)
{
    struct err e = ERR_INIT;
    if (collect_drain(r->collector, &e) < 0 && !r->first.text[0])
        r->first = e;
}

static void put_number(struct recording *r, const char *key, const char *format, double value)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    collect_put_meta(r->collector, key, text);
}

/* CPUs that the cgroup grants (v2, then v1), 0 = no limit. */
static double cgroup_cpus(void)
{
    double quota = 0, period = 0;
    FILE *f = fopen("/sys/fs/cgroup/cpu.max", "r");
    if (f) {
        int n = fscanf(f, "%lf %lf", &quota, &period);
        fclose(f);
        return n == 2 && period > 0 ? quota / period : 0;
    }
    if ((f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "r"))) {
        if (fscanf(f, "%lf", &quota) != 1)
            quota = 0;
        fclose(f);
    }
    if (quota > 0 && (f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "r"))) {
        if (fscanf(f, "%lf", &period) != 1)
            period = 0;
        fclose(f);
    }
    return quota > 0 && period > 0 ? quota / period : 0;
}

static void put_cpu_model(struct recording *r)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!colon)
            continue;
        line[strcspn(line, "\n")] = 0;
        collect_put_meta(r->collector, "cpu_model", colon + 1 + (colon[1] == ' '));
        break;
    }
    if (f)
        fclose(f);
}

static void put_host(struct recording *r)
{
    cpu_set_t set;
    struct utsname u;
    char command[4096] = "";
    size_t used = 0;
    for (char *const *a = r->options->argv; *a && used < sizeof command - 1; a++)
        used +=
            (size_t)snprintf(command + used, sizeof command - used, "%s%s", used ? " " : "", *a);
    collect_put_meta(r->collector, "command", command);
    collect_put_meta(r->collector, "source", "run");
    collect_put_meta(r->collector, "gpuprof_version", GPUPROF_VERSION);
    collect_put_meta(r->collector, "device_choice",
                     r->options->device_choice ? r->options->device_choice : "auto");
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, r->start_realtime_ns);
    collect_put_meta(r->collector, "start_realtime_ns", text);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        put_number(r, "usable_cores", "%.0f", CPU_COUNT(&set));
    double quota = cgroup_cpus();
    if (quota > 0)
        put_number(r, "cgroup_cpu_quota", "%.2f", quota);
    if (uname(&u) == 0)
        collect_put_meta(r->collector, "host_kernel", u.release);
    put_cpu_model(r);
}

int record_finish(struct recording *r, struct err *e)
{
    put_host(r);
    if (collect_finish(r->collector, e) < 0 || store_finish(r->store, e) < 0)
        return -1;
    return 0;
}

void record_close(struct recording *r)
{
    if (!r)
        return;
    collect_close(r->collector);
    store_close(r->store);
    free(r);
}
