/* The last stage of the advice: adds what the program has where a remedy applies, and writes the
 * remedy in words and as a setting that tries it. */
#include "analyzer/advice/passes.h"
#include "analyzer/dialects/dialect.h"
#include "analyzer/facts/memory.h"
#include "analyzer/queries/input/feed.h"
#include "analyzer/queries/query.h"
#include "wire/fact_keys.h"

#include <string.h>

/* Returns a fact of the program, or NULL. If it is a fact of loaders and there are several, that of
 * the loader for which the program waits. */
static const char *fact(const struct facts *facts, struct arena *arena, const char *key)
{
    struct feed f;
    const char *loader = FACT_TORCH_LOADER;
    size_t n = strlen(loader);
    if (strncmp(key, loader, n) != 0 || !query_feed(facts, arena, &f))
        return timeline_meta(facts->tl, key);
    return query_feed_fact(facts, arena, &f, key[n] ? key + n + 1 : NULL);
}

void outcome_in_program(const struct facts *f, struct arena *arena, struct outcome *o)
{
    const struct program_facts *facts = &o->rule->program;
    struct remedy *r = &o->remedy;
    const char *compile = timeline_meta(f->tl, FACT_TORCH_COMPILE);
    r->conditions[CONDITION_COMPILED] = query_fused_by_compiler(f);
    r->conditions[CONDITION_GRAPHS_ASKED] =
        compile && (strstr(compile, "'reduce-overhead'") || strstr(compile, "'max-autotune'"));
    if (r->object.kind != o->rule->remedy.object.kind) /* these facts describe another object */
        return;
    if (facts->line && !r->object.place)
        r->object.place = fact(f, arena, facts->line);
    const char *now = facts->now ? fact(f, arena, facts->now) : NULL;
    if (now && !strchr(now, '(')) /* a bare value such as "True" needs the setting's name */
        now = arena_printf(arena, "%s: %s", strrchr(facts->now, '.') + 1, now);
    r->now = now;
}

static const struct dialect *own_dialect(const struct facts *f, const struct outcome *o)
{
    return dialect_of(f, dialect_framework(f), &o->remedy);
}

/* "after sync-in-loop: torch.compile(...)" */
static const char *behind(const struct outcome *o, const char *words, struct arena *arena)
{
    const char *both =
        words && o->after ? arena_printf(arena, "after %s: %s", o->after->rule->id, words) : NULL;
    return both ? both : words;
}

void outcome_speak(const struct facts *f, struct arena *arena, struct outcome *o)
{
    for (int i = 0; i < FRAMEWORKS; i++)
        o->words[i] =
            behind(o, dialect_say(dialect_of(f, i, &o->remedy), f, &o->remedy, arena), arena);
    const char *title = dialect_title(own_dialect(f, o), o->remedy.action);
    o->title = title ? title : o->title;
    o->setting = own_dialect(f, o)->no_calls ? NULL : remedy_setting(&o->remedy, arena);
    if (o->setting && !outcome_obeyed(f, o->setting))
        o->setting = NULL;
}

static void speak_of_memory(struct advice *a)
{
    struct memory_failed m = facts_memory_failed(a->facts);
    struct remedy *r = &a->memory_remedy;
    if (m.asked == 0 || !facts_failed(a->facts))
        return;
    r->action = m.held - m.in_use >= m.asked ? ACTION_JOIN_FREE_MEMORY : ACTION_NEED_LESS_MEMORY;
    for (int i = 0; i < FRAMEWORKS; i++)
        a->memory_words[i] = dialect_say(dialect_of(a->facts, i, r), a->facts, r, &a->arena);
}

void advice_speak(struct advice *a)
{
    speak_of_memory(a);
    for (size_t i = 0; i < a->outcome_count; i++) {
        struct outcome *o = &a->outcomes[i];
        if (o->verdict == RULE_FIRES)
            outcome_say_where(a->facts, &a->arena, o);
        if (o->verdict == RULE_FIRES || o->put_off || o->later)
            outcome_speak(a->facts, &a->arena, o);
    }
}
