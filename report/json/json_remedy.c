/* Remedies in JSON; docs/json.schema.json describes the keys. */
#include "report/json/json_facts.h"

/* A remedy as a value, for programs, and in the words of each framework. */
void json_remedy(struct json_tree *j, const struct remedy *r, const char *const words[])
{
    tree_begin(j, "remedy", '{');
    tree_str(j, "action", action_id(r->action));
    tree_begin(j, "object", '{');
    tree_str(j, "kind", object_id(r->object.kind));
    tree_str(j, "name", r->object.name);
    tree_str(j, "place", r->object.place);
    tree_str(j, "made_by", r->object.made_by);
    tree_end(j);
    tree_begin(j, "params", '{');
    for (int i = 0; i < PARAM_COUNT; i++)
        if (r->params[i].set && r->params[i].text)
            tree_str(j, param_id(i), r->params[i].text);
        else if (r->params[i].set)
            tree_int(j, param_id(i), r->params[i].number);
    tree_end(j);
    tree_str(j, "now", r->now);
    tree_begin(j, "conditions", '[');
    for (int i = 0; i < CONDITION_COUNT; i++)
        if (r->conditions[i])
            tree_str(j, NULL, condition_id(i));
    tree_end(j);
    tree_str(j, "pytorch", words[FRAMEWORK_PYTORCH]);
    tree_str(j, "tensorflow", words[FRAMEWORK_XLA]);
    tree_str(j, "cuda", words[FRAMEWORK_CUDA]);
    tree_end(j);
}
