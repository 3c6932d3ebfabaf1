/* `gpuprof try FILE`: the program is the one recorded in FILE, started by the same command. */
#include "cli/try/try.h"

#include "analyzer/profile/store.h"

#include <stdlib.h>
#include <string.h>

bool trial_is_profile(const char *path)
{
    return store_is_profile(path);
}

/* Splits a command at its blanks; malloc'ed, ends with NULL. NULL: out of memory. */
static char **split(const char *command, size_t *count)
{
    char **words = calloc(strlen(command) / 2 + 2, sizeof *words), *text = strdup(command),
         *save = NULL;
    *count = 0;
    if (!words || !text) {
        free(words);
        free(text);
        return NULL;
    }
    for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
        words[(*count)++] = w;
    return words;
}

/* A profile keeps the command joined by blanks, without secrets. It can be split again if no
 * argument has a blank, no secret was removed, and all arguments had room: their stored number
 * shows that. */
char **trial_recorded(const char *path, const char **device, struct err *e)
{
    struct loaded l;
    size_t count = 0;
    if (load_analysis(&path, 1, &(struct load_how){0}, &l, e) < 0)
        return NULL;
    const char *command = timeline_meta(l.timeline, "command"),
               *words = timeline_meta(l.timeline, "command_words"),
               *choice = timeline_meta(l.timeline, "device_choice");
    char **argv = command && words && *command ? split(command, &count) : NULL;
    bool whole = argv && count == strtoul(words, NULL, 10) && !strstr(command, "***");
    if (whole && !*device && choice && strncmp(choice, "virtual", 7) == 0)
        *device = strdup(choice);
    load_release(&l);
    if (whole)
        return argv;
    free(argv);
    err_set(e,
            "the command of %s cannot be repeated word by word (blanks in a word, a secret, or an "
            "older gpuprof): "
            "gpuprof try --profile %s -- PROGRAM ARGS...",
            path, path);
    return NULL;
}
