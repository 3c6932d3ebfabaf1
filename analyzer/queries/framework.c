/* Which framework drives the program: as the recording says, else by its kernels' names. */
#include "analyzer/queries/query.h"
#include "analyzer/timeline/classify.h"

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

bool query_of_xla(const struct facts *f)
{
    const struct str_table *s = &f->tl->strings;
    if (timeline_meta(f->tl, "framework"))
        return is_framework(f, "xla");
    for (uint32_t i = 0; i < s->n; i++)
        if (classify_xla(s->text[i]))
            return true;
    return false;
}
