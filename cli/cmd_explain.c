/* explain: what a rule looks for, why it costs time, what to change. */
#include "cli/common/command.h"
#include "cli/common/rule_named.h"

#include "base/arena.h"
#include "report/terminal/terminal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void section(const struct terminal *t, const char *title, const char *text)
{
    if (!text || !*text)
        return;
    term_ink(t, INK_BOLD);
    fprintf(t->f, "\n%s\n", title);
    term_ink(t, INK_PLAIN);
    fputs("  ", t->f);
    term_wrap(t, 2, 2, text);
}

/* Writes the remedy in each dialect that has words for it, and how to try it. */
static void remedies(const struct terminal *t, enum action action, struct arena *arena)
{
    for (size_t i = 0; i < dialect_count; i++) {
        const struct dialect *d = dialect_listed(i);
        section(t, arena_printf(arena, "In %s", d->name), dialect_general(d, action, arena));
    }
    const char *setting = remedy_setting_name(action, arena);
    if (setting)
        printf("\nTo measure it, if the program applies the setting\n  gpuprof try --apply "
               "%s=VALUE -- CMD\n",
               setting);
}

static int run(int argc, char **argv)
{
    if (argc != 1)
        return usage_error("explain: name one rule; `gpuprof rules` lists them");
    const struct rule *r = rule_named(argv[0]);
    if (!r)
        return 2;
    struct terminal t = terminal_open(stdout, terminal_width(), color_wanted(STDOUT_FILENO));
    term_ink(&t, INK_BOLD);
    printf("%s: %s\n", r->id, r->title);
    term_ink(&t, INK_PLAIN);
    section(&t, "What it looks for", r->looks_for);
    section(&t, "Why it costs time, and when the advice does not apply", r->doc);
    struct arena arena = ARENA_INIT;
    remedies(&t, r->remedy.action, &arena);
    arena_release(&arena);
    return 0;
}

const struct command cmd_explain = {
    .name = "explain",
    .usage = "RULE",
    .help = "show what a rule looks for, its evidence and its remedies",
    .details = "  gpuprof explain pin-memory",
    .run = run,
};
