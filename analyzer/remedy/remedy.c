/* Names of actions, objects, parameters and conditions, and the settings that try a remedy; see
 * remedy.h. */
#include "analyzer/remedy/remedy.h"

#include "analyzer/remedy/template.h"
#include "base/arena.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *id;
    enum action general;
    const char *settings;
} actions[ACTION_COUNT] = {[ACTION_NONE] = {"none", ACTION_NONE, NULL},
#define X(name, id, general, settings) [ACTION_##name] = {id, ACTION_##general, settings},
                           ACTIONS(X)
#undef X
};
#define X(name, id) id,
static const char *const params[PARAM_COUNT] = {REMEDY_PARAMS(X)};
static const char *const conditions[CONDITION_COUNT] = {REMEDY_CONDITIONS(X)};
static const char *const objects[OBJECT_COUNT] = {REMEDY_OBJECTS(X)};
#undef X

const char *action_id(enum action a)
{
    return actions[a].id;
}

enum action action_general(enum action a)
{
    return actions[a].general;
}

const char *action_settings(enum action a)
{
    return actions[a].settings;
}

const char *object_id(enum object o)
{
    return objects[o];
}

const char *param_id(enum param key)
{
    return params[key];
}

const char *condition_id(enum condition which)
{
    return conditions[which];
}

void remedy_number(struct remedy *r, enum param key, int64_t value)
{
    r->params[key] = (struct remedy_value){.set = true, .number = value};
}

void remedy_text(struct remedy *r, enum param key, const char *text)
{
    r->params[key] = (struct remedy_value){.set = text != NULL, .text = text};
}

const char *remedy_setting(const struct remedy *r, struct arena *arena)
{
    const char *template = actions[r->action].settings;
    if (!template || r->object.fixed)
        return NULL;
    struct filled f = template_fill(template, r, arena, NULL);
    return f.missing || !f.text || !*f.text ? NULL : f.text;
}

const char *remedy_setting_name(enum action action, struct arena *arena)
{
    const char *template = actions[action].settings;
    const char *end = template ? strchr(template, '=') : NULL, *name = end;
    while (name && name > template && (islower((unsigned char)name[-1]) || name[-1] == '_'))
        name--;
    return name ? arena_printf(arena, "%.*s", (int)(end - name), name) : NULL;
}
