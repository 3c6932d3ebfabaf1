/* See settings.h. */
#include "reference_workloads/common/settings.h"

#include "reference_workloads/common/check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void list_defects(const struct defect *defects, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%s\t%s\t%s\t%s\n", defects[i].name, defects[i].rule,
               defects[i].undo ? defects[i].undo : "", defects[i].what);
    exit(0);
}

static const char *defect_settings(const struct defect *defects, size_t count, const char *name)
{
    if (strcmp(name, "list") == 0)
        list_defects(defects, count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(defects[i].name, name) == 0)
            return defects[i].settings;
    die(2, "there is no defect '%s' (--defect list names them)", name);
}

/* One defect, or several with commas between, each over those before it. */
static void apply_defects(const struct settings *k, const struct defect *defects, size_t count,
                          const char *names)
{
    char name[64];
    while (*names) {
        size_t n = strcspn(names, ",");
        if (n >= sizeof name)
            die(2, "there is no defect '%s' (--defect list names them)", names);
        memcpy(name, names, n);
        name[n] = '\0';
        settings_apply(k, defect_settings(defects, count, name), "defect");
        names += n + (names[n] == ',');
    }
}

/* Tells a profiler which settings of GPUPROF_APPLY the program obeys. It loads its agent before the
 * program; without one there is nobody to tell. */
static void announce(const struct settings *k)
{
    char names[2048] = "";
    void (*fact)(const char *key, const char *value) = NULL;
    *(void **)&fact = dlsym(RTLD_DEFAULT, "gpuprof_hook_fact");
    for (size_t i = 0; fact && i < k->count; i++) {
        size_t n = strlen(names);
        snprintf(names + n, sizeof names - n, "%s%s", n ? " " : "", k->at[i].name);
    }
    for (char *p = names; (p = strchr(p, '-'));)
        *p = '_';
    if (fact)
        fact("program.settings", names);
}

void settings_read(const struct settings *k, const struct defect *defects, size_t count, int argc,
                   char **argv, const char *usage)
{
    const char *defect = args_find(argc, argv, "defect");
    if (defect)
        apply_defects(k, defects, count, defect);
    settings_parse(k, argc, argv, usage);
    settings_apply(k, getenv("GPUPROF_APPLY"), "GPUPROF_APPLY");
    announce(k);
}

static int is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

void settings_print(const struct settings *now, void *before, const char *const *always,
                    size_t count)
{
    const struct settings old = {now->at, now->count, before};
    char value[32], was[32];
    for (size_t i = 0; i < count; i++) {
        setting_text(now, always[i], value, sizeof value);
        printf("%s%s=%s", i ? " " : "", always[i], value);
    }
    for (size_t i = 0; i < now->count; i++) {
        const char *name = now->at[i].name;
        setting_text(now, name, value, sizeof value);
        setting_text(&old, name, was, sizeof was);
        if (!is_among(name, always, count) && strcmp(value, was) != 0)
            printf(" %s=%s", name, value);
    }
    putchar('\n');
}
