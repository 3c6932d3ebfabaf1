/* Facts about the host that the advice depends on. */
#include "cli/run.h"

#include "analyzer/import/collect.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* "QUOTA PERIOD" of version 2; quota and period stand in two files of version 1. */
static double read_quota(const char *folder, bool v2)
{
    char path[PATH_MAX + 32];
    double quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/%s", folder, v2 ? "cpu.max" : "cpu.cfs_quota_us");
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    int n = fscanf(f, "%lf %lf", &quota, &period); /* "max 100000" reads nothing */
    fclose(f);
    if (!v2 && n == 1 && quota > 0) {
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        if ((f = fopen(path, "r"))) {
            n += fscanf(f, "%lf", &period) == 1;
            fclose(f);
        }
    }
    return n == 2 && quota > 0 && period > 0 ? quota / period : 0;
}

static double read_memory(const char *folder, bool v2)
{
    char path[PATH_MAX + 32];
    double bytes = 0;
    snprintf(path, sizeof path, "%s/%s", folder, v2 ? "memory.max" : "memory.limit_in_bytes");
    FILE *f = fopen(path, "r");
    int n = f ? fscanf(f, "%lf", &bytes) : 0; /* "max" reads nothing */
    if (f)
        fclose(f);
    return n == 1 && bytes > 0 && bytes < 4e18 ? bytes : 0; /* version 1 writes a huge number */
}

/* The least of a group and those above it: each one's limit holds. */
static double least(const char *mount, const char *group, bool v2,
                    double (*read_limit)(const char *, bool))
{
    char folder[PATH_MAX];
    double least = 0;
    size_t n = strlen(mount);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, group) >= sizeof folder)
        return 0;
    for (;;) {
        double limit = read_limit(folder, v2);
        if (limit > 0 && (least <= 0 || limit < least))
            least = limit;
        char *slash = strrchr(folder + n, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

/* Is it one of these controllers, comma between? */
static bool has_controller(char *controllers, const char *name)
{
    char *rest = NULL;
    for (char *c = strtok_r(controllers, ",", &rest); c; c = strtok_r(NULL, ",", &rest))
        if (strcmp(c, name) == 0)
            return true;
    return false;
}

static double cgroup_limit(const char *controller, double (*read_limit)(const char *, bool))
{
    char line[PATH_MAX], mount[64];
    double v1 = 0, v2 = 0;
    FILE *f = fopen("/proc/self/cgroup", "r");
    snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
    while (f && fgets(line, sizeof line, f)) { /* ID:CONTROLLERS:/GROUP */
        char *controllers = strchr(line, ':'), *group = NULL;
        line[strcspn(line, "\n")] = 0;
        if (controllers)
            group = strchr(++controllers, ':');
        if (!group)
            continue;
        *group++ = 0;
        if (!*controllers)
            v2 = least("/sys/fs/cgroup", group, true, read_limit);
        else if (has_controller(controllers, controller))
            v1 = least(mount, group, false, read_limit);
    }
    if (f)
        fclose(f);
    return v2 > 0 ? v2 : v1;
}

double host_cgroup_cpus(void)
{
    return cgroup_limit("cpu", read_quota);
}

double host_cgroup_memory(void)
{
    return cgroup_limit("memory", read_memory);
}

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
    if (uname(&u) == 0)
        collect_put_meta(c, "host_kernel", u.release);
    put_cpu_model(c);
}
