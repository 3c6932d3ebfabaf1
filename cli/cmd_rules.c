/* rules: the list of rules, and the page about all of them that `make install` installs. */
#include "cli/common/command.h"

#include "analyzer/advice/advice.h"
#include "analyzer/advice/settings.h"
#include "base/arena.h"
#include "report/json/json_tree.h"
#include "report/page/xml.h"
#include "report/terminal/terminal.h"

#include <stdio.h>
#include <string.h>

static bool markdown, json;

static const struct option_spec options[] = {
    {"markdown", 0, OPTION_FLAG, &markdown, NULL, "all rules as one page of documentation"},
    {"json", 0, OPTION_FLAG, &json, NULL, "machine-readable output"},
    {0},
};

static void paragraph(const char *label, const char *text)
{
    if (!text || !*text)
        return;
    printf("**%s** ", label);
    markdown_text(stdout, text);
    printf("\n\n");
}

/* Advice that training engineers read elsewhere, and that no profile can support: the note says
 * why. */
static const struct tip unseen[] = {
    {"shuffle-order", "Shuffle before batching in tf.data",
     "it changes which samples share a batch, not what the GPU does"},
    {"rate-schedule", "Schedule the learning rate (one-cycle, warm-up)",
     "a step costs the same at any learning rate: it changes how many steps the training needs"},
    {"optimizer-choice", "Choose an optimizer that converges faster (AdamW, LARS, LAMB)",
     "a profile shows what an update costs, not how many steps it saves"},
    {"normalise-input", "Normalise inputs; use batch normalisation",
     "it changes convergence, and the profile contains no values"},
    {"quantise", "Quantise or prune the model",
     "only the results show whether the smaller model is good enough"},
    {"inference-engine", "Serve with an inference compiler (TensorRT)",
     "it concerns serving, and its gain depends on an engine that did not run"},
    {"memory-limits", "Limit the process's memory, or let it grow",
     "it decides what else fits on the GPU, not how fast a step is; samples record the memory in "
     "use"},
    {"count-parameters", "Count the parameters",
     "the profile contains operations and bytes moved, not the model's definition"},
    {"sampler", "Give each rank its own shard of the data (DistributedSampler)",
     "the profile does not record which samples a rank reads; uneven shards appear as a straggler"},
    {"model-parallel", "Split a model that does not fit over several GPUs",
     "a profile of the split model does not show whether the whole model would fit"},
    {"versions", "Use current drivers, CUDA and cuDNN",
     "gpuprof records and prints the versions, but it does not know how another version performs"},
    {"system-services", "Stop services that the machine does not need",
     "gpuprof does not record other programs; what they take appears as time without a core "
     "(cpu-contention)"},
    {"buy-hardware", "Buy faster GPUs, more memory, more cores",
     "the verdict shows what limits the step; the profile contains no run on other hardware"},
};
enum { UNSEEN = sizeof unseen / sizeof *unseen };

static bool has_tip(const struct rule *r, const char *id)
{
    for (size_t i = 0; i < TIPS && r->tips[i].id; i++)
        if (strcmp(r->tips[i].id, id) == 0)
            return true;
    return false;
}

static bool told_before(size_t rule, const char *id)
{
    for (size_t i = 0; i < rule; i++)
        if (has_tip(rules[i], id))
            return true;
    return false;
}

static void write_tip(const struct tip *t, size_t first_rule)
{
    const char *between = "";
    printf("| ");
    markdown_text(stdout, t->text);
    printf(" | ");
    for (size_t i = first_rule; i < rule_count; i++)
        if (has_tip(rules[i], t->id)) {
            printf("%s%s", between, rules[i]->id);
            between = ", ";
        }
    printf("%s | ", first_rule < rule_count ? "" : "not visible");
    markdown_text(stdout, t->note ? t->note : "");
    printf(" |\n");
}

static void write_tips(void)
{
    printf("# Tips, and the rules that check them\n\nCommon advice for training loops, with the "
           "rule that checks from a profile whether the advice applies, or the reason why no rule "
           "can.\n\n| tip | checked by | |\n|---|---|---|\n");
    for (size_t i = 0; i < rule_count; i++)
        for (size_t k = 0; k < TIPS && rules[i]->tips[k].id; k++)
            if (!told_before(i, rules[i]->tips[k].id))
                write_tip(&rules[i]->tips[k], i);
    for (size_t i = 0; i < UNSEEN; i++)
        write_tip(&unseen[i], rule_count);
}

/* Writes which programs apply each setting of `try --apply`. */
static void write_settings(void)
{
    printf("\n# Settings, and the programs that apply them\n\nThese are the settings of `gpuprof "
           "try --apply NAME=VALUE`. A program applies them by reading `GPUPROF_APPLY`; in PyTorch "
           "programs gpuprof's hook does so. Advice without a setting needs an edit of the "
           "program.\n\nThe reference trainers also have switches that remove a planted fault, "
           "such as `alloc_per_step=0`, `extra_copy=0` or `launch_blocking=0`: the third column of "
           "their `--defect list`. `try --apply` passes them on, too, but no finding advises "
           "them.\n\n| setting | PyTorch hook | reference trainers |\n|---|---|---|\n");
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *s = &setting_table[i];
        printf("| `%s` | %s | %s |\n", s->name,
               !s->hook                    ? "no"
               : strcmp(s->hook, "*") == 0 ? "any value"
                                           : s->hook,
               s->trainers ? "yes" : "no");
    }
}

static void write_list(void)
{
    for (size_t i = 0; i < rule_count; i++)
        printf("%-22s %s\n", rules[i]->id, rules[i]->title);
    printf("\nNot visible in a profile:\n");
    struct terminal t = terminal_open(stdout, terminal_width(), false);
    for (size_t i = 0; i < UNSEEN; i++) {
        printf("  %s:\n    ", unseen[i].text);
        term_wrap(&t, 4, 4, unseen[i].note);
    }
}

/* Writes the remedy in each dialect that has words for it, and the setting that tries it. */
static void write_remedy(enum action action, struct arena *arena)
{
    for (size_t i = 0; i < dialect_count; i++) {
        const struct dialect *d = dialect_listed(i);
        const char *words = dialect_general(d, action, arena);
        const char *name = words ? arena_printf(arena, "%s.", d->name) : NULL;
        if (name)
            paragraph(name, words);
    }
    const char *setting = remedy_setting_name(action, arena);
    if (setting)
        printf("Setting: `%s`.\n\n", setting);
}

static void write_markdown(void)
{
    printf("# Rules\n\n`gpuprof rules --markdown` makes this page from `analyzer/advice/rules/`; "
           "change it there.\n\n");
    for (size_t i = 0; i < rule_count; i++) {
        const struct rule *r = rules[i];
        printf("## %s\n\n", r->id);
        markdown_text(stdout, r->title);
        printf(".\n\n");
        paragraph("Looks for.", r->looks_for);
        if (r->in_window)
            printf("Also applies if no step repeats, with shares of the recorded window.\n\n");
        paragraph("Why.", r->doc);
        struct arena arena = ARENA_INIT;
        write_remedy(r->remedy.action, &arena);
        arena_release(&arena);
    }
    write_tips();
    write_settings();
}

static void write_json(void)
{
    struct json_tree j;
    tree_start(&j, '[');
    for (size_t i = 0; i < rule_count; i++) {
        struct arena arena = ARENA_INIT;
        tree_begin(&j, NULL, '{');
        tree_str(&j, "rule", rules[i]->id);
        tree_str(&j, "title", rules[i]->title);
        tree_str(&j, "looks_for", rules[i]->looks_for);
        tree_str(&j, "action", action_id(rules[i]->remedy.action));
        tree_str(&j, "setting", remedy_setting_name(rules[i]->remedy.action, &arena));
        tree_end(&j);
        arena_release(&arena);
    }
    tree_print(&j, stdout);
}

static int run(int argc, char **argv)
{
    if (argc > 0)
        return usage_error("rules: takes no operand; `gpuprof explain %s` explains one rule",
                           argv[0]);
    if (markdown)
        write_markdown();
    else if (json)
        write_json();
    else
        write_list();
    return 0;
}

const struct command cmd_rules = {
    .name = "rules",
    .usage = "[--markdown|--json]",
    .help = "list all rules",
    .options = options,
    .run = run,
};
