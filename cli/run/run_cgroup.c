/* Limits of the control groups (v2 or v1) of this process, and of those above it. */
#include "cli/run/run.h"

#include <stdio.h>
#include <string.h>

typedef void see_folder(const char *folder, bool v2, void *to);

/* Granted CPUs: version 2 has "QUOTA PERIOD" in one file, version 1 has two files. 0: no limit. */
static double read_quota(const char *folder, bool v2)
{
    char path[PATH_MAX + 32];
    double quota = 0, period = 0;
    snprintf(path, sizeof path, "%s/%s", folder, v2 ? "cpu.max" : "cpu.cfs_quota_us");
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    int n = fscanf(f, "%lf %lf", &quota, &period); /* n is 0 for "max 100000" */
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
    int n = f ? fscanf(f, "%lf", &bytes) : 0; /* n is 0 for "max" */
    if (f)
        fclose(f);
    /* Version 1 writes a huge number for no limit. */
    return n == 1 && bytes > 0 && bytes < 4e18 ? bytes : 0;
}

/* Visits a group and those above it, since each one's limit holds. */
static void walk(const char *mount, const char *group, bool v2, see_folder *see, void *to)
{
    char folder[PATH_MAX];
    size_t n = strlen(mount);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, group) >= sizeof folder)
        return;
    for (;;) {
        see(folder, v2, to);
        char *slash = strrchr(folder + n, '/');
        if (!slash)
            return;
        *slash = 0;
    }
}

/* True if `name` is in this list, which has commas between controllers. */
static bool has_controller(char *controllers, const char *name)
{
    char *rest = NULL;
    for (char *c = strtok_r(controllers, ",", &rest); c; c = strtok_r(NULL, ",", &rest))
        if (strcmp(c, name) == 0)
            return true;
    return false;
}

/* Visits this process's groups that the controller governs, in both versions. */
static void see_groups(const char *controller, see_folder *see, void *to)
{
    char line[PATH_MAX], mount[64];
    FILE *f = fopen("/proc/self/cgroup", "r");
    snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controller);
    while (f && fgets(line, sizeof line, f)) { /* a line is ID:CONTROLLERS:/GROUP */
        char *controllers = strchr(line, ':'), *group = NULL;
        line[strcspn(line, "\n")] = 0;
        if (controllers)
            group = strchr(++controllers, ':');
        if (!group)
            continue;
        *group++ = 0;
        if (!*controllers)
            walk("/sys/fs/cgroup", group, true, see, to);
        else if (has_controller(controllers, controller))
            walk(mount, group, false, see, to);
    }
    if (f)
        fclose(f);
}

struct least {
    double (*read)(const char *folder, bool v2);
    double limit[2]; /* lowest limit of versions 1 and 2; 0: none */
};

static void see_limit(const char *folder, bool v2, void *to)
{
    struct least *l = to;
    double limit = l->read(folder, v2);
    if (limit > 0 && (l->limit[v2] <= 0 || limit < l->limit[v2]))
        l->limit[v2] = limit;
}

static double cgroup_limit(const char *controller, double (*read)(const char *, bool))
{
    struct least l = {.read = read};
    see_groups(controller, see_limit, &l);
    return l.limit[1] > 0 ? l.limit[1] : l.limit[0];
}

double host_cgroup_cpus(void)
{
    return cgroup_limit("cpu", read_quota);
}

double host_cgroup_memory(void)
{
    return cgroup_limit("memory", read_memory);
}

/* Reads a group's counts, which both versions name alike. A group without a limit has no
 * periods. */
static void see_periods(const char *folder, bool v2, void *to)
{
    struct host_periods *p = to;
    char path[PATH_MAX + 32], line[128];
    (void)v2;
    snprintf(path, sizeof path, "%s/cpu.stat", folder);
    FILE *f = p->n < HOST_GROUPS ? fopen(path, "r") : NULL;
    if (!f)
        return;
    p->periods[p->n] = p->throttled[p->n] = 0;
    while (fgets(line, sizeof line, f)) {
        sscanf(line, "nr_periods %lf", &p->periods[p->n]);
        sscanf(line, "nr_throttled %lf", &p->throttled[p->n]);
    }
    fclose(f);
    p->n++;
}

void host_cgroup_periods(struct host_periods *p)
{
    p->n = 0;
    see_groups("cpu", see_periods, p);
}
