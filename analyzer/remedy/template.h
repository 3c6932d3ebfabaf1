/* Fills a template from a remedy. A template contains
 *   {workers}            a parameter by its name; {place} and {name} of the remedy's object
 *   {workers|N}          "N" if the parameter is not set
 *   {?made_anew: TEXT}   TEXT if the condition holds or the parameter is set
 *   {!made_anew: TEXT}   TEXT if it does not hold or is not set
 *   {?dtype=bf16: TEXT}  TEXT if the parameter is that text or number ({! likewise)
 *   {@NAME} {loader A B} words of a dialect, which `say` fills in
 * TEXT may contain all of these. Everything else stands for itself, braces included. */
#ifndef GPUPROF_REMEDY_TEMPLATE_H
#define GPUPROF_REMEDY_TEMPLATE_H

#include "analyzer/remedy/remedy.h"

struct template_words {
    /* Returns whether a condition holds that remedies do not have, e.g. "window". Sets *known to
     * false if there is no such condition. */
    bool (*holds)(const void *arg, const char *name, bool *known);
    /* Returns the words for {@NAME} or {loader A B}, or NULL if there are none. `text` is what
     * stands between the braces. */
    const char *(*say)(const void *arg, struct arena *arena, const char *text);
    const void *arg;
};

struct filled {
    const char *text; /* in the arena; NULL without memory */
    /* A placeholder had no value and no alternative text, or a name is not known. */
    bool missing;
    bool place; /* the text contains the place */
};

struct filled template_fill(const char *template, const struct remedy *r, struct arena *arena,
                            const struct template_words *words);

#endif
