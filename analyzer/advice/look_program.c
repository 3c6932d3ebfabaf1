/* What a framework's hook told of the program, put beside the advice that it is about: the line to
 * change comes first, what stands there now comes last; and whether its runtime obeys the setting
 * that is advised. It changes words, no number. */
#include "analyzer/queries/look_feed.h"

#include <string.h>

static const struct told {
    const char *rule, *line, *now; /* facts; NULL = there is none */
} told[] = {
    {"bucket-size", NULL, "torch.ddp"},
    {"channels-last", NULL, "torch.input"},
    {"checkpointing", NULL, "torch.checkpoint"},
    {"cudnn-algorithm", NULL, "torch.cudnn.benchmark"},
    {"dp-instead-of-ddp", NULL, "torch.data_parallel"},
    {"exposed-communication", NULL, "torch.ddp"},
    {"fused-optimizer", NULL, "torch.optimizer"},
    {"gradient-clipping", NULL, "torch.clip_grad"},
    {"loss-scaling", NULL, "torch.grad_scaler"},
    {"num-workers", "torch.loader.made", "torch.loader"},
    {"pin-memory", "torch.loader.made", "torch.loader"},
    {"tensor-cores", "torch.autocast.where", "torch.autocast"},
};

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

bool outcome_obeyed(const struct analysis *a, const char *settings)
{
    const char *list = timeline_meta(a->tl, "torch.knobs");
    for (const char *p = settings; list && *p; p += *p == ';') {
        size_t n = strcspn(p, ";");
        if (!knows(list, p, n))
            return false;
        p += n;
    }
    return true;
}

/* A fact; of several loaders that of the one which is waited for. */
static const char *fact(struct analysis *a, const char *key)
{
    struct feed f;
    const char *loader = "torch.loader";
    size_t n = strlen(loader);
    if (strncmp(key, loader, n) != 0 || !look_feed(a, &f))
        return timeline_meta(a->tl, key);
    return look_feed_fact(a, &f, key[n] ? key + n + 1 : NULL);
}

void outcome_in_program(struct analysis *a, struct outcome *o)
{
    if (o->knob && !outcome_obeyed(a, o->knob))
        o->knob = NULL;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        if (strcmp(told[i].rule, o->rule->id) != 0)
            continue;
        const char *line = told[i].line ? fact(a, told[i].line) : NULL;
        const char *now = fact(a, told[i].now);
        const char *name = strrchr(told[i].now, '.') + 1;
        bool plain = now && !strchr(now, '('); /* "True": of what? */
        if (line || now)
            o->remedy.pytorch = arena_printf(
                &a->arena, "%s%s%s%s%s%s%s", line ? line : "", line ? ": " : "", o->remedy.pytorch,
                now ? "; now " : "", plain ? name : "", plain ? ": " : "", now ? now : "");
        return;
    }
}
