/* Finds the newest profile in the current folder, and the other ranks of its run. */
#include "cli/load/newest.h"

#include "cli/common/command.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char ending[] = ".gpuprof";

static bool is_profile(const char *name)
{
    size_t n = strlen(name), end = sizeof ending - 1;
    return n > end && name[0] != '.' && strcmp(name + n - end, ending) == 0;
}

/* Length of the name before the rank: of "train" in "train.r3.gpuprof" and "train.r3.2.gpuprof";
 * *after points behind the rank. 0: the name has no rank. */
static size_t before_rank(const char *name, const char **after)
{
    for (const char *at = strstr(name, ".r"); at; at = strstr(at + 1, ".r")) {
        const char *digits = at + 2;
        while (isdigit((unsigned char)*digits))
            digits++;
        if (digits == at + 2 || *digits != '.')
            continue;
        *after = digits;
        return (size_t)(at - name);
    }
    return 0;
}

static bool same_run(const char *newest, const char *name)
{
    const char *after = "", *other = "";
    size_t n = before_rank(newest, &after), m = before_rank(name, &other);
    return n && n == m && strncmp(newest, name, n) == 0 && strcmp(after, other) == 0;
}

static int by_rank(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static int only_profiles(const struct dirent *d)
{
    return is_profile(d->d_name);
}

int newest_if_none(const char *command, int *argc, char ***argv)
{
    struct dirent **all = NULL;
    struct stat st;
    const char *newest = NULL;
    struct timespec at = {0, 0};
    if (*argc > 0)
        return 0;
    int n = scandir(".", &all, only_profiles, by_rank);
    for (int i = 0; i < n; i++)
        if (stat(all[i]->d_name, &st) == 0 && S_ISREG(st.st_mode) &&
            (st.st_mtim.tv_sec > at.tv_sec ||
             (st.st_mtim.tv_sec == at.tv_sec && st.st_mtim.tv_nsec >= at.tv_nsec))) {
            at = st.st_mtim;
            newest = all[i]->d_name;
        }
    if (!newest)
        return usage_error("%s: no profile is in this folder; `gpuprof run` records one, or name a "
                           "file: gpuprof %s FILE",
                           command, command);
    char **words = calloc((size_t)n + 1, sizeof *words);
    if (!words)
        return usage_error("out of memory");
    for (int i = 0; i < n; i++)
        if (all[i]->d_name == newest || same_run(newest, all[i]->d_name))
            words[(*argc)++] = all[i]->d_name;
    *argv = words;
    if (*argc == 1)
        say("the newest profile here: %s", newest);
    else
        say("the newest profiles here: %s to %s (%d ranks)", words[0], words[*argc - 1], *argc);
    return 0;
}
