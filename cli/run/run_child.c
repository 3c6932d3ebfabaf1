/* Starts the program and waits for it. The program must not notice gpuprof: it gets gpuprof's
 * stdin, stdout, stderr, working folder, signal dispositions and signals. Its environment differs
 * only by what the agent and the virtual GPU need. */
#include "cli/common/files.h"
#include "cli/run/run.h"
#include "cli/run/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Appends to a list like LD_PRELOAD. AddressSanitizer must be first in it, and gpuprof's libraries
 * replace none of its functions. */
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

static void set_environment(const char *program, const struct run_device *d,
                            const struct child_record *record)
{
    bool takes = program_takes_agent(program_kind(program));
    if (d->is_virtual) {
        put_first("LD_LIBRARY_PATH", d->library);
        setenv("GPUPROF_VGPU", d->model, 1);
        if (takes) {
            put_first("LD_PRELOAD", d->preload);
            put_first("LD_PRELOAD", d->reach);
        }
    }
    if (!record)
        return;
    if (takes)
        put_first("LD_PRELOAD", record->agent);
    put_last("ASAN_OPTIONS", "verify_asan_link_order=0");
    setenv("GPUPROF_DIR", record->folder, 1);
    char hook[PATH_MAX];
    if (run_folder_python(hook, sizeof hook) ==
        0) /* the agent puts it on the path of Python processes only */
        setenv("GPUPROF_PYTHON", hook, 1);
    else
        unsetenv("GPUPROF_PYTHON");
}

static void run_program(char **argv, int report, const struct recorder *recorder)
{
    if (recorder)
        recorder_follow(recorder, getpid());
    signals_give_back();
    execvp(argv[0], argv);
    int why = errno;
    ssize_t n = write(report, &why, sizeof why);
    _exit(n == sizeof why ? RUN_NOT_FOUND : RUN_FAILED);
}

/* Takes the program's status. Until then it is a zombie, so no other process gets its pid. */
static void end(struct child *c)
{
    signals_for(0);
    waitpid(c->pid, &c->status, 0);
    signals_close();
    c->ended = true;
}

int child_start(struct child *c, char **argv, const struct run_device *d,
                const struct child_record *record, struct err *e)
{
    int report[2], why;
    *c = (struct child){0};
    if (pipe2(report, O_CLOEXEC) < 0) {
        err_set(e, "cannot start a program: %s", strerror(errno));
        return RUN_FAILED;
    }
    set_environment(argv[0], d, record);
    signals_open(argv);
    c->pid = fork();
    int failed = errno; /* later calls change errno */
    if (c->pid == 0)
        run_program(argv, report[1], record ? record->recorder : NULL);
    signals_for(c->pid > 0 ? c->pid : 0);
    files_close_inherited();
    close(report[1]);
    ssize_t n = c->pid > 0 ? read(report[0], &why, sizeof why) : 0;
    close(report[0]);
    if (c->pid < 0) {
        err_set(e, "cannot start a program: %s", strerror(failed));
        return RUN_FAILED;
    }
    if (n == sizeof why) {
        end(c);
        err_set(e, "%s: %s", argv[0], why == ENOENT ? program_lacks(argv[0]) : strerror(why));
        return why == ENOENT || why == ENOTDIR ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
    }
    return 0;
}

bool child_wait(struct child *c, int timeout_ms)
{
    if (c->ended)
        return true;
    signals_wait(timeout_ms);
    /* Does not take the status yet (WNOWAIT), so that no signal is passed on to a new process with
     * this pid. */
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
        !info.si_pid)
        return false;
    if (info.si_code == CLD_STOPPED) {
        waitid(P_PID, (id_t)c->pid, &info, WSTOPPED | WNOHANG);
        if (info.si_pid)
            signals_stop_too(info.si_status);
        return false;
    }
    end(c);
    return true;
}

int child_finish(const struct child *c)
{
    if (!WIFSIGNALED(c->status))
        return WIFEXITED(c->status) ? WEXITSTATUS(c->status) : RUN_FAILED;
    int sig = WTERMSIG(c->status);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the program itself has left a core file */
    signal(sig, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, sig);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(sig);
    return 128 + sig; /* reached only for signals that do not kill by default */
}
