/* Runs `gpuprof fix` beside a confined gate (mend.h). */
#include "cli/gate/mend.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1 << 20 }; /* bytes of a diff; a larger one is no comment */

/* In the child: waits for the rule, then becomes `gpuprof fix`. */
static _Noreturn void fix(int rule_from, int diff_to, const char *source, const char *profile)
{
    char rule[128];
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    ssize_t n = read(rule_from, rule, sizeof rule - 1);
    if (n <= 0 || null < 0)
        _exit(1);
    rule[n] = 0;
    dup2(diff_to, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execl("/proc/self/exe", "gpuprof", "fix", "--source", source, "--rule", rule, "--", profile,
          (char *)NULL);
    _exit(127);
}

int mender_start(struct mender *m, const char *source, const char *profile, struct err *e)
{
    int rule[2], diff[2];
    if (pipe2(rule, O_CLOEXEC) < 0 || pipe2(diff, O_CLOEXEC) < 0)
        return err_set(e, "gate: %s", strerror(errno));
    m->pid = fork();
    if (m->pid == 0) {
        close(rule[1]);
        fix(rule[0], diff[1], source, profile);
    }
    close(rule[0]);
    close(diff[1]);
    m->rule = fdopen(rule[1], "w");
    m->diff = fdopen(diff[0], "r");
    return m->pid > 0 && m->rule && m->diff ? 0 : err_set(e, "gate: %s", strerror(errno));
}

char *mender_end(struct mender *m, const char *rule)
{
    if (m->pid <= 0)
        return NULL;
    int status = -1;
    char *text = malloc(MOST);
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* the process may have ended */
    if (rule && text)
        fputs(rule, m->rule);
    fclose(m->rule);
    signal(SIGPIPE, before);
    size_t n = text ? fread(text, 1, MOST, m->diff) : 0;
    fclose(m->diff);
    while (waitpid(m->pid, &status, 0) < 0 && errno == EINTR)
        ;
    m->pid = 0;
    if (status != 0 || n == 0 || n == MOST || memchr(text, 0, n)) {
        free(text);
        return NULL;
    }
    text[n] = 0;
    return text;
}
