/* Writes a remedy in the words of a dialect. */
#include "analyzer/dialects/dialect.h"

#include "analyzer/remedy/template.h"
#include "base/arena.h"

#include <string.h>

struct saying {
    const struct dialect *d;
    const struct facts *f; /* NULL: only the action is known */
    const struct remedy *r;
};

static bool holds(const void *arg, const char *name, bool *known)
{
    const struct saying *s = arg;
    if (strcmp(name, "general") == 0)
        return !s->f;
    if (strcmp(name, "window") == 0)
        return s->f && analysis_of_window(s->f);
    *known = false;
    return false;
}

static const char *say(const void *arg, struct arena *arena, const char *text);

static struct filled fill(const struct saying *s, struct arena *arena, const char *template)
{
    struct template_words words = {holds, say, s};
    return template_fill(template, s->r, arena, &words);
}

/* Returns the text for {@NAME}: that of the innermost dialect whose text is not empty. */
static const char *phrase(const struct saying *s, struct arena *arena, const char *name)
{
    const char *said = NULL;
    for (const struct dialect *d = s->d; d; d = d->base)
        for (size_t i = 0; i < PHRASES && d->phrases[i].name; i++) {
            if (strcmp(d->phrases[i].name, name) != 0)
                continue;
            said = fill(s, arena, d->phrases[i].text).text;
            if (!said || *said)
                return said;
        }
    return said;
}

static bool is(const char *word, size_t n, const char *name)
{
    return strlen(name) == n && memcmp(word, name, n) == 0;
}

static const char *value_of(const struct saying *s, struct arena *arena, const char *word, size_t n)
{
    if (is(word, n, "num_workers"))
        return fill(s, arena, "{workers|N}").text;
    return is(word, n, "prefetch_factor") ? "2" : "True";
}

/* Turns settings such as "num_workers persistent_workers" into a library's call, e.g.
 * "NeuralNet(..., iterator_train__num_workers=2, ...)". Returns NULL if the library has words for
 * none of them. */
static const char *call_of(const struct saying *s, struct arena *arena,
                           const struct loader_words *w, const char *settings)
{
    const char *out = w->open;
    bool said = false;
    for (const char *p = settings; *p && out; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        bool workers = is(p, n, "num_workers");
        if (workers || !w->others || is(p, n, w->others)) {
            out = arena_printf(arena, "%s, %s%.*s=%s", out, w->before,
                               workers ? (int)strlen(w->workers) : (int)n, workers ? w->workers : p,
                               value_of(s, arena, p, n));
            said = true;
        }
        p += n;
    }
    return said && out ? arena_printf(arena, "%s%s", out, w->close) : NULL;
}

static const char *say(const void *arg, struct arena *arena, const char *text)
{
    const struct saying *s = arg;
    const char *said = NULL;
    if (*text == '@')
        return phrase(s, arena, text + 1);
    for (const struct dialect *d = s->d; d && !said; d = d->base)
        if (d->loader.open)
            said = call_of(s, arena, &d->loader, text + strcspn(text, " ") + 1);
    return said;
}

static struct filled words_for(const struct saying *s, struct arena *arena, enum action action)
{
    struct filled f = {0};
    for (const struct dialect *d = s->d; d && (!f.text || !*f.text); d = d->base)
        if (d->words[action])
            f = fill(s, arena, d->words[action]);
    return f;
}

static struct filled words_of(const struct saying *s, struct arena *arena)
{
    enum action general = action_general(s->r->action);
    /* Words of the general action fit better than words about calls. */
    if (s->d->no_calls && s->d->words[general])
        return fill(s, arena, s->d->words[general]);
    struct filled f = words_for(s, arena, s->r->action);
    return f.text && *f.text ? f : words_for(s, arena, general);
}

const char *dialect_say(const struct dialect *d, const struct facts *f, const struct remedy *r,
                        struct arena *arena)
{
    const struct saying s = {d, f, r};
    struct filled words = words_of(&s, arena);
    bool hooked = false;
    for (const struct dialect *k = d; k && !hooked; k = k->base)
        hooked = k->hooked;
    if (!words.text || !*words.text || !hooked)
        return words.text && *words.text ? words.text : NULL;
    /* A line inside a package is not the user's to change, so its place is left out. */
    const char *place = words.place || r->params[PARAM_PACKAGE].set ? NULL : r->object.place;
    return arena_printf(arena, "%s%s%s%s%s", place ? place : "", place ? ": " : "", words.text,
                        r->now ? "; now " : "", r->now ? r->now : "");
}

const char *dialect_general(const struct dialect *d, enum action action, struct arena *arena)
{
    const struct remedy r = {.action = action};
    const struct saying s = {d, NULL, &r};
    return d->words[action] ? fill(&s, arena, d->words[action]).text : NULL;
}

const char *dialect_title(const struct dialect *d, enum action action)
{
    for (; d; d = d->base)
        for (enum action a = action;; a = action_general(a)) {
            if (d->titles[a])
                return d->titles[a];
            if (a == action_general(a))
                break;
        }
    return NULL;
}
