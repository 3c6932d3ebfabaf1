#include "analyzer/advice/rule.h"

#include <string.h>

const struct rule *rule_find(const char *id)
{
    for (size_t i = 0; i < rule_count; i++)
        if (strcmp(rules[i]->id, id) == 0)
            return rules[i];
    return NULL;
}

const char *rule_title(const struct facts *f, const struct rule *r)
{
    return r->window_title && analysis_of_window(f) ? r->window_title : r->title;
}
