/* Starts the program of a trial, and handles Ctrl-C (try.h). */
#include "cli/run/signals.h"
#include "cli/try/try.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void trial_catch_signals(void)
{
    signals_keep();
}

bool trial_interrupted(void)
{
    signals_wait(0);
    return signals_asked() != 0;
}

static int to_log(const char *log)
{
    int in = open("/dev/null", O_RDONLY);
    int out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 ? -1 : 0;
}

static void extend_apply(const char *settings)
{
    const char *old = getenv("GPUPROF_APPLY");
    char *joined = NULL;
    if (old && *old && asprintf(&joined, "%s;%s", old, settings) > 0)
        setenv("GPUPROF_APPLY", joined, 1);
    else
        setenv("GPUPROF_APPLY", settings, 1);
    free(joined);
}

static size_t count_words(char **argv)
{
    size_t n = 0;
    while (argv[n])
        n++;
    return n;
}

/* In the child: becomes `gpuprof run` with the program. Does not return. */
static void become_run(const struct trial *t, const char *profile, const char *log,
                       const struct tried *c, bool marks)
{
    size_t n = count_words(t->in->argv), k = 0;
    char losses[16];
    char **v = calloc(n + 12, sizeof *v);
    if (!v || (log && to_log(log) < 0) || (!log && t->in->quiet_stdout && dup2(2, 1) < 0))
        _exit(125);
    const char *copy = c && c->patch ? t->patched : t->base;
    if (*copy && (chdir(copy) < 0 || setenv("PWD", copy, 1) < 0))
        _exit(125);
    if (c && !c->patch)
        extend_apply(c->settings);
    if (profile != t->profile) { /* a rerun */
        snprintf(losses, sizeof losses, "%d", LOSSES_MOST);
        setenv("GPUPROF_HOOK", "steps", 1);
        setenv("GPUPROF_LOSSES", losses, 1);
    }
    v[k++] = "gpuprof";
    v[k++] = "run";
    v[k++] = "-q";
    v[k++] = "-f";
    v[k++] = "--strict";
    v[k++] = "-o";
    v[k++] = (char *)profile;
    if (t->in->device) {
        v[k++] = "--device";
        v[k++] = (char *)t->in->device;
    }
    if (marks) {
        v[k++] = "--range";
        v[k++] = "none";
    } else {
        v[k++] = "--full";
    }
    v[k++] = "--";
    char **all = realloc(v, (k + n + 1) * sizeof *v);
    if (!all)
        _exit(125);
    memcpy(all + k, t->in->argv, (n + 1) * sizeof *all);
    execv("/proc/self/exe", all);
    _exit(125);
}

int trial_record(const struct trial *t, const char *profile, const char *log, const struct tried *c,
                 bool marks, struct err *e)
{
    int status;
    if (trial_interrupted())
        return err_set(e, "interrupted");
    fflush(NULL);
    signals_open(t->in->argv);
    pid_t pid = fork();
    if (pid == 0) {
        signals_give_back();
        become_run(t, profile, log, c, marks);
    }
    if (pid < 0)
        err_set(e, "cannot start a program: %s", strerror(errno));
    signals_for(pid > 0 ? pid : 0);
    pid_t got = pid < 0 ? -1 : 0;
    while (got == 0) {
        signals_wait(-1);
        got = waitpid(pid, &status, WNOHANG | WUNTRACED);
        if (got == pid && WIFSTOPPED(status)) {
            signals_stop_too(WSTOPSIG(status));
            got = 0;
        }
    }
    signals_for(0);
    signals_close();
    if (got < 0)
        return -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
