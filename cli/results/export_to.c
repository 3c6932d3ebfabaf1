/* Runs one exporter into one output (export_to.h). */
#include "cli/results/export_to.h"

#include "cli/common/command.h"
#include "cli/common/output.h"
#include "analyzer/profile/redact.h"

#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool can(const struct exporter *x, const struct exported *what)
{
    return what->analysis ? x->analysis != NULL : what->diff ? x->diff != NULL : x->gate != NULL;
}

const char *export_name(const struct exporter *x)
{
    return strcmp(x->name, "term") ? x->name : "text";
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
                     export_name(exporters[i]));
    err_set(e, "unknown format '%s'; the formats are %s", name, list);
    return NULL;
}

/* The last suffix of a name: ".json" of "x.speedscope.json". */
static const char *suffix_of(const char *name)
{
    const char *slash = strrchr(name, '/'), *dot = strrchr(slash ? slash : name, '.');
    return dot ? dot : "";
}

const char *export_by_suffix(const char *path, const char *otherwise)
{
    size_t n = path ? strlen(path) : 0;
    n -= n > 3 && strcmp(path + n - 3, ".gz") == 0 ? 3 : 0;
    for (size_t i = 0; i < exporter_count; i++) {
        size_t suffix = strlen(exporters[i]->suffix);
        if (strcmp(exporters[i]->suffix, ".json") && exporters[i]->analysis && n > suffix &&
            strncasecmp(path + n - suffix, exporters[i]->suffix, suffix) == 0)
            return export_name(exporters[i]);
    }
    return otherwise;
}

int export_named(const char *format, const char *path, struct err *e)
{
    static const char *const known[] = {".html", ".pdf",    ".png",     ".svg",    ".json",
                                        ".gz",   ".md",     ".txt",     ".csv",    ".xml",
                                        ".docx", ".sqlite", ".gpuprof", ".pftrace"};
    const struct exporter *x = exporter_find(strcmp(format, "text") ? format : "term");
    if (!x || !path)
        return 0;
    char name[4096];
    const char *own = suffix_of(x->suffix);
    size_t n = strlen(path);
    bool gzip = n > 3 && strcmp(path + n - 3, ".gz") == 0 &&
                (strcmp(own, ".json") == 0 || strcmp(own, ".pftrace") == 0);
    snprintf(name, sizeof name, "%.*s", (int)(gzip ? n - 3 : n), path);
    const char *suffix = suffix_of(name);
    bool plain = !strcmp(own, ".md") || !strcmp(own, ".prom");
    if (strcasecmp(suffix, own) == 0 || (plain && strcasecmp(suffix, ".txt") == 0))
        return 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcasecmp(suffix, known[i]) == 0)
            return err_set(
                e, "%s: the format %s is no %s file: use a name such as X%s, or --format NAME",
                path, export_name(x), suffix + 1, x->suffix);
    return 0;
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
        if (!out->path) { /* reported here with its reason, so not again when stdout is flushed */
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

int export_loaded(struct loaded *l, const char *const *files, size_t n, const char *format,
                  const char *path, bool force)
{
    struct err e = ERR_INIT;
    struct exported what = {.analysis = l->analysis};
    const struct exporter *x = export_format(format, &what, &e);
    struct export_options o = load_options(l, files[0]);
    const char **shown = calloc(n, sizeof *shown);
    for (size_t i = 0; shown && i < n; i++)
        shown[i] = redact_path(files[i], l->redact);
    o.files = shown;
    o.file_count = shown ? n : 0;
    int status = !x || export_to(x, &what, &o, path, force, &e) ? fail(&e) : 0;
    free(shown);
    if (status == 0 && strcmp(path, "-") != 0)
        say("wrote %s", path);
    load_release(l);
    return status;
}
