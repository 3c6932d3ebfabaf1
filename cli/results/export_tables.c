/* Exports the tables of several runs into three files (export_tables.h). */
#include "cli/results/export_tables.h"

#include "cli/common/command.h"
#include "cli/load/load.h"
#include "cli/common/output.h"
#include "analyzer/profile/redact.h"
#include "report/tables/tables.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct three {
    char path[TABLE_KINDS][PATH_MAX];
    struct output out[TABLE_KINDS];
};

/* Names the files: "fleet" -> fleet/runs.csv, "x.csv" -> x.runs.csv. */
static int name_files(struct three *t, const char *output, struct err *e)
{
    size_t n = strlen(output);
    bool file = n > 4 && strcmp(output + n - 4, ".csv") == 0;
    if (!file && mkdir(output, 0777) != 0 && errno != EEXIST)
        return err_set(e, "%s: cannot make this folder: %s", output, strerror(errno));
    for (int k = 0; k < TABLE_KINDS; k++) {
        const char *between = file ? "." : output[n - 1] == '/' ? "" : "/";
        if (snprintf(t->path[k], PATH_MAX, "%.*s%s%s.csv", (int)(file ? n - 4 : n), output, between,
                     table_name[k]) >= PATH_MAX)
            return err_set(e, "%s: the name is too long", output);
    }
    return 0;
}

static void discard(struct three *t, int from, int to)
{
    for (int k = from; k < to; k++)
        output_discard(&t->out[k]);
}

static int open_files(struct three *t, bool force, struct err *e)
{
    for (int k = 0; k < TABLE_KINDS; k++)
        if (output_check(t->path[k], force, e) < 0)
            return -1;
    for (int k = 0; k < TABLE_KINDS; k++) {
        if (output_open(&t->out[k], t->path[k], force, e) < 0) {
            discard(t, 0, k);
            return -1;
        }
        table_head(k, t->out[k].f);
    }
    return 0;
}

static int add_run(struct three *t, const char *run, const struct load_how *how, struct err *e)
{
    struct loaded l;
    if (load_predicted(&run, 1, how, load_history(NULL), &l, e) < 0)
        return -1;
    for (int k = 0; k < TABLE_KINDS; k++)
        table_rows(k, t->out[k].f, l.analysis, redact_path(run, how->redact));
    load_release(&l);
    return 0;
}

int export_tables(const char *const *runs, size_t n, const struct load_how *how, const char *output,
                  bool force)
{
    static struct three t;
    struct err e = ERR_INIT;
    size_t added = 0;
    if (!*output || strcmp(output, "-") == 0)
        return usage_error("export --format csv: name a folder: -o DIR/");
    if (name_files(&t, output, &e) < 0 || open_files(&t, force, &e) < 0)
        return fail(&e);
    for (size_t i = 0; i < n; i++) {
        struct err why = ERR_INIT;
        if (add_run(&t, runs[i], how, &why) == 0)
            added++;
        else
            fail(&why);
    }
    if (added == 0) {
        discard(&t, 0, TABLE_KINDS);
        return 2;
    }
    for (int k = 0; k < TABLE_KINDS; k++)
        if (output_commit(&t.out[k], &e) < 0) {
            discard(&t, k + 1, TABLE_KINDS);
            return fail(&e);
        }
    say("wrote %zu %s to %s, %s and %s", added, added == 1 ? "run" : "runs", t.path[TABLE_RUNS],
        t.path[TABLE_STEPS], t.path[TABLE_FINDINGS]);
    return added == n ? 0 : 2;
}
