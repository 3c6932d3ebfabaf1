/* doctor: what will work on this machine, and what to do about the rest. */
#include "cli/command.h"
#include "cli/doctor/doctor.h"

#include "report/json/json_write.h"
#include "report/terminal/terminal.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static bool json;

static const struct option_spec options[] = {
    {"json", 0, OPTION_FLAG, &json, NULL, "for programs, and for bug reports"},
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
    struct json j;
    json_start(&j, stdout);
    j.indent = 2;
    json_begin(&j, NULL, '{');
    json_int(&j, "schema", 1);
    json_str(&j, "gpuprof_version", GPUPROF_VERSION);
    json_begin(&j, "checks", '[');
    for (size_t i = 0; i < d->n; i++) {
        json_begin(&j, NULL, '{');
        json_str(&j, "check", d->at[i].id);
        json_str(&j, "state", words[d->at[i].state]);
        json_str(&j, "found", d->at[i].found);
        json_str(&j, "cure", d->at[i].cure);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end(&j, '}');
    json_end_document(&j);
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
    if (argc > 0)
        return usage_error("doctor: takes no operand, not '%s'", argv[0]);
    doctor_gpu(&d);
    doctor_access(&d);
    doctor_self(&d);
    doctor_python(&d);
    doctor_host(&d);
    doctor_others(&d);
    doctor_summary(&d);
    if (json)
        write_json(&d);
    else
        write_text(&d);
    vec_release(&d);
    return 0;
}

const struct command cmd_doctor = {
    .name = "doctor",
    .usage = "[--json]",
    .help = "what will work on this machine, and what to do about the rest",
    .options = options,
    .run = run,
};
