/* Which framework drives the program: as the recording says, else by its kernels' names. */
#include "analyzer/queries/query.h"

#include <string.h>

static bool is_framework(const struct facts *f, const char *name)
{
    const char *framework = timeline_meta(f->tl, "framework");
    return framework && strcmp(framework, name) == 0;
}

bool query_of_python(const struct facts *f)
{
    const char *exe = timeline_meta(f->tl, "exe");
    return (exe && strstr(exe, "python")) || is_framework(f, "pytorch");
}

/* XLA's compiler calls its kernels loop_add_fusion, input_reduce_fusion_4, gemm_fusion_dot_2. */
static bool is_fusion(const char *name)
{
    static const char *const begin[] = {"loop_", "input_", "gemm_fusion"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (strncmp(name, begin[i], strlen(begin[i])) == 0)
            return strstr(name, "fusion") && !strpbrk(name, " :(");
    return false;
}

bool query_of_xla(const struct facts *f)
{
    const struct str_table *s = &f->tl->strings;
    if (timeline_meta(f->tl, "framework"))
        return is_framework(f, "xla");
    for (uint32_t i = 0; i < s->n; i++)
        if (is_fusion(s->text[i]))
            return true;
    return false;
}
