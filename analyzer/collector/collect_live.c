/* Checks whether a process still records into a folder. Called before what a killed
 * gpuprof left is removed. */
#include "analyzer/collector/collect.h"

#include "analyzer/collector/spool/spool.h"
#include "base/str.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>

static int64_t live_process(const char *path)
{
    struct err ignored = ERR_INIT;
    struct spool s;
    int64_t pid = 0;
    if (spool_open(&s, path, &ignored) == 0 && spool_alive(&s))
        pid = s.h->pid;
    spool_close(&s);
    return pid;
}

int64_t collect_live(const char *dir)
{
    char path[PATH_MAX];
    int64_t pid = 0;
    DIR *d = opendir(dir);
    for (struct dirent *f; d && !pid && (f = readdir(d));)
        if (str_ends_with(f->d_name, SPOOL_SUFFIX) &&
            (size_t)snprintf(path, sizeof path, "%s/%s", dir, f->d_name) < sizeof path)
            pid = live_process(path);
    if (d)
        closedir(d);
    return pid;
}
