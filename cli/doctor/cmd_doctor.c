/* doctor: check what works on this machine and how to fix the rest. */
#include "cli/common/command.h"
#include "cli/doctor/doctor.h"
#include "cli/run/run.h"

#include "report/json/json_tree.h"
#include "report/terminal/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static bool json;

static const struct option_spec options[] = {
    {"json", 0, OPTION_FLAG, &json, NULL, "machine-readable output; attach it to bug reports"},
    {0},
};

static const char *const words[] = {"ok", "note", "missing"};

void doctor_add(struct doctor *d, enum doctor_state state, const char *id, const char *cure,
                const char *fmt, ...)
{
    va_list ap;
    struct doctor_line *l = vec_push(d);
    if (!l)
        return;
    l->state = state;
    l->id = id;
    snprintf(l->cure, sizeof l->cure, "%s", cure);
    va_start(ap, fmt);
    vsnprintf(l->found, sizeof l->found, fmt, ap);
    va_end(ap);
}

static void write_json(const struct doctor *d)
{
    struct json_tree j;
    tree_start(&j, '{');
    tree_int(&j, "schema", 1);
    tree_str(&j, "gpuprof_version", GPUPROF_VERSION);
    tree_begin(&j, "checks", '[');
    for (size_t i = 0; i < d->n; i++) {
        tree_begin(&j, NULL, '{');
        tree_str(&j, "check", d->at[i].id);
        tree_str(&j, "state", words[d->at[i].state]);
        tree_str(&j, "found", d->at[i].found);
        tree_str(&j, "cure", d->at[i].cure);
        tree_end(&j);
    }
    tree_end(&j);
    tree_print(&j, stdout);
}

static void write_text(const struct doctor *d)
{
    static const enum ink inks[] = {INK_GOOD, INK_WARN, INK_BAD};
    struct terminal t = terminal_open(stdout, terminal_width(), color_wanted(STDOUT_FILENO));
    for (size_t i = 0; i < d->n; i++) {
        term_labelled(&t, words[d->at[i].state], inks[d->at[i].state], d->at[i].found);
        if (*d->at[i].cure)
            term_labelled(&t, "", INK_DIM, d->at[i].cure);
    }
}

static int run(int argc, char **argv)
{
    struct doctor d = {0};
    char agent[PATH_MAX];
    if (argc > 0)
        return usage_error("doctor: takes no operand, not '%s'", argv[0]);
    doctor_gpu(&d);
    doctor_access(&d);
    doctor_self(&d);
    doctor_python(&d);
    doctor_host(&d);
    doctor_others(&d);
    doctor_summary(&d);
    int status = run_file_agent(agent, sizeof agent, NULL) == 0 ? 0 : 1;
    if (json)
        write_json(&d);
    else
        write_text(&d);
    vec_release(&d);
    return status;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .usage = "[--json]",
    .help = "check what works on this machine and how to fix the rest",
    .options = options,
    .run = run,
};
