/* Finds the line of a Python stack: its innermost frame in the user's own code. */
#include "analyzer/facts/lines/lines_parts.h"

#include "wire/python_owner.h"

#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 1024 };

static const char *file_of(const struct timeline *t, uint32_t i)
{
    return tl_text(t, t->stacks[i].file);
}

static const char *function_of(const struct timeline *t, uint32_t i)
{
    return tl_text(t, t->stacks[i].function);
}

/* ---- one stack ---- */

/* False for wrappers, whose names tell the reader nothing: Module._call_impl,
 * no_grad.<locals>.decorate_context. A special method says something by its class:
 * WeightedRandomSampler.__iter__. */
static bool says_something(const char *function)
{
    const char *dot = strrchr(function, '.'), *last = dot ? dot + 1 : function;
    bool special = dot && strncmp(last, "__", 2) == 0 && *function != '_';
    return (*last != '_' || special) && *last != '<' && !strstr(function, "<locals>");
}

/* True in PyTorch's loader, in which one call leads to the next: the last of them says what it
 * does. */
static bool in_loader(const struct timeline *t, uint32_t frame)
{
    return strstr(file_of(t, frame), "torch/utils/data/") != NULL;
}

/* The frame that says what the user's frame number `user` calls: the first one below it whose name
 * says something. In PyTorch's loader, or a wrapper of it, that is what the loader calls of others: a
 * data set, a sampler; or else its own last one. frames: innermost first. */
static uint32_t called_by(const struct timeline *t, const uint32_t *frames, size_t user)
{
    uint32_t found = TL_NONE;
    for (size_t i = user; i-- > 0;) {
        bool others = i + 1 < user && in_loader(t, frames[i + 1]) &&
                      python_owner(file_of(t, frames[i])) == PYTHON_OF_PACKAGE;
        if (found != TL_NONE && !in_loader(t, frames[i]) && !others)
            break;
        if (says_something(function_of(t, frames[i])) &&
            strcmp(file_of(t, frames[i]), PYTHON_BUILT_IN) != 0)
            found = frames[i];
    }
    return found != TL_NONE || user == 0 ? found : frames[user - 1];
}

static bool waits_for_engine(const struct timeline *t, uint32_t innermost)
{
    const char *file = file_of(t, innermost), *function = function_of(t, innermost);
    return str_ends_with(file, "torch/autograd/graph.py")
               ? strcmp(function, "_engine_run_backward") == 0
               : str_ends_with(file, "torch/autograd/__init__.py");
}

static bool calls_module(const struct timeline *t, uint32_t frame)
{
    return strcmp(function_of(t, frame), "Module._call_impl") == 0 &&
           python_owner(file_of(t, frame)) == PYTHON_OF_TORCH;
}

/* Whose a file is, where a package that runs the program's loop counts as the user's own. */
static enum python_owner owner_in(const char *file, const struct loop_package *loop)
{
    const char *inside = loop->length ? python_in_packages(file) : NULL;
    return inside && strncmp(inside, loop->name, loop->length) == 0 && inside[loop->length] == '/'
               ? PYTHON_OF_USER
               : python_owner(file);
}

/* Finds the stack's line: its innermost frame in the user's code or, if there is none,
 * in an installed package. */
static struct stack_line resolve(const struct timeline *t, uint32_t stack,
                                 const struct loop_package *loop)
{
    struct stack_line s = {.line = TL_NONE,
                           .called = TL_NONE,
                           .innermost = stack,
                           .outside = TL_NONE,
                           .in_backward = waits_for_engine(t, stack)};
    bool module =
        false; /* the frame before calls one, and the user's frame outside of it is wanted */
    uint32_t frames[DEEPEST];
    size_t n = 0, line = SIZE_MAX, package = SIZE_MAX;
    for (uint32_t i = stack; i != TL_NONE && n < DEEPEST;
         i = timeline_stack_index(t, t->stacks[i].caller)) {
        enum python_owner owner = owner_in(file_of(t, i), loop);
        if (owner == PYTHON_OF_USER && line == SIZE_MAX)
            line = n;
        if (owner == PYTHON_OF_USER && module) {
            s.outside = i;
            module = false;
        }
        module |= calls_module(t, i);
        s.in_loader |= in_loader(t, i);
        s.in_sampler |= in_loader(t, i) && str_ends_with(function_of(t, i), "._next_index");
        if (owner == PYTHON_OF_PACKAGE && package == SIZE_MAX)
            package = n;
        s.in_worker |= strcmp(function_of(t, i), "_worker_loop") == 0 && owner == PYTHON_OF_TORCH;
        frames[n++] = i;
    }
    if (line == SIZE_MAX)
        line = package;
    if (line == SIZE_MAX)
        return s;
    s.line = frames[line];
    s.called = called_by(t, frames, line);
    return s;
}

struct stack_line *stack_lines_find(const struct facts *f)
{
    const struct timeline *t = f->tl;
    struct stack_line *all = malloc((t->stack_count + 1) * sizeof *all);
    for (size_t i = 0; all && i < t->stack_count; i++)
        all[i] = resolve(t, (uint32_t)i, &(struct loop_package){0});
    struct loop_package loop = all ? loop_package_find(f, all) : (struct loop_package){0};
    for (size_t i = 0; loop.length && i < t->stack_count; i++)
        if (all[i].line != TL_NONE && stack_same_line(t, all[i].line, loop.line))
            all[i] = resolve(t, (uint32_t)i, &loop);
    return all;
}

/* ---- names ---- */

/* "train.py:9", as the hook names places; "transformers/trainer.py:9" in an installed package. */
const char *stack_place(const struct timeline *t, uint32_t stack, struct arena *a)
{
    long long line = t->stacks[stack].line;
    const char *file = python_short_file(file_of(t, stack));
    const char *text = line > 0 ? arena_printf(a, "%s:%lld", file, line) : file;
    return text ? text : "";
}

/* "subprocess" for a file of Python's library, "torch" for one in a package, "model"
 * for the user's model.py. */
static const char *module_of(const char *file, struct arena *a)
{
    const char *inside = python_in_packages(file);
    if (!inside)
        inside = python_in_library(file);
    const char *slash = strrchr(file, '/');
    if (!inside)
        inside = slash ? slash + 1 : file;
    size_t n = strcspn(inside, "/.");
    return arena_printf(a, "%.*s", (int)n, inside);
}

/* "g" for "f.<locals>.g". A comprehension or a lambda belongs to the function around it: "f" for "f.<locals>.<genexpr>". */
static const char *of_locals(const char *function, struct arena *a)
{
    static const char within[] = ".<locals>.";
    for (const char *at = strstr(function, within); at; at = strstr(function, within)) {
        const char *inner = at + sizeof within - 1, *text;
        if (*inner == '<') {
            text = arena_printf(a, "%.*s", (int)(at - function), function);
            return text ? text : "";
        }
        function = inner;
    }
    return function;
}

const char *stack_function(const struct timeline *t, uint32_t stack, struct arena *a)
{
    const char *function = function_of(t, stack), *file = file_of(t, stack);
    function = of_locals(function, a);
    if (python_owner(file) == PYTHON_OF_USER || file[0] == '<')
        return function[0] == '<' ? "" : function;
    const char *module = module_of(file, a);
    const char *text = arena_printf(a, "%s.%s", module ? module : "", function);
    return text ? text : "";
}
