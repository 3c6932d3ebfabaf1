/* Fills a template from a remedy. In it stand
 *   {workers}            a parameter, by its name; {place} and {name} of the remedy's object
 *   {workers|N}          "N" where it is not set
 *   {?made_anew: TEXT}   TEXT, where the condition holds or the parameter is set
 *   {!made_anew: TEXT}   TEXT, where it does not hold or is not set
 *   {?dtype=bf16: TEXT}  TEXT, where the parameter is that text or number ({! likewise)
 *   {@NAME} {loader A B} words of a dialect: `say` fills these
 * TEXT may contain all of this. Everything else stands for itself, braces included. */
#ifndef GPUPROF_REMEDY_TEMPLATE_H
#define GPUPROF_REMEDY_TEMPLATE_H

#include "analyzer/remedy/remedy.h"

struct template_words {
    /* Is the condition so, which remedies do not have ("window")? *known false: there is none. */
    bool (*holds)(const void *arg, const char *name, bool *known);
    /* What {@NAME} or {loader A B} stands for; NULL: nothing of the kind. `text` is what stands
     * in the braces. */
    const char *(*say)(const void *arg, struct arena *arena, const char *text);
    const void *arg;
};

struct filled {
    const char *text; /* from the arena; NULL out of memory */
    bool missing; /* a placeholder had no value and none to stand in, or there is no such name */
    bool place;   /* the place was told */
};

struct filled template_fill(const char *template, const struct remedy *r, struct arena *arena,
                            const struct template_words *words);

#endif
