/* mcp: serves coding agents by the Model Context Protocol, on stdin and stdout. The protocol's own
 * SDK is Python's, so that a Python program (server.py) takes this one's place. */
#include "cli/common/command.h"
#include "cli/run/run.h"

#include <stdlib.h>
#include <unistd.h>

static bool programs;

static const struct option_spec options[] = {
    {"run", 0, OPTION_FLAG, &programs, NULL, "also run programs: the tools record and try"},
    {0},
};

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    char script[PATH_MAX];
    if (argc > 0)
        return usage_error("mcp: takes no operand, not '%s': agents name files in requests",
                           argv[0]);
    char *own = realpath("/proc/self/exe", NULL);
    if (!own)
        return usage_error("mcp: needs /proc");
    if (run_file_script("mcp/server.py", script, sizeof script, &e)) {
        free(own);
        return fail(&e);
    }
    execlp("python3", "python3", "-B", script, own, programs ? "--run" : (char *)NULL,
           (char *)NULL);
    free(own);
    return usage_error("mcp: needs python3, which is not in PATH");
}

const struct command cmd_mcp = {
    .name = "mcp",
    .usage = "[--run]",
    .help = "serve coding agents (Model Context Protocol) on stdin and stdout",
    .details = "An agent's client starts it. Tools are commands of gpuprof: analyze, explain,\n"
               "evidence, fix, diff and gate only read; with --run record and try run programs.\n"
               "It needs a python3 that has the protocol's SDK: pip install 'mcp>=2'.\n"
               "docs/agents.md says how to set up a client.",
    .options = options,
    .run = run,
};
