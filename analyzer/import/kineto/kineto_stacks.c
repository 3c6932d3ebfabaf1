/* The rows of Python's stacks, and of the lines from which threads launch. Where calls say the line that
 * they come from, a frame has a row for each of its lines that calls, and calls of PyTorch's modules
 * are told apart, as the agent does (docs/lines.md): a line has a row for each module in which it
 * runs, whose caller is that of the module. */
#include "analyzer/import/kineto/kineto.h"

#include "wire/python_owner.h"
#include "wire/spool_format.h"

#include <string.h>

/* Puts a row, and remembers it. 0 with *k->e set. */
static uint32_t put(struct kineto *k, struct key key, struct row_stack row, struct kineto_owners o)
{
    struct kineto_frames *fs = &k->frames;
    row.id = ++k->ids[ROW_STACK];
    if (k->out->put(k->out->self, ROW_STACK, &row, k->e) < 0)
        return 0;
    struct kineto_owners *slot = vec_push(&fs->owners);
    if (!slot || keymap_put(&fs->stack_of, key, (uint32_t)row.id) < 0) {
        err_set(k->e, "out of memory");
        return 0;
    }
    *slot = o;
    return (uint32_t)row.id;
}

uint32_t kineto_stack(struct kineto *k, uint32_t caller, uint32_t frame, int64_t line)
{
    struct kineto_frames *fs = &k->frames;
    const struct kineto_frame *f = &fs->at.at[frame];
    if (f->kind == KINETO_FRAME_MODULE)
        return caller;
    struct key key = {{caller, frame, line}};
    uint32_t found = keymap_get(&fs->stack_of, key), next = (uint32_t)k->ids[ROW_STACK] + 1;
    if (found != KEYMAP_NONE)
        return found;
    struct kineto_owners o = {.frame = frame, .line = line};
    o.user = caller ? fs->owners.at[caller - 1].user : 0;
    o.package = caller ? fs->owners.at[caller - 1].package : 0;
    o.user = f->owner == PYTHON_OF_USER ? next : o.user;
    o.package = f->owner == PYTHON_OF_PACKAGE ? next : o.package;
    return put(k, key,
               (struct row_stack){
                   .caller = caller, .file = f->file, .function = f->function, .line = line},
               o);
}

static uint32_t module_row(struct kineto *k, const char *text, uint32_t name)
{
    name = text ? k->out->intern(k->out->self, text, strlen(text)) : name;
    struct key key = {{-1, name, 0}};
    uint32_t found = keymap_get(&k->frames.stack_of, key);
    return found != KEYMAP_NONE
               ? found
               : put(k, key, (struct row_stack){.function = name}, (struct kineto_owners){0});
}

bool kineto_module(struct kineto *k, struct kineto_call *call)
{
    struct kineto_frames *fs = &k->frames;
    const struct kineto_frame *f = &fs->at.at[call->frame];
    bool module = f->kind == KINETO_FRAME_MODULE;
    if (!fs->exact || !(module || f->optimizes))
        return true;
    if (!fs->outside)
        fs->outside = module_row(k, SPOOL_NO_MODULE, 0);
    call->module = fs->outside ? module_row(k, module ? NULL : "optimizer", f->function) : 0;
    return call->module != 0;
}

bool kineto_launches_from(struct kineto *k, const struct kineto_calls *c, uint32_t *line)
{
    struct kineto_frames *fs = &k->frames;
    const struct kineto_call *top = c->open.n ? &c->open.at[c->open.n - 1] : NULL;
    const struct kineto_owners *o = top && top->stack ? &fs->owners.at[top->stack - 1] : NULL;
    *line = o ? (o->user ? o->user : o->package) : 0;
    if (!*line || !fs->outside)
        return true;
    o = &fs->owners.at[*line - 1];
    int64_t module = top->module ? top->module : fs->outside;
    struct key key = {{-1 - module, o->frame, o->line}};
    uint32_t found = keymap_get(&fs->stack_of, key);
    const struct kineto_frame *f = &fs->at.at[o->frame];
    *line =
        found != KEYMAP_NONE
            ? found
            : put(k, key,
                  (struct row_stack){
                      .caller = module, .file = f->file, .function = f->function, .line = o->line},
                  *o);
    return *line != 0;
}
