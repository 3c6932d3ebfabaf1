/* Finds the time by a file of PyTorch on the stack: it makes a tensor of what another process sent. For
 * each tensor it connects to the process that has it, and gets the number of a file. */
#include "analyzer/queries/input/handed.h"

#include "analyzer/facts/lines.h"
#include "base/str.h"
#include "wire/fact_keys.h"

#include <stdlib.h>
#include <string.h>

static bool takes_over(const struct timeline *t, uint32_t stack)
{
    for (uint32_t i = stack; i != TL_NONE; i = timeline_stack_index(t, t->stacks[i].caller))
        if (str_ends_with(tl_text(t, t->stacks[i].file), "torch/multiprocessing/reductions.py"))
            return true;
    return false;
}

int64_t query_handed_ns(const struct facts *f)
{
    const struct lines *l = facts_lines(f, LINES_STEP);
    int64_t ns = 0;
    for (uint32_t i = 0; l->stack_ns && i < f->tl->stack_count; i++)
        if (l->stack_ns[i] > 0 && takes_over(f->tl, i))
            ns += l->stack_ns[i];
    return ns;
}

int64_t query_batch_tensors(const struct facts *f)
{
    const char *told = timeline_meta(f->tl, FACT_TORCH_BATCH_TENSORS);
    return told ? strtoll(told, NULL, 10) : 0;
}
