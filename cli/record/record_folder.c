/* Asks all runs whose profiles lie in a folder, on whatever node. They watch the file
 * gpuprof.record in it, and each shows its state in its own folder there. */
#include "analyzer/collector/collect.h"
#include "cli/common/command.h"
#include "cli/common/output.h"
#include "cli/record/record.h"

#include "analyzer/profile/spools_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* 12 for NAME.w12.gpuprof; 0 for other names. */
static long number_of(const char *name)
{
    static const char suffix[] = ".gpuprof";
    size_t n = strlen(name), m = sizeof suffix - 1;
    if (n <= m || strcmp(name + n - m, suffix) != 0)
        return 0;
    size_t at = n - m;
    while (at > 0 && isdigit((unsigned char)name[at - 1]))
        at--;
    return at > 1 && name[at - 1] == 'w' && name[at - 2] == '.' ? strtol(name + at, NULL, 10) : 0;
}

/* True if some run keeps its spools there. *newest: the number of the newest window. */
static bool look_into(const char *folder, long *newest)
{
    DIR *d = opendir(folder);
    bool any = false;
    *newest = 0;
    for (struct dirent *f; d && (f = readdir(d));) {
        long number = number_of(f->d_name);
        any |= spools_folder_is(f->d_name);
        *newest = number > *newest ? number : *newest;
    }
    if (d)
        closedir(d);
    return any;
}

static int ask(const char *folder, const char *text, struct stat *written)
{
    struct err e = ERR_INIT;
    enum { FOR_ALL = 0644 }; /* the recorder may be another user than the asker */
    struct output out;
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/gpuprof.record", folder) >= sizeof path)
        return usage_error("record: %s: this name is too long", folder);
    if (output_open(&out, path, true, &e) < 0)
        return fail(&e);
    if (*out.temporary)
        chmod(out.temporary, FOR_ALL);
    fprintf(out.f, "%s\n", text);
    if (output_commit(&out, &e) < 0)
        return fail(&e);
    return stat(path, written) == 0 ? 0 : usage_error("record: %s is gone", path);
}

int record_ask_folder(const char *folder, const char *wanted)
{
    struct stat written;
    char text[128];
    long newest;
    if (!look_into(folder, &newest))
        return usage_error("record: no gpuprof run records into %s", folder);
    snprintf(text, sizeof text, "%s number=%ld", wanted, newest + 1);
    int rc = ask(folder, text, &written);
    if (rc != 0)
        return rc;
    say("asked each gpuprof run --armed with its profile in %s: NAME.w%ld.gpuprof follows", folder,
        newest + 1);
    return 0;
}

static void tell(void *lines, const char *line)
{
    ++*(size_t *)lines;
    puts(line);
}

int record_status_folder(const char *folder)
{
    enum { LOOKS = 100, LOOK_NS = 100000000 }; /* ten seconds, because nodes may be busy */
    struct stat w;
    long newest;
    size_t silent;
    if (!look_into(folder, &newest))
        return usage_error("record: no gpuprof run records into %s", folder);
    int rc = ask(folder, "status", &w);
    if (rc != 0)
        return rc;
    int64_t since_ns = (int64_t)w.st_mtim.tv_sec * 1000000000 + w.st_mtim.tv_nsec;
    for (int i = 0; i < LOOKS; i++) {
        nanosleep(&(struct timespec){0, LOOK_NS}, NULL);
        collect_shown(folder, since_ns, NULL, NULL, &silent);
        if (!silent)
            break;
    }
    size_t lines = 0, answered = collect_shown(folder, since_ns, tell, &lines, &silent);
    if (!answered)
        return usage_error("record: no gpuprof run in %s answers", folder);
    if (!lines)
        say("%s: no process has marked a step yet, or all have ended", folder);
    if (silent)
        say("%zu gpuprof run%s in %s did not answer", silent, silent == 1 ? "" : "s", folder);
    return 0;
}
