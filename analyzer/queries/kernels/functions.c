/* Reads from a kernel's name which function it applies; see functions.h. */
#include "analyzer/queries/kernels/functions.h"

#include "analyzer/timeline/demangle.h"

#include <ctype.h>
#include <string.h>

struct query_functions query_functions(const struct facts *f, struct arena *arena)
{
    struct query_functions k = {.t = f->tl};
    if (str_table_init(&k.texts) == 0)
        k.of = arena_array(arena, f->tl->strings.n + 1, sizeof *k.of);
    return k;
}

void query_functions_release(struct query_functions *k)
{
    str_table_release(&k->texts);
}

/* Returns what follows the numbers at the start of a template's arguments. */
static const char *behind_numbers(const char *at)
{
    while (isdigit((unsigned char)*at)) {
        const char *comma = strchr(at, ',');
        if (!comma)
            break;
        at = comma + 1 + strspn(comma + 1, " ");
    }
    return at;
}

/* Returns the size of a template's argument: up to the comma or bracket that ends it. */
static size_t argument_size(const char *at)
{
    size_t n = 0;
    for (int depth = 0; at[n] && (depth > 0 || (at[n] != ',' && at[n] != '>')); n++)
        depth += at[n] == '<' ? 1 : at[n] == '>' ? -1 : 0;
    return n;
}

/* Returns where the function begins in a readable name; *size: how long it is. */
static const char *function_in(const char *name, size_t *size)
{
    static const char *const forms[] = {"elementwise_kernel<", "reduce_kernel<"};
    static const char *const wrappers[] = {"gpu_kernel_impl_nocast<", "gpu_kernel_impl<"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const char *at = strstr(name, forms[i]);
        if (!at)
            continue;
        at = behind_numbers(at + strlen(forms[i]));
        for (size_t w = 0; w < sizeof wrappers / sizeof *wrappers; w++) {
            const char *inner = strstr(at, wrappers[w]);
            at = inner ? inner + strlen(wrappers[w]) : at;
        }
        *size = argument_size(at);
        if (*size)
            return at;
    }
    *size = strlen(name);
    return name;
}

uint32_t query_function_of(struct query_functions *k, const struct op *o)
{
    char plain[DEMANGLED_MAX];
    size_t size;
    if (o->kind != OP_KERNEL || !k->of)
        return 0;
    uint32_t *of = &k->of[o->full_name];
    if (*of == 0) {
        const char *name = tl_text(k->t, o->full_name);
        const char *text =
            function_in(demangle(name, plain, sizeof plain) == 0 ? plain : name, &size);
        *of = str_intern(&k->texts, text, size);
    }
    return *of;
}
