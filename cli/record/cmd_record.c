/* record: asks a running `gpuprof run --armed` for a profile of what the program does now. */
#include "cli/common/ask.h"
#include "cli/common/command.h"
#include "cli/common/output.h"
#include "cli/results/results.h"
#include "cli/record/record.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool status;
static int steps;
static double seconds;

static const struct option_spec options[] = {
    {"steps", 0, OPTION_INT, &steps, "N", "record N steps; default 20"},
    {"seconds", 0, OPTION_DOUBLE, &seconds, "S", "record S seconds instead"},
    {"status", 0, OPTION_FLAG, &status, NULL, "record nothing: tell where each rank is now"},
    {0},
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
    interrupted = sig;
    signal(sig, SIG_DFL); /* a second signal ends this process */
}

static void listen_for_interrupt(void)
{
    struct sigaction a = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

/* What to record, as the recorder reads it: "steps=20". */
static void wanted(char *out, size_t n)
{
    if (status)
        snprintf(out, n, "status");
    else if (seconds > 0)
        snprintf(out, n, "seconds=%.9g", seconds);
    else
        snprintf(out, n, "steps=%d", steps ? steps : 20);
}

/* ---- one run ---- */

static int show(const char *profile)
{
    struct err e = ERR_INIT;
    char here[PATH_MAX];
    size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
    if (n > 1 && strncmp(profile, here, n) == 0 && profile[n] == '/')
        profile += n + 1;
    say("profile: %s", profile);
    if (access(profile, R_OK) != 0) /* it may have another name inside its container */
        return 0;
    return results_make(profile, &(struct results_options){.quiet = quiet_wanted()}, &e) < 0
               ? fail(&e)
               : 0;
}

/* Waits for the answers of the recorder. Returns the exit status. */
static int follow(struct ask *a, int pid)
{
    enum { LOOK_MS = 200 };
    size_t states = 0;
    for (bool stopped = false;;) {
        if (interrupted && !stopped) {
            say("gpuprof ends this recording and writes its profile (Ctrl-C again: do not wait)");
            ask_stop(a);
            stopped = true;
        }
        char line[PATH_MAX + 64], *rest;
        switch (ask_answer(a, LOOK_MS, line, sizeof line)) {
        case ASK_NOTHING:
            continue;
        case ASK_GONE:
            return usage_error("record: the run of process %d ended without an answer", pid);
        case ASK_LINE:
            break;
        }
        rest = line + strcspn(line, " ");
        rest += *rest == ' ';
        if (strncmp(line, "refused ", 8) == 0)
            return usage_error("record: process %d: %s", pid, rest);
        if (strncmp(line, "profile ", 8) == 0)
            return show(rest);
        bool state = strncmp(line, "state ", 6) == 0;
        states += state;
        if (strcmp(line, "end") == 0 && !states)
            say("no process of this run has marked a step yet, or all have ended");
        if (strcmp(line, "end") == 0)
            return 0;
        if (state)
            puts(rest);
        else
            say("%s", line);
    }
}

static int ask_process(int pid)
{
    struct err e = ERR_INIT;
    struct ask a;
    char folder[PATH_MAX], text[128] = "record ";
    size_t before = status ? 0 : strlen(text);
    if (record_find(pid, folder, sizeof folder, &e) < 0)
        return usage_error("record: %s", e.text);
    wanted(text + before, sizeof text - before);
    listen_for_interrupt();
    if (ask_send(&a, folder, text, &e) < 0)
        return usage_error("record: %s", e.text);
    int left_with = follow(&a, pid);
    ask_close(&a);
    return left_with;
}

static int run(int argc, char **argv)
{
    struct stat st;
    char *end, text[96];
    if (argc != 1)
        return usage_error("record: name a process or a folder: gpuprof record PID");
    if (status && (steps || seconds != 0))
        return usage_error("record: --status records nothing: it excludes --steps and --seconds");
    if (steps && seconds != 0)
        return usage_error("record: --steps and --seconds exclude one another");
    if (steps < 0 || steps > 1000000)
        return usage_error("record: --steps needs a number from 1 to 1000000");
    if (!(seconds >= 0 && seconds <= 86400))
        return usage_error("record: --seconds needs a number above 0, up to 86400");
    long pid = strtol(argv[0], &end, 10);
    if (*argv[0] && !*end && pid > 0 && pid <= INT_MAX)
        return ask_process((int)pid);
    if (stat(argv[0], &st) == 0 && S_ISDIR(st.st_mode)) {
        wanted(text, sizeof text);
        return status ? record_status_folder(argv[0]) : record_ask_folder(argv[0], text);
    }
    return usage_error("record: '%s' is neither the number of a process nor a folder", argv[0]);
}

const struct command cmd_record = {
    .name = "record",
    .usage = "[options] PID | DIR",
    .help = "record a part of a run that goes on (run --armed)",
    .details = "Asks `gpuprof run --armed` for a profile of what its program does now, waits for\n"
               "it and prints what it says, like `gpuprof run` at the end. PID is the process of\n"
               "gpuprof, of the program, or of one that the program started. With the folder of\n"
               "the profiles, which all nodes see, all runs that write there record; gpuprof\n"
               "does not wait then. Ctrl-C ends the recording, and its profile is written.\n\n"
               "  gpuprof run --armed -o train.gpuprof -- python train.py\n"
               "  gpuprof record 4711                    # train.w1.gpuprof: 20 steps\n"
               "  gpuprof record --seconds 5 4711        # train.w2.gpuprof\n"
               "  gpuprof record profiles/               # each rank: NAME.w1.gpuprof\n"
               "  gpuprof record --status profiles/      # where each rank of the job is",
    .options = options,
    .run = run,
};
