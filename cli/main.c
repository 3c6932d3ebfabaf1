/* gpuprof: finds the command, runs it, and checks stdout afterwards. It knows no command by
 * name. */
#include "cli/common/command.h"
#include "cli/common/room.h"
#include "cli/run/run.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void list_commands(FILE *f)
{
    fprintf(f, "usage: gpuprof COMMAND [options] ... | --version\n"
               "Finds out why a training loop is slow, and what to change first.\n"
               "  gpuprof run python train.py      record, then print the verdict\n"
               "commands: (`gpuprof COMMAND --help` explains one)\n");
    for (size_t i = 0; i < command_count; i++)
        fprintf(f, "  %-12s %s\n", commands[i]->name, commands[i]->help);
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* The user gave a file in place of a command: suggests the command that was most likely meant. */
static int names_file(const char *name)
{
    static const char *const read[] = {".gpuprof", ".json", ".json.gz", ".sqlite"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (n > strlen(read[i]) && strcmp(name + n - strlen(read[i]), read[i]) == 0)
            return usage_error("%s is a recording; to see its answer: gpuprof analyze %s", name,
                               name);
    bool python = n > 3 && strcmp(name + n - 3, ".py") == 0;
    return usage_error("%s is no command; to record a program: gpuprof run %s%s", name,
                       python ? "python " : "", name);
}

static int unknown_command(const char *name)
{
    const char *best = NULL;
    int distance = 4;
    if (*name == '-')
        return usage_error("unknown option %s; write options after the command", name);
    if (access(name, F_OK) == 0)
        return names_file(name);
    for (size_t i = 0; i < command_count; i++) {
        int d = word_distance(name, commands[i]->name);
        if (d < distance) {
            distance = d;
            best = commands[i]->name;
        }
    }
    if (best)
        return usage_error("unknown command '%s'; did you mean `gpuprof %s`?", name, best);
    return usage_error("unknown command '%s'; `gpuprof --help` lists them", name);
}

/* Flushes stdout. A result that a full disk cut off is not a success. */
static int finish_stdout(int status, bool keeps_status)
{
    errno = 0;
    int bad = ferror(stdout);
    if (fflush(stdout) || bad) {
        usage_error("cannot write the output: %s", errno ? strerror(errno) : "write error");
        return keeps_status ? status : 2;
    }
    return status;
}

static int dispatch(const struct command *c, int argc, char **argv)
{
    int left = options_parse(c, argc, argv, !c->takes_program);
    if (left == OPTIONS_HELP)
        return finish_stdout(0, false);
    if (left == OPTIONS_ERROR)
        return 2;
    return finish_stdout(c->run(left, argv), c->keeps_status);
}

static int help(int argc, char **argv)
{
    if (argc < 1) {
        list_commands(stdout);
        return finish_stdout(0, false);
    }
    const struct command *c = find(argv[0]);
    if (!c)
        return unknown_command(argv[0]);
    options_help(c, true);
    return finish_stdout(0, false);
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        list_commands(stderr);
        return 2;
    }
    char agent[PATH_MAX];
    const char *name = argv[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
        return help(argc - 2, argv + 2);
    if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
        printf("gpuprof %s (libcupti 11.8 to 13.x)\n", GPUPROF_VERSION);
        if (run_file_agent(agent, sizeof agent, NULL) < 0)
            printf(
                "without the recorder: `gpuprof run` cannot record; `gpuprof doctor` says why\n");
        return finish_stdout(0, false);
    }
    const struct command *c = find(name);
    return c ? dispatch(c, argc - 2, argv + 2) : unknown_command(name);
}

int main(int argc, char **argv)
{
    return run_on_large_stack(run, argc, argv);
}
