/* The helper QUIET of cases about traces: checks that the listed rules are silent. */
#ifndef GPUPROF_TESTS_RULES_TRACE_H
#define GPUPROF_TESTS_RULES_TRACE_H

#include "tests/unit/rule_case.h"

#define QUIET(a, ...) case_quiet(a, (const char *const[]){__VA_ARGS__, NULL})

#endif
