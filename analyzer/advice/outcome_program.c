/* What a framework's hook recorded of the program, put beside the advice that it is about: the line
 * to change comes first, what is there now comes last. And does the program's runtime obey the
 * setting that is advised? This changes words, no number. */
#include "analyzer/advice/rule.h"
#include "analyzer/queries/input/feed.h"
#include "analyzer/queries/query.h"

#include <string.h>

/* One setting against what the hook said it knows: "num_workers", or "precision=bf16" where not
 * every value will do. */
static bool knows(const char *list, const char *setting, size_t n)
{
    size_t name = strcspn(setting, "=");
    for (const char *p = list; *p; p += strspn(p, " ")) {
        size_t k = strcspn(p, " ");
        if ((k == n || k == name) && memcmp(p, setting, k) == 0)
            return true;
        p += k;
    }
    return false;
}

/* A reference trainer, by the name of what was started. */
static bool is_trainer(const char *command)
{
    static const char *const names[] = {"train_conv", "train_amp", "train_gpt", "train_ddp"};
    for (const char *p = command; *(p += strspn(p, " ")); p += strcspn(p, " ")) {
        size_t n = strcspn(p, " "), at = n;
        while (at > 0 && p[at - 1] != '/')
            at--;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (n - at == strlen(names[i]) && memcmp(p + at, names[i], n - at) == 0)
                return true;
    }
    return false;
}

/* Other programs than the trainers and those with PyTorch read no settings, JAX among them. Of what
 * does not say what was started nothing is known. */
static bool reads_settings(const struct facts *f)
{
    const char *command = timeline_meta(f->tl, "command");
    return !command || (query_of_pytorch(f) && !query_of_xla(f)) || is_trainer(command);
}

bool outcome_obeyed(const struct facts *f, const char *settings)
{
    const char *list = timeline_meta(f->tl, "torch.settings");
    if (!list && !reads_settings(f))
        return false;
    for (const char *p = settings; list && *p; p += *p == ';') {
        size_t n = strcspn(p, ";");
        if (!knows(list, p, n))
            return false;
        p += n;
    }
    return true;
}

/* A fact; of several loaders that of the one which is waited for. */
static const char *fact(const struct facts *facts, struct arena *arena, const char *key)
{
    struct feed f;
    const char *loader = "torch.loader";
    size_t n = strlen(loader);
    if (strncmp(key, loader, n) != 0 || !query_feed(facts, arena, &f))
        return timeline_meta(facts->tl, key);
    return query_feed_fact(facts, arena, &f, key[n] ? key + n + 1 : NULL);
}

void outcome_in_program(const struct facts *f, struct arena *arena, struct outcome *o)
{
    if (o->setting && !outcome_obeyed(f, o->setting))
        o->setting = NULL;
    o->remedy.pytorch = query_library_remedy(f, arena, o->remedy.pytorch);
    const struct program_facts *facts = &o->rule->program;
    const char *line = facts->line ? fact(f, arena, facts->line) : NULL;
    const char *now = facts->now ? fact(f, arena, facts->now) : NULL;
    if (o->elsewhere || (!line && !now))
        return;
    const char *name = strrchr(facts->now, '.') + 1;
    bool plain = now && !strchr(now, '('); /* "True": of what? */
    o->remedy.pytorch =
        arena_printf(arena, "%s%s%s%s%s%s%s", line ? line : "", line ? ": " : "", o->remedy.pytorch,
                     now ? "; now " : "", plain ? name : "", plain ? ": " : "", now ? now : "");
}

void outcome_in_words(const struct facts *f, struct outcome *o)
{
    if (outcome_framework(f) != FRAMEWORK_CUDA)
        return;
    bool general =
        !o->remedy.cuda || o->remedy.cuda == rule_remedy(f, o->rule)->cuda; /* of no special case */
    if (o->rule->libtorch && general && query_of_libtorch(f))
        o->remedy.cuda = o->rule->libtorch;
    if (!o->rule->directives || !query_of_directives(f))
        return;
    o->remedy.cuda = o->rule->directives;
    o->title = o->rule->one_launch ? "Queue the step without waits, in fewer constructs" : o->title;
    o->setting = NULL;
}
