/* How the program ended, as the reason for a short recording. */
#include "analyzer/advice/passes.h"
#include "analyzer/advice/verdict.h"
#include "analyzer/dialects/dialect.h"
#include "analyzer/facts/memory.h"

static void write_out_of_memory(struct advice *a, const struct memory_failed *m)
{
    a->why = arena_printf(&a->arena,
                          "The program failed, and the GPU's memory had no room for %.2f GB%s%s: "
                          "tensors held %.1f of %.1f GB.",
                          (double)m->asked / 1e9, *m->where ? " " : "", m->where,
                          (double)m->in_use / 1e9, (double)m->total / 1e9);
    const char *words = a->memory_words[dialect_framework(a->facts)];
    a->next = words ? arena_printf(&a->arena, "Make it fit into memory: %s", words) : NULL;
}

void verdict_ended(struct advice *a)
{
    const char *missing = timeline_meta(a->facts->tl, "ended.missing_call");
    struct memory_failed memory = facts_memory_failed(a->facts);
    if (missing) {
        a->why =
            arena_printf(&a->arena, "The program called %s, which the virtual GPU lacks.", missing);
        a->next = "Record it on a real GPU, or leave this call out.";
    } else if (a->memory_remedy.action != ACTION_NONE) {
        write_out_of_memory(a, &memory);
    }
}
