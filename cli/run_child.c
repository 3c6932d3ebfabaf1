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
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GAUGES_BYTES = 128 << 10 }; /* room for 128 processes with 16 devices each */

static volatile sig_atomic_t target; /* pid that signals are passed on to, 0 = none */
static volatile sig_atomic_t wanted; /* a signal that came when there was none to pass it on to */
static struct sigaction found[NSIG]; /* dispositions as we were started with */

/* The terminal sends its signals to the whole group, the program included, and so does a program
 * that signals its own group: those are not ours to repeat. */
static void pass_on(int sig, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    if (target > 0 && info->si_code != SI_KERNEL && info->si_pid != target)
        kill((pid_t)target, sig);
    if (target <= 0 && sig != SIGCONT && sig != SIGUSR1 && sig != SIGUSR2)
        wanted = sig;
    errno = saved;
}

/* SIGPIPE: nobody reads our stderr; no reason to lose the program's status. SIGXFSZ: a limit on the
 * size of files; the profile fails, not we. SIGCHLD: ignored, it would take the status with it. */
static const struct {
    int sig;
    enum { PASS_ON, IGNORE, DEFAULT } reaction;
} handled[] = {
    {SIGINT, PASS_ON},  {SIGQUIT, PASS_ON}, {SIGTERM, PASS_ON}, {SIGHUP, PASS_ON},
    {SIGUSR1, PASS_ON}, {SIGUSR2, PASS_ON}, {SIGCONT, PASS_ON}, {SIGPIPE, IGNORE},
    {SIGXFSZ, IGNORE},  {SIGCHLD, DEFAULT},
};
enum { HANDLED = sizeof handled / sizeof *handled };

void child_prepare(void)
{
    for (int i = 0; i < HANDLED; i++) {
        int sig = handled[i].sig;
        struct sigaction a = {.sa_flags = SA_RESTART | SA_SIGINFO, .sa_sigaction = pass_on};
        if (handled[i].reaction != PASS_ON)
            a = (struct sigaction){.sa_handler = handled[i].reaction == IGNORE ? SIG_IGN : SIG_DFL};
        sigaction(sig, NULL, &found[sig]);
        if (handled[i].reaction == PASS_ON && found[sig].sa_handler == SIG_IGN)
            continue; /* nohup: it stays ignored, here and there */
        sigaction(sig, &a, NULL);
    }
}

static void give_signals_back(void)
{
    for (int i = 0; i < HANDLED; i++)
        sigaction(handled[i].sig, &found[handled[i].sig], NULL);
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

/* AddressSanitizer refuses to start behind a preloaded library; ours replaces nothing of its. */
static void put_last(const char *name, const char *value)
{
    const char *old = getenv(name);
    char *joined = NULL;
    if (old && *old && asprintf(&joined, "%s:%s", old, value) > 0)
        setenv(name, joined, 1);
    else
        setenv(name, value, 1);
    free(joined);
}

/* Memory through which the virtual GPU shows its gauges: reachable while we live, by no name that
 * could stay behind. Without it there are no gauges. */
static void share_gauges(void)
{
    char path[64];
    int fd = memfd_create("gpuprof-gauges", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, GAUGES_BYTES) != 0) {
        unsetenv("GPUPROF_VGPU_GAUGES");
        return;
    }
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), fd);
    setenv("GPUPROF_VGPU_GAUGES", path, 1);
}

static void set_environment(const char *program, const struct run_device *d, const char *agent,
                            const char *folder)
{
    if (d->is_virtual) {
        put_first("LD_LIBRARY_PATH", d->library);
        setenv("GPUPROF_VGPU", d->model, 1);
    }
    if (!agent)
        return;
    if (d->is_virtual)
        share_gauges();
    if (program_takes_agent(program_kind(program)))
        put_first("LD_PRELOAD", agent);
    put_last("ASAN_OPTIONS", "verify_asan_link_order=0");
    setenv("GPUPROF_DIR", folder, 1);
    char hook[PATH_MAX];
    if (place_python(hook, sizeof hook) == 0) /* the agent puts it on the path of Pythons alone */
        setenv("GPUPROF_PYTHON", hook, 1);
    else
        unsetenv("GPUPROF_PYTHON");
}

static void run_program(char **argv, const sigset_t *mask, int report)
{
    give_signals_back();
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);
    int why = errno;
    ssize_t n = write(report, &why, sizeof why);
    _exit(n == sizeof why ? RUN_NOT_FOUND : RUN_FAILED);
}

int child_start(struct child *c, char **argv, const struct run_device *d, const char *agent,
                const char *folder, struct err *e)
{
    sigset_t all, mask;
    int report[2], why;
    *c = (struct child){.pidfd = -1};
    if (pipe2(report, O_CLOEXEC) < 0) {
        err_set(e, "cannot start a program: %s", strerror(errno));
        return RUN_FAILED;
    }
    set_environment(argv[0], d, agent, folder);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask); /* none arrives before we know whom to pass it on to */
    if (wanted) {
        sigprocmask(SIG_SETMASK, &mask, NULL);
        close(report[0]);
        close(report[1]);
        err_set(e, "interrupted before the program started");
        return 128 + wanted;
    }
    c->pid = fork();
    if (c->pid == 0)
        run_program(argv, &mask, report[1]);
    target = c->pid > 0 ? c->pid : 0;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(report[1]);
    ssize_t n = c->pid > 0 ? read(report[0], &why, sizeof why) : 0;
    close(report[0]);
    if (c->pid < 0) {
        err_set(e, "cannot start a program: %s", strerror(errno));
        return RUN_FAILED;
    }
    if (n == sizeof why) {
        target = 0;
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
    /* Looked at before it is taken, so that no signal is passed on to another's pid. */
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid)
        return false;
    target = 0;
    waitpid(c->pid, &c->status, 0);
    c->ended = true;
    return true;
}

int child_interrupted(void)
{
    return wanted;
}

void child_release(void)
{
    for (int i = 0; i < HANDLED; i++)
        if (handled[i].reaction == PASS_ON)
            sigaction(handled[i].sig, &found[handled[i].sig], NULL);
}

int child_finish(const struct child *c)
{
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
