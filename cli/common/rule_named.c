/* Finds a rule by the name that a user typed. */
#include "cli/common/rule_named.h"

#include "cli/common/command.h"

#include <string.h>

/* The id that the user probably meant: one that contains the name, or the nearest one. NULL: none
 * is near. */
static const char *meant(const char *name)
{
    const char *best = NULL;
    int distance = 6;
    for (size_t i = 0; i < rule_count; i++) {
        int d = word_distance(name, rules[i]->id);
        if (strlen(name) > 2 && strstr(rules[i]->id, name))
            d = 1;
        if (d < distance) {
            distance = d;
            best = rules[i]->id;
        }
    }
    return best;
}

const struct rule *rule_named(const char *name)
{
    const struct rule *r = rule_find(name);
    if (r)
        return r;
    const char *best = meant(name);
    if (best)
        usage_error("no rule '%s'; did you mean %s?", name, best);
    else
        usage_error("no rule '%s'; `gpuprof rules` lists them", name);
    return NULL;
}
