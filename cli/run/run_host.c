/* Facts about the host on which advice depends. */
#include "cli/run/run.h"

#include "analyzer/collector/collect.h"
#include "base/clock.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void put_number(struct collector *c, const char *key, const char *format, double value)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    collect_put_meta(c, key, text);
}

static void put_cpu_model(struct collector *c)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!colon)
            continue;
        line[strcspn(line, "\n")] = 0;
        collect_put_meta(c, "cpu_model", colon + 1 + (colon[1] == ' '));
        break;
    }
    if (f)
        fclose(f);
}

void host_put_facts(struct collector *c)
{
    cpu_set_t set;
    struct utsname u;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        put_number(c, "usable_cores", "%.0f", CPU_COUNT(&set));
    double quota = host_cgroup_cpus();
    if (quota > 0)
        put_number(c, "cgroup_cpu_quota", "%.2f", quota);
    double memory = host_cgroup_memory();
    if (memory > 0)
        put_number(c, "cgroup_memory_bytes", "%.0f", memory);
    if (uname(&u) == 0)
        collect_put_meta(c, "host_kernel", u.release);
    put_cpu_model(c);
}

/* Seconds for which the usable cores have been idle, in sum; -1: unknown. */
static double idle_seconds(void)
{
    char line[512];
    double sum = 0;
    bool any = false;
    cpu_set_t set;
    FILE *f = sched_getaffinity(0, sizeof set, &set) == 0 ? fopen("/proc/stat", "r") : NULL;
    while (f && fgets(line, sizeof line, f)) {
        int cpu;
        double idle, waits;
        if (sscanf(line, "cpu%d %*f %*f %*f %lf %lf", &cpu, &idle, &waits) != 3 || cpu < 0 ||
            cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &set))
            continue;
        sum += (idle + waits) / (double)sysconf(_SC_CLK_TCK);
        any = true;
    }
    if (f)
        fclose(f);
    return any ? sum : -1;
}

void host_remember_periods(struct host_periods *p)
{
    host_cgroup_periods(p);
    p->idle_s = idle_seconds();
    p->at_s = (double)clock_monotonic_ns() / 1e9;
}

/* Stores how idle the cores were: that shows what the program, and others, left of them. */
static void put_idle(struct collector *c, const struct host_periods *before)
{
    struct host_periods now;
    host_remember_periods(&now);
    double seconds = now.at_s - before->at_s;
    if (before->idle_s >= 0 && now.idle_s >= before->idle_s && seconds >= 1)
        put_number(c, "idle_cores", "%.2f", (now.idle_s - before->idle_s) / seconds);
}

void host_put_limited(struct collector *c, const struct host_periods *before)
{
    struct host_periods now;
    put_idle(c, before);
    host_cgroup_periods(&now);
    size_t most = 0;
    if (now.n == 0 || now.n != before->n)
        return;
    for (size_t i = 1; i < now.n; i++)
        if (now.throttled[i] - before->throttled[i] > now.throttled[most] - before->throttled[most])
            most = i;
    if (now.periods[most] <= before->periods[most])
        return;
    put_number(c, "cgroup_cpu_periods", "%.0f", now.periods[most] - before->periods[most]);
    put_number(c, "cgroup_cpu_throttled_periods", "%.0f",
               now.throttled[most] - before->throttled[most]);
}
