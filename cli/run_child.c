/* Starts the program and waits for it. It must not notice: it gets our stdin, stdout, stderr,
 * working folder and signal dispositions; of the environment only what the agent and the virtual
 * GPU need is added. */
#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t target; /* pid that signals are passed on to */

static void pass_on(int sig)
{
    int saved = errno;
    if (target > 0)
        kill((pid_t)target, sig);
    errno = saved;
}

/* A terminal sends ^C and ^\ to the whole group, the program included: here they are ignored, so
 * that we outlive it. Signals sent to us alone are passed on. */
static const struct {
    int sig;
    bool terminal;
} handled[] = {{SIGINT, true},   {SIGQUIT, true},  {SIGTERM, false}, {SIGHUP, false},
               {SIGUSR1, false}, {SIGUSR2, false}, {SIGCONT, false}};
enum { HANDLED = sizeof handled / sizeof *handled };

static void take_signals(struct sigaction *old)
{
    for (int i = 0; i < HANDLED; i++) {
        struct sigaction a = {.sa_handler = handled[i].terminal ? SIG_IGN : pass_on,
                              .sa_flags = SA_RESTART};
        sigaction(handled[i].sig, NULL, &old[i]);
        if (old[i].sa_handler == SIG_IGN)
            a.sa_handler = SIG_IGN; /* nohup: it stays ignored */
        sigaction(handled[i].sig, &a, NULL);
    }
}

static void put_first(const char *name, const char *value)
{
    const char *old = getenv(name);
    char *joined = NULL;
    if (old && *old && asprintf(&joined, "%s:%s", value, old) > 0)
        setenv(name, joined, 1);
    else
        setenv(name, value, 1);
    free(joined);
}

static void set_environment(const struct run_device *d, const char *agent, const char *folder)
{
    if (d->is_virtual) {
        put_first("LD_LIBRARY_PATH", d->library);
        setenv("GPUPROF_VGPU", d->model, 1);
    }
    if (!agent)
        return;
    const char *injection = getenv("CUDA_INJECTION64_PATH");
    if (injection && *injection) { /* another tool's: the agent calls it after itself */
        setenv("GPUPROF_CHAIN_INJECTION", injection, 1);
        unsetenv("CUDA_INJECTION64_PATH");
    }
    put_first("LD_PRELOAD", agent);
    setenv("GPUPROF_DIR", folder, 1);
}

static void run_program(char **argv, const struct sigaction *old, const sigset_t *mask, int report)
{
    for (int i = 0; i < HANDLED; i++)
        sigaction(handled[i].sig, &old[i], NULL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    int why = errno;
    ssize_t n = write(report, &why, sizeof why);
    _exit(n == sizeof why ? RUN_NOT_FOUND : RUN_FAILED);
}

int child_start(struct child *c, char **argv, const struct run_device *d, const char *agent,
                const char *folder, struct err *e)
{
    struct sigaction old[HANDLED];
    sigset_t all, mask;
    int report[2], why;
    *c = (struct child){.pidfd = -1};
    if (pipe2(report, O_CLOEXEC) < 0) {
        err_set(e, "cannot start a program: %s", strerror(errno));
        return RUN_FAILED;
    }
    set_environment(d, agent, folder);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask); /* none arrives before we know whom to pass it on to */
    take_signals(old);
    c->pid = fork();
    if (c->pid == 0)
        run_program(argv, old, &mask, report[1]);
    target = c->pid;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(report[1]);
    ssize_t n = c->pid > 0 ? read(report[0], &why, sizeof why) : 0;
    close(report[0]);
    if (c->pid < 0) {
        err_set(e, "cannot start a program: %s", strerror(errno));
        return RUN_FAILED;
    }
    if (n == sizeof why) {
        waitpid(c->pid, &c->status, 0);
        c->ended = true;
        err_set(e, "%s: %s", argv[0], why == ENOENT ? "no such program" : strerror(why));
        return why == ENOENT || why == ENOTDIR ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
    }
    c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    if (c->pidfd >= 0)
        fcntl(c->pidfd, F_SETFD, FD_CLOEXEC);
    return 0;
}

bool child_wait(struct child *c, int timeout_ms)
{
    if (c->ended)
        return true;
    if (c->pidfd >= 0) {
        struct pollfd p = {.fd = c->pidfd, .events = POLLIN};
        poll(&p, 1, timeout_ms);
    } else {
        usleep((useconds_t)(timeout_ms < 10 ? timeout_ms : 10) * 1000);
    }
    int rc = waitpid(c->pid, &c->status, WNOHANG);
    c->ended = rc == c->pid || (rc < 0 && errno == ECHILD);
    return c->ended;
}

int child_finish(const struct child *c)
{
    target = 0;
    if (c->pidfd >= 0)
        close(c->pidfd);
    if (!WIFSIGNALED(c->status))
        return WIFEXITED(c->status) ? WEXITSTATUS(c->status) : RUN_FAILED;
    int sig = WTERMSIG(c->status);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the program has left its own core already */
    signal(sig, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sig);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(sig);
    return 128 + sig; /* not reached but for signals whose default is to go on */
}
