/* See try.h. */
#include "cli/try.h"

#include "cli/load.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t stopped, child;

/* The terminal signals the child itself; what was sent to us alone is passed on. */
static void stop(int sig, siginfo_t *info, void *context)
{
    (void)context;
    stopped = 1;
    if (child > 0 && info->si_code != SI_KERNEL)
        kill((pid_t)child, sig);
}

void trial_catch_signals(void)
{
    struct sigaction a = {.sa_flags = SA_SIGINFO, .sa_sigaction = stop};
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
}

bool trial_interrupted(void)
{
    return stopped;
}

static int to_log(const char *log)
{
    int in = open("/dev/null", O_RDONLY);
    int out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 ? -1 : 0;
}

static void extend_apply(const char *knobs)
{
    const char *old = getenv("GPUPROF_APPLY");
    char *joined = NULL;
    if (old && *old && asprintf(&joined, "%s;%s", old, knobs) > 0)
        setenv("GPUPROF_APPLY", joined, 1);
    else
        setenv("GPUPROF_APPLY", knobs, 1);
    free(joined);
}

static size_t count_words(char **argv)
{
    size_t n = 0;
    while (argv[n])
        n++;
    return n;
}

/* In the child: `gpuprof run` with the program. Does not return. */
static void become_run(const struct trial *t, const char *profile, const char *log, bool with)
{
    size_t n = count_words(t->argv), k = 0;
    char **v = calloc(n + 10, sizeof *v);
    if (!v || (log && to_log(log) < 0) || (!log && t->quiet_stdout && dup2(2, 1) < 0))
        _exit(125);
    if (with)
        extend_apply(t->knobs);
    if (log)
        setenv("GPUPROF_HOOK", "steps", 1);
    v[k++] = "gpuprof";
    v[k++] = "run";
    v[k++] = "-q";
    v[k++] = "-f";
    v[k++] = "--strict";
    v[k++] = "-o";
    v[k++] = (char *)profile;
    if (t->device) {
        v[k++] = "--device";
        v[k++] = (char *)t->device;
    }
    v[k++] = "--";
    char **all = realloc(v, (k + n + 1) * sizeof *v);
    if (!all)
        _exit(125);
    memcpy(all + k, t->argv, (n + 1) * sizeof *all);
    execv("/proc/self/exe", all);
    _exit(125);
}

/* The status as a shell tells it; -1 with *e set when nothing could be started. */
static int record(const struct trial *t, const char *profile, const char *log, bool with,
                  struct err *e)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return err_set(e, "cannot start a program: %s", strerror(errno));
    if (pid == 0)
        become_run(t, profile, log, with);
    child = pid;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return err_set(e, "cannot wait for the program: %s", strerror(errno));
    child = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int trial_first(struct trial *t, struct err *e)
{
    return record(t, t->profile, NULL, false, e);
}

/* What the log ends with: a few lines, on one. */
static void last_words(const char *log, char *text, size_t size)
{
    text[0] = '\0';
    FILE *f = fopen(log, "r");
    if (!f)
        return;
    if (fseek(f, -(long)(size - 1), SEEK_END) != 0)
        rewind(f);
    size_t n = fread(text, 1, size - 1, f);
    fclose(f);
    while (n && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    size_t lines = 0, from = n;
    while (from && (text[from - 1] != '\n' || ++lines < 3))
        from--;
    memmove(text, text + from, n - from + 1);
    for (char *p = text; (p = strchr(p, '\n'));)
        *p = '|';
}

/* A C program says it by gpuprof_applied() of gpuprof.h, or an NVTX range of that name. */
static bool marked(const struct timeline *t, const char *knob)
{
    char start[144];
    int n = snprintf(start, sizeof start, "gpuprof.apply %s=", knob);
    for (size_t i = 0; i < t->range_count; i++)
        if (strncmp(tl_text(t, t->ranges[i].name), start, (size_t)n) == 0)
            return true;
    return false;
}

/* The last word of any process on the knob: true when one obeyed. */
static bool obeyed(const struct timeline *t, const char *key, const char **refusal)
{
    bool any = marked(t, key + strlen("apply."));
    *refusal = NULL;
    for (size_t i = 0; i < t->meta_count; i++) {
        const char *value = tl_text(t, t->metas[i].value);
        if (strcmp(tl_text(t, t->metas[i].key), key) != 0)
            continue;
        any = any || strncmp(value, "applied", 7) == 0;
        if (strncmp(value, "refused", 7) == 0)
            *refusal = value;
    }
    return any;
}

static void ask_program(struct trial *t, const struct timeline *tl)
{
    char copy[sizeof t->knobs], key[128], *rest = copy;
    const char *refusal;
    bool all = true, none = false;
    snprintf(copy, sizeof copy, "%s", t->knobs);
    for (char *k = strtok_r(copy, ";", &rest); k; k = strtok_r(NULL, ";", &rest)) {
        snprintf(key, sizeof key, "apply.%.*s", (int)strcspn(k, "="), k);
        if (obeyed(tl, key, &refusal))
            continue;
        all = false;
        if (refusal && !none)
            snprintf(t->refusal, sizeof t->refusal, "%s: %s", key + strlen("apply."), refusal);
        if (!refusal)
            snprintf(t->silent, sizeof t->silent, "%.*s", (int)strcspn(k, "="), k);
        none = none || refusal;
    }
    t->acknowledged += all;
    t->refused += none;
}

static int take_steps(struct ab_arm *arm, const struct analysis *a, struct err *e)
{
    struct ab_run r = {calloc(a->steps.count + 1, sizeof *r.ns), 0, 0};
    if (!r.ns)
        return err_set(e, "out of memory");
    for (size_t i = 0; i < a->steps.count; i++)
        if (a->steps.at[i].used && a->steps.at[i].length_ns > 0)
            r.ns[r.count++] = a->steps.at[i].length_ns;
    if (r.count < 4) {
        free(r.ns);
        return err_set(e, "a rerun has fewer than 4 steady steps: run the program for longer");
    }
    arm->run[arm->count++] = r;
    return 0;
}

int trial_again(struct trial *t, bool with, struct err *e)
{
    struct ab_arm *arm = with ? &t->b : &t->a;
    char profile[PATH_MAX], log[PATH_MAX], words[400];
    struct loaded l;
    const char *path[] = {profile};
    snprintf(profile, sizeof profile, "%s/again.gpuprof", t->folder);
    snprintf(log, sizeof log, "%s/%s%zu.log", t->folder, with ? "with" : "without", arm->count + 1);
    int status = record(t, profile, log, with, e);
    if (status < 0 || stopped)
        return -1;
    if (status != 0) {
        last_words(log, words, sizeof words);
        return err_set(e, "a rerun %s %s left with status %d: %s (its output: %s)",
                       with ? "with" : "without", t->knobs, status, words, log);
    }
    if (load_analysis(path, 1, &l, e) < 0)
        return -1;
    if (with)
        ask_program(t, l.timeline);
    int rc = take_steps(arm, l.analysis, e);
    load_release(&l);
    unlink(profile);
    unlink(log);
    return rc;
}

void trial_remove(struct trial *t)
{
    static const char *const left[] = {"first.gpuprof", "again.gpuprof"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        snprintf(path, sizeof path, "%s/%s", t->folder, left[i]);
        unlink(path);
    }
    for (size_t i = 1; stopped && i <= AB_RUNS; i++) {
        snprintf(path, sizeof path, "%s/with%zu.log", t->folder, i);
        unlink(path);
        snprintf(path, sizeof path, "%s/without%zu.log", t->folder, i);
        unlink(path);
    }
    rmdir(t->folder); /* stays when a failed run's log lies in it */
}
