/* Rules count and time "per step". If no step repeats, the same numbers refer to the whole recorded
 * window, and the texts must say so: one list of phrases adapts them for all rules. */
#include "analyzer/advice/outcome.h"
#include "analyzer/advice/rule.h"

#include <string.h>

static const struct phrase {
    const char *step, *window;
} phrases[] = {
    /* the first that fits counts */
    {" per step of ", " of "},
    {", per step", ", in the window"},
    {" per step", " in the window"},
    {"every step sends", "the program sends"},
    {"in every step the host", "the host"},
    {" for this step", " for this window"},
    {" in each step", " in the window"},
    {" in every step", " in the window"},
    {" for each step", ""},
    {" of each step", " of the recorded window"},
    {" of a step", " of the recorded window"},
    {" of the step", " of the recorded window"},
    {" rest of the step", " rest of the window"},
    {" in the step", " in the window"},
    {" in the loop; the GPU then", "; the GPU then"},
    {" every N steps", " now and then"},
    {", read one step later", ", and read it later"},
    {" one step later", " later"},
    {" while the next step's work is queued", " while work is queued"},
};

static const struct phrase *phrase_at(const char *p)
{
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (strncmp(p, phrases[i].step, strlen(phrases[i].step)) == 0)
            return &phrases[i];
    return NULL;
}

/* The text itself where nothing in it is of a step, or memory is short. */
static const char *of_window(struct arena *arena, const char *text)
{
    size_t n = 0, turned = 0;
    for (const char *p = text; p && *p; n++) {
        const struct phrase *x = phrase_at(p);
        turned += x != NULL;
        n += x ? strlen(x->window) : 0;
        p += x ? strlen(x->step) : 1;
    }
    char *out = turned ? arena_alloc(arena, n + 1) : NULL;
    if (!out)
        return text;
    char *to = out;
    for (const char *p = text; *p;) {
        const struct phrase *x = phrase_at(p);
        if (!x) {
            *to++ = *p++;
            continue;
        }
        size_t length = strlen(x->window);
        memcpy(to, x->window, length);
        to += length;
        p += strlen(x->step);
    }
    *to = 0;
    return out;
}

void outcome_of_window(struct arena *arena, struct outcome *o)
{
    if (o->rule->window_title && o->title == o->rule->title)
        o->title = o->rule->window_title;
    o->why = of_window(arena, o->why);
    o->summary = of_window(arena, o->summary);
    for (size_t i = 0; i < o->evidence_count; i++)
        o->evidence[i].text = of_window(arena, o->evidence[i].text);
    o->remedy.pytorch = of_window(arena, o->remedy.pytorch);
    o->remedy.tensorflow = of_window(arena, o->remedy.tensorflow);
    o->remedy.cuda = of_window(arena, o->remedy.cuda);
}
