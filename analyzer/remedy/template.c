/* Fills templates: the words of a remedy, with its numbers, names and conditions put in. template.h
 * has the syntax. */
#include "analyzer/remedy/template.h"

#include "base/arena.h"

#include <ctype.h>
#include <string.h>

struct fill {
    const struct remedy *r;
    struct arena *arena;
    const struct template_words *words;
    struct filled out;
};

/* A part of a template. */
struct span {
    const char *at, *end;
};

static void fill(struct fill *x, struct span t);

static void put(struct fill *x, const char *text, size_t n)
{
    x->out.text = x->out.text ? arena_printf(x->arena, "%s%.*s", x->out.text, (int)n, text) : NULL;
}

static bool is(struct span s, const char *name)
{
    return strlen(name) == (size_t)(s.end - s.at) && memcmp(s.at, name, strlen(name)) == 0;
}

static struct span until(struct span s, char c)
{
    const char *at = memchr(s.at, c, (size_t)(s.end - s.at));
    return (struct span){s.at, at ? at : s.end};
}

/* Returns the value of a parameter, or of the object's place or name, or NULL if it is not set.
 * *known is false if there is no such name. */
static const char *value_of(struct fill *x, struct span name, bool *known)
{
    const struct remedy *r = x->r;
    *known = true;
    for (int i = 0; i < PARAM_COUNT; i++)
        if (is(name, param_id(i)))
            return !r->params[i].set ? NULL
                   : r->params[i].text
                       ? r->params[i].text
                       : arena_printf(x->arena, "%lld", (long long)r->params[i].number);
    if (is(name, "place")) {
        x->out.place = true;
        return r->object.place;
    }
    *known = is(name, "name");
    return *known ? r->object.name : NULL;
}

/* Returns whether a test holds: a condition ("made_anew"), a parameter that is set ("workers"), or
 * one with a certain value ("dtype=bf16"). */
static bool holds(struct fill *x, struct span test)
{
    bool known = true;
    for (int i = 0; i < CONDITION_COUNT; i++)
        if (is(test, condition_id(i)))
            return x->r->conditions[i];
    if (x->words && x->words->holds) {
        const char *name = arena_printf(x->arena, "%.*s", (int)(test.end - test.at), test.at);
        bool so = name && x->words->holds(x->words->arg, name, &known);
        if (known)
            return so;
    }
    struct span name = until(test, '=');
    bool place = x->out.place; /* a test does not put the place into the text */
    const char *value = value_of(x, name, &known);
    x->out.missing |= !known;
    x->out.place = place;
    return value && (name.end == test.end || is((struct span){name.end + 1, test.end}, value));
}

/* Returns the closing brace that matches an opening one just before t.at, or t.end. */
static const char *closed(struct span t)
{
    int open = 1;
    for (const char *p = t.at; p < t.end; p++) {
        open += (*p == '{') - (*p == '}');
        if (open == 0)
            return p;
    }
    return t.end;
}

/* Fills what stands between two braces. Returns false if it is no placeholder but ordinary text. */
static bool fill_braces(struct fill *x, struct span in)
{
    if (*in.at == '?' || *in.at == '!') {
        struct span test = until((struct span){in.at + 1, in.end}, ':');
        if (test.end == in.end)
            return false;
        if (holds(x, test) == (*in.at == '?'))
            fill(x, (struct span){test.end + 1, in.end});
        return true;
    }
    const char *said = NULL;
    bool known = true;
    if (*in.at == '@' || is(until(in, ' '), "loader")) {
        struct fill inner = {x->r, x->arena, x->words, {.text = ""}};
        fill(&inner, in);
        said = x->words && x->words->say && inner.out.text
                   ? x->words->say(x->words->arg, x->arena, inner.out.text)
                   : NULL;
    } else if (islower((unsigned char)*in.at)) {
        struct span name = until(in, '|');
        said = value_of(x, name, &known);
        if (known && !said && name.end < in.end) {
            put(x, name.end + 1, (size_t)(in.end - name.end - 1));
            return true;
        }
    } else {
        return false;
    }
    x->out.missing |= !said;
    if (said)
        put(x, said, strlen(said));
    return true;
}

static void fill(struct fill *x, struct span t)
{
    for (const char *p = t.at; p < t.end && x->out.text;) {
        const char *brace = until((struct span){p, t.end}, '{').end;
        put(x, p, (size_t)(brace - p));
        if (brace == t.end)
            return;
        const char *end = closed((struct span){brace + 1, t.end});
        if (end < t.end && fill_braces(x, (struct span){brace + 1, end})) {
            p = end + 1;
            continue;
        }
        put(x, brace, 1);
        p = brace + 1;
    }
}

struct filled template_fill(const char *template, const struct remedy *r, struct arena *arena,
                            const struct template_words *words)
{
    struct fill x = {r, arena, words, {.text = ""}};
    fill(&x, (struct span){template, template + strlen(template)});
    return x.out;
}
