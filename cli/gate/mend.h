/* The diff that mends what became slower: `gpuprof fix` of one rule's advice, run by a process that
 * starts before confine() forbids to start one, and learns the rule later. */
#ifndef GPUPROF_CLI_GATE_MEND_H
#define GPUPROF_CLI_GATE_MEND_H

#include "base/err.h"

#include <stdio.h>
#include <sys/types.h>

struct mender {
    pid_t pid; /* 0: none was started */
    FILE *rule, *diff;
};

/* `source`: the program's folder; `profile`: the recording whose advice is made. */
int mender_start(struct mender *m, const char *source, const char *profile, struct err *e);
/* The diff, malloc'ed; NULL: gpuprof can make none. `rule`: NULL for none. Ends the process. */
char *mender_end(struct mender *m, const char *rule);

#endif
