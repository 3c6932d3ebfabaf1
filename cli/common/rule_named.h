/* A rule by the name that a user typed. */
#ifndef GPUPROF_CLI_COMMON_RULE_NAMED_H
#define GPUPROF_CLI_COMMON_RULE_NAMED_H

#include "analyzer/advice/advice.h"

/* NULL: there is no such rule; a line on stderr has suggested one. */
const struct rule *rule_named(const char *name);

#endif
