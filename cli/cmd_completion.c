/* completion: what shells need to complete our commands and options, made from the same tables. */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

static void list_commands(const char *separator)
{
    for (size_t i = 0; i < command_count; i++)
        printf("%s%s", i ? separator : "", commands[i]->name);
}

static void list_options(const struct command *c)
{
    for (const struct option_spec *o = c->options; o && o->name; o++)
        printf("--%s ", o->name);
    printf("--help --quiet --color");
}

static void write_bash(void)
{
    printf("_gpuprof() {\n    local cur=${COMP_WORDS[COMP_CWORD]}\n"
           "    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W '");
    list_commands(" ");
    printf("' -- \"$cur\"))\n        return\n    fi\n    case $cur in\n    -*)\n"
           "        case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < command_count; i++) {
        printf("        %s) COMPREPLY=($(compgen -W '", commands[i]->name);
        list_options(commands[i]);
        printf("' -- \"$cur\")) ;;\n");
    }
    printf("        esac ;;\n    *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n    esac\n}\n"
           "complete -o filenames -F _gpuprof gpuprof\n");
}

/* Text for a single-quoted shell word. */
static void put_quoted(const char *s)
{
    for (; *s; s++)
        if (*s == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*s);
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
    printf("        )\n        _describe command commands\n        return\n    fi\n"
           "    case $words[2] in\n");
    for (size_t i = 0; i < command_count; i++) {
        printf("    %s) _arguments '*:file:_files'", commands[i]->name);
        for (const struct option_spec *o = commands[i]->options; o && o->name; o++)
            printf(" '--%s%s'", o->name, o->kind == OPTION_FLAG ? "" : "=:value:_files");
        printf(" ;;\n");
    }
    printf("    esac\n}\n_gpuprof \"$@\"\n");
}

static void write_fish(void)
{
    for (size_t i = 0; i < command_count; i++) {
        const struct command *c = commands[i];
        printf("complete -c gpuprof -n __fish_use_subcommand -a %s -d '", c->name);
        put_quoted(c->help);
        printf("'\n");
        for (const struct option_spec *o = c->options; o && o->name; o++) {
            printf("complete -c gpuprof -n '__fish_seen_subcommand_from %s' -l %s%s -d '", c->name,
                   o->name, o->kind == OPTION_FLAG ? "" : " -r");
            put_quoted(o->help);
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
    .help = "completions for a shell, on stdout",
    .details = "  gpuprof completion bash > ~/.local/share/bash-completion/completions/gpuprof",
    .run = run,
};
