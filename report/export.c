/* Finds an exporter by its name. */
#include "report/export.h"

#include <errno.h>
#include <string.h>

const struct exporter *exporter_find(const char *name)
{
    for (size_t i = 0; i < exporter_count; i++)
        if (strcmp(exporters[i]->name, name) == 0)
            return exporters[i];
    return NULL;
}

int export_done(FILE *f, struct err *e)
{
    if (fflush(f) || ferror(f))
        return err_set(e, "cannot write: %s", strerror(errno ? errno : EIO));
    return 0;
}
