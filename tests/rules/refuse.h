/* Reads why a rule is suppressed or cannot tell, and its evidence. */
#ifndef GPUPROF_TESTS_RULES_REFUSE_H
#define GPUPROF_TESTS_RULES_REFUSE_H

#include "tests/unit/rule_case.h"

static inline const char *why(const struct advice *a, const char *id)
{
    return case_outcome(a, id)->why;
}

static inline const struct evidence *evidence(const struct outcome *o, const char *part)
{
    for (size_t i = 0; i < o->evidence_count; i++)
        if (strstr(o->evidence[i].text, part))
            return &o->evidence[i];
    return NULL;
}

#endif
