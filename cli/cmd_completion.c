/* completion: scripts by which shells complete gpuprof's commands and options, made from the tables
 * that gpuprof itself uses. */
#include "cli/common/command.h"

#include "analyzer/advice/advice.h"
#include "report/export.h"

#include <stdio.h>
#include <string.h>

static void list_commands(void)
{
    for (size_t i = 0; i < command_count; i++)
        printf("%s%s", i ? " " : "", commands[i]->name);
}

static void list_rules(void)
{
    for (size_t i = 0; i < rule_count; i++)
        printf("%s%s", i ? " " : "", rules[i]->id);
}

static void list_formats(void)
{
    for (size_t i = 0; i < exporter_count; i++)
        printf("%s%s", i ? " " : "", exporters[i]->name);
}

/* Places that take one of a list of words, and no file. GPUPROF_VIRTUAL_MODELS is " virtual:h200
 * ...", made from the folder of profiles (cli/CMakeLists.txt). */
static const struct {
    /* Option NULL: the command's operand; command NULL: any command. */
    const char *command, *option;
    void (*list)(void);
    const char *words; /* the words, if list is NULL */
} places[] = {{"explain", NULL, list_rules, NULL},
              {"completion", NULL, NULL, "bash zsh fish"},
              {"help", NULL, list_commands, NULL},
              {NULL, "device", NULL, "auto virtual" GPUPROF_VIRTUAL_MODELS},
              {NULL, "rule", list_rules, NULL},
              {NULL, "format", list_formats, NULL},
              {NULL, "color", NULL, "auto always never"}};
enum { PLACES = sizeof places / sizeof *places };

static void list_place(size_t i)
{
    if (places[i].list)
        places[i].list();
    else
        fputs(places[i].words, stdout);
}

static void list_options(const struct command *c)
{
    for (const struct option_spec *o = c->options; o && o->name; o++)
        printf("--%s ", o->name);
    printf("--help --quiet --color");
}

/* Here blanks separate words. To bash, the `:` of `virtual:h200` and the `=` of an option separate
 * words as well, so the part before the last of them is cut off what it is offered. */
static void write_bash(void)
{
    printf("_gpuprof() {\n    local line=${COMP_LINE:0:COMP_POINT} cur prev before words w\n"
           "    cur=${line##*[[:space:]]}\n    read -ra words <<<\"${line%%\"$cur\"}\"\n"
           "    prev=${words[${#words[@]} - 1]}\n"
           "    case $cur in --*=*) prev=${cur%%%%=*} cur=${cur#*=} ;; esac\n"
           "    if [ \"${#words[@]}\" = 1 ]; then\n        COMPREPLY=($(compgen -W 'help ");
    list_commands();
    printf("' -- \"$cur\"))\n        return\n    fi\n    w=\n"
           "    case ${words[1]}/$prev in\n");
    for (size_t i = 0; i < PLACES; i++) {
        printf(places[i].option ? "    */--%s) w='" : "    %s/*) w='",
               places[i].option ? places[i].option : places[i].command);
        list_place(i);
        printf("' ;;\n");
    }
    printf("    esac\n    if [ -n \"$w\" ] && [ \"${cur#-}\" = \"$cur\" ]; then\n"
           "        COMPREPLY=($(compgen -W \"$w\" -- \"$cur\"))\n"
           "        before=${cur%%\"${cur##*:}\"}\n"
           "        COMPREPLY=(\"${COMPREPLY[@]#\"$before\"}\")\n        return\n    fi\n"
           "    case $cur in\n    -*)\n        case ${words[1]} in\n");
    for (size_t i = 0; i < command_count; i++) {
        printf("        %s) COMPREPLY=($(compgen -W '", commands[i]->name);
        list_options(commands[i]);
        printf("' -- \"$cur\")) ;;\n");
    }
    printf("        esac ;;\n    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n    esac\n}\n"
           "complete -o filenames -F _gpuprof gpuprof\n");
}

/* Writes text inside a single-quoted word of the shell. */
static void put_quoted(const char *s)
{
    for (; *s; s++)
        if (*s == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*s);
}

/* Index in places; PLACES: the place takes files. */
static size_t place_of(const char *command, const char *option)
{
    size_t i = 0;
    while (i < PLACES &&
           !(command && places[i].command && strcmp(places[i].command, command) == 0) &&
           !(option && places[i].option && strcmp(places[i].option, option) == 0))
        i++;
    return i;
}

static void put_zsh_place(size_t place, const char *files)
{
    if (place == PLACES) {
        printf("%s:_files'", files);
        return;
    }
    printf("word:(");
    list_place(place);
    printf(")'");
}

static void write_zsh(void)
{
    printf("#compdef gpuprof\n_gpuprof() {\n    if ((CURRENT == 2)); then\n        local -a "
           "commands=(\n");
    for (size_t i = 0; i < command_count; i++) {
        printf("            '%s:", commands[i]->name);
        put_quoted(commands[i]->help);
        printf("'\n");
    }
    printf("            'help:what a command does'\n        )\n        _describe command "
           "commands\n        return\n    fi\n"
           "    case $words[2] in\n");
    printf("    help) _arguments '*:");
    put_zsh_place(place_of("help", NULL), "command");
    printf(" ;;\n");
    for (size_t i = 0; i < command_count; i++) {
        size_t own = place_of(commands[i]->name, NULL);
        printf("    %s) _arguments '*:", commands[i]->name);
        put_zsh_place(own, "file");
        for (const struct option_spec *o = commands[i]->options; o && o->name; o++) {
            printf(" '--%s", o->name);
            if (o->kind != OPTION_FLAG) {
                printf("=:");
                put_zsh_place(place_of(NULL, o->name), "value");
            } else
                putchar('\'');
        }
        printf(" ;;\n");
    }
    printf("    esac\n}\n_gpuprof \"$@\"\n");
}

static void write_fish(void)
{
    printf("complete -c gpuprof -n __fish_use_subcommand -a help -d 'what a command does'\n"
           "complete -c gpuprof -n '__fish_seen_subcommand_from help' -f -a '");
    list_commands();
    printf("'\n");
    for (size_t i = 0; i < command_count; i++) {
        const struct command *c = commands[i];
        printf("complete -c gpuprof -n __fish_use_subcommand -a %s -d '", c->name);
        put_quoted(c->help);
        printf("'\n");
        if (place_of(c->name, NULL) < PLACES) {
            printf("complete -c gpuprof -n '__fish_seen_subcommand_from %s' -f -a '", c->name);
            list_place(place_of(c->name, NULL));
            printf("'\n");
        }
        for (const struct option_spec *o = c->options; o && o->name; o++) {
            printf("complete -c gpuprof -n '__fish_seen_subcommand_from %s' -l %s%s", c->name,
                   o->name, o->kind == OPTION_FLAG ? "" : " -r");
            if (place_of(NULL, o->name) < PLACES) {
                printf(" -f -a '");
                list_place(place_of(NULL, o->name));
                putchar('\'');
            }
            printf(" -d '");
            put_quoted(o->help ? o->help : o[-1].help);
            printf("'\n");
        }
    }
}

static int run(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*write)(void);
    } shells[] = {{"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
    for (size_t i = 0; argc == 1 && i < sizeof shells / sizeof *shells; i++)
        if (strcmp(argv[0], shells[i].name) == 0) {
            shells[i].write();
            return 0;
        }
    return usage_error("completion: name a shell: bash, zsh or fish");
}

const struct command cmd_completion = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .help = "print completions for a shell",
    .details = "  gpuprof completion bash > ~/.local/share/bash-completion/completions/gpuprof",
    .run = run,
};
