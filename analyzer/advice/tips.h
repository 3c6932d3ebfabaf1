/* The advice that training engineers read everywhere, tip by tip: which rules see in a profile
 * whether it applies, or why no profile can show it. Data alone; docs/rules.md and `gpuprof rules`
 * are made from it, and a test holds every rule to a tip and every tip to its rules. */
#ifndef GPUPROF_ADVICE_TIPS_H
#define GPUPROF_ADVICE_TIPS_H

#include <stddef.h>

struct tip {
    const char *id;    /* short, for tests and anchors */
    const char *text;  /* the advice, in our words */
    const char *rules; /* ids of the rules that see it, ' ' between; NULL: not visible */
    const char *note;  /* not visible: why; else what is seen of it, or NULL */
};

extern const struct tip tips[];
extern const size_t tip_count;

#endif
