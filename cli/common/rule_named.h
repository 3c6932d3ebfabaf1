/* A rule by the name that a user typed. */
#ifndef GPUPROF_CLI_COMMON_RULE_NAMED_H
#define GPUPROF_CLI_COMMON_RULE_NAMED_H

#include "analyzer/advice/advice.h"

/* NULL: one line on stderr said what might have been meant. */
const struct rule *rule_named(const char *name);

#endif
