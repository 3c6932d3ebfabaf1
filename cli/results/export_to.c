#include "cli/results/export_to.h"

#include "cli/common/command.h"
#include "cli/common/output.h"

#include <stdio_ext.h>
#include <string.h>

static bool can(const struct exporter *x, const struct exported *what)
{
    return what->analysis ? x->analysis != NULL : what->diff ? x->diff != NULL : x->gate != NULL;
}

const struct exporter *export_format(const char *name, const struct exported *what, struct err *e)
{
    char list[256] = "";
    if (strcmp(name, "text") == 0)
        name = "term";
    const struct exporter *x = exporter_find(name);
    if (x && can(x, what))
        return x;
    for (size_t i = 0; i < exporter_count; i++)
        if (can(exporters[i], what))
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "",
                     exporters[i]->name);
    err_set(e, "unknown format '%s'; the formats are %s", name, list);
    return NULL;
}

static int export_into(struct output *out, const struct exporter *x, const struct exported *what,
                       const struct export_options *o, struct err *e)
{
    struct export_options options = *o;
    if (out->path)
        options.color = false;
    int rc = what->analysis ? x->analysis(what->analysis, &options, out->f, e)
             : what->diff   ? x->diff(what->diff, &options, out->f, e)
                            : x->gate(what->gate, &options, out->f, e);
    if (rc) {
        err_wrap(e, "%s", out->path ? out->path : "standard output");
        if (!out->path) { /* said here, with its reason: not again when stdout is flushed */
            __fpurge(stdout);
            clearerr(stdout);
        }
        output_discard(out);
        return -1;
    }
    return output_commit(out, e);
}

int export_to(const struct exporter *x, const struct exported *what, const struct export_options *o,
              const char *path, bool force, struct err *e)
{
    struct output out;
    return output_open(&out, path, force, e) ? -1 : export_into(&out, x, what, o, e);
}

int export_to_fd(const struct exporter *x, const struct exported *what,
                 const struct export_options *o, int fd, struct err *e)
{
    struct output out;
    return output_open_fd(&out, fd, e) ? -1 : export_into(&out, x, what, o, e);
}

int export_loaded(struct loaded *l, const char *profile, const char *format, const char *path,
                  bool force)
{
    struct err e = ERR_INIT;
    struct exported what = {.analysis = l->analysis};
    const struct exporter *x = export_format(format, &what, &e);
    struct export_options o = load_options(l, profile);
    int status = !x || export_to(x, &what, &o, path, force, &e) ? fail(&e) : 0;
    if (status == 0 && strcmp(path, "-") != 0)
        say("wrote %s", path);
    load_release(l);
    return status;
}
