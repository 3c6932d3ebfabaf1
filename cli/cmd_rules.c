/* rules: the list, and docs/rules.md made from it. */
#include "cli/command.h"

#include "analyzer/advice/advice.h"
#include "analyzer/advice/tips.h"
#include "report/json/json_write.h"
#include "report/page/xml.h"
#include "report/terminal/terminal.h"

#include <stdio.h>

static bool markdown, json;

static const struct option_spec options[] = {
    {"markdown", 0, OPTION_FLAG, &markdown, NULL, "the whole documentation (docs/rules.md)"},
    {"json", 0, OPTION_FLAG, &json, NULL, "for programs"},
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

/* What training engineers are told elsewhere, and what of it a profile shows. */
static void write_tips(void)
{
    printf("# Tips, and what sees them\n\nEvery common piece of advice for training loops: the "
           "rule that tells from a profile whether it applies, or why none can.\n\n"
           "| tip | seen by | |\n|---|---|---|\n");
    for (size_t i = 0; i < tip_count; i++) {
        printf("| ");
        markdown_text(stdout, tips[i].text);
        printf(" | %s | ", tips[i].rules ? tips[i].rules : "not visible");
        markdown_text(stdout, tips[i].note ? tips[i].note : "");
        printf(" |\n");
    }
}

static void write_list(void)
{
    for (size_t i = 0; i < rule_count; i++)
        printf("%-22s %s\n", rules[i]->id, rules[i]->title);
    printf("\nNot visible in a profile:\n");
    struct terminal t = terminal_open(stdout, terminal_width(), false);
    for (size_t i = 0; i < tip_count; i++) {
        if (tips[i].rules)
            continue;
        printf("  %s:\n    ", tips[i].text);
        term_wrap(&t, 4, 4, tips[i].note);
    }
}

static void write_markdown(void)
{
    printf("# Rules\n\nMade by `gpuprof rules --markdown` from `analyzer/advice/rules/`; change it "
           "there.\n\n");
    for (size_t i = 0; i < rule_count; i++) {
        const struct rule *r = rules[i];
        printf("## %s\n\n", r->id);
        markdown_text(stdout, r->title);
        printf(".\n\n");
        paragraph("Looks for.", r->looks_for);
        paragraph("Why.", r->doc);
        paragraph("PyTorch.", r->remedy.pytorch);
        paragraph("TensorFlow.", r->remedy.tensorflow);
        paragraph("CUDA C.", r->remedy.cuda);
        if (r->knob)
            printf("Setting: `%s`.\n\n", r->knob);
    }
    write_tips();
}

static void write_json(void)
{
    struct json j;
    json_start(&j, stdout);
    j.indent = 2;
    json_begin(&j, NULL, '[');
    for (size_t i = 0; i < rule_count; i++) {
        json_begin(&j, NULL, '{');
        json_str(&j, "rule", rules[i]->id);
        json_str(&j, "title", rules[i]->title);
        json_str(&j, "looks_for", rules[i]->looks_for);
        json_str(&j, "knob", rules[i]->knob);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_end_document(&j);
}

static int run(int argc, char **argv)
{
    if (argc > 0)
        return usage_error("rules: takes no operand; `gpuprof explain %s` tells about one",
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
    .help = "all rules",
    .options = options,
    .run = run,
};
