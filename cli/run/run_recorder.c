/* The recorder: a process of its own, to which no signal is sent. It reads what the program records
 * into the profile. When the program has ended, it finishes the profile, even if the front process
 * was killed (alone, or with its group). */
#include "cli/common/command.h"
#include "cli/common/files.h"
#include "cli/results/results.h"
#include "cli/run/run.h"
#include "cli/run/signals.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TOGETHER_MS = 50,
    GAUGES_BYTES = 128 << 10
}; /* room for 128 processes with 16 devices each */

/* Messages on the line between the processes. The program's process sends its pid before it becomes
 * the program. The front process sends how the program ended (ENDED less waitpid's status) and END;
 * NO_PROGRAM if it could not be started; HURRY if it was asked to end; EXPECT_END if a batch system
 * asked the program to end; RECORD for the signal that asks for a window. The recorder sends an
 * error's text, "" when it is ready, and again at the end. */
enum { RECORD = 0, END = -1, HURRY = -2, EXPECT_END = -3, NO_PROGRAM = -4, ENDED = -5 };

/* Batch systems kill what has not ended half a minute after they asked it to (30 s are Slurm's
 * KillWait and Kubernetes' grace period). By then the profile must be written, so recording stops
 * this long after the request. Beside five processes that compute on two cores the rest takes 2 s. */
static const int64_t patience_ns = INT64_C(5000000000);

struct watch {
    int line;
    pid_t front, program;
    int status;               /* of waitpid; -1: unknown */
    bool ended, hurry, alone; /* alone: the other end of the line is closed */
    bool none;                /* the program could not be started */
    bool late;  /* the program goes on although asked to end: SIGKILL may come at any time */
    bool asked; /* for a window */
    /* At the last look, one of front process and program was stopped and the other was not. */
    bool odd;
    int apart_ms;      /* since the last such look */
    int64_t end_by_ns; /* CLOCK_MONOTONIC; 0: the program was not asked to end */
};

/* Memory in which the virtual GPU shows its gauges. Other processes reach it while the recorder
 * lives; it has no name that could stay behind. Without it there are no gauges. */
static int make_gauges(void)
{
    int fd = memfd_create("gpuprof-gauges", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, GAUGES_BYTES) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void name_gauges(int fd, pid_t recorder)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)recorder, fd);
    if (fd < 0)
        unsetenv("GPUPROF_VGPU_GAUGES");
    else
        setenv("GPUPROF_VGPU_GAUGES", path, 1);
}

/* Tells the program the recorder's pid: the program may have to let it read
 * (agent/python/instrument_reader.c). */
static void name_recorder(const struct record_options *o, pid_t recorder)
{
    char text[64];
    struct stat st;
    if (o->no_samples || stat("/proc/self/ns/pid", &st) != 0) {
        unsetenv("GPUPROF_RECORDER");
        return;
    }
    snprintf(text, sizeof text, "%d:%llu", (int)recorder, (unsigned long long)st.st_ino);
    setenv("GPUPROF_RECORDER", text, 1);
}

static void tell(int line, int word)
{
    send(line, &word, sizeof word, MSG_NOSIGNAL);
}

/* The front process and the program stop and continue together, whichever of them was stopped. They
 * are read one after the other, so only a difference seen twice counts. */
static void keep_together(struct watch *w)
{
    char front = signals_state(w->front), program = signals_state(w->program);
    bool odd = front == 'T' && program != 'T';
    if (odd && w->odd && signals_followed())
        kill(w->front, SIGCONT); /* it stopped because the program had */
    else if (odd && w->odd && program)
        kill(w->program, SIGSTOP);
    w->odd = odd;
}

/* Takes a message, waiting up to timeout_ms. */
static void listen_to(struct watch *w, int timeout_ms)
{
    int word;
    struct pollfd p = {.fd = w->alone ? -1 : w->line, .events = POLLIN};
    if (poll(&p, 1, timeout_ms) <= 0)
        return;
    if (recv(w->line, &word, sizeof word, MSG_DONTWAIT) != (ssize_t)sizeof word)
        w->alone = true;
    else if (word == HURRY)
        w->hurry = true;
    else if (word == END)
        w->ended = true;
    else if (word == NO_PROGRAM)
        w->none = w->ended = true;
    else if (word == EXPECT_END)
        w->end_by_ns = clock_monotonic_ns() + patience_ns;
    else if (word == RECORD)
        w->asked = true;
    else if (word <= ENDED)
        w->status = ENDED - word;
    else
        w->program = word;
}

static void record_program(struct watch *w, struct recording *r)
{
    while (!w->ended) {
        int pause = record_pause_ms(r);
        listen_to(w, pause);
        if (w->asked)
            record_ask(r);
        w->asked = false;
        record_drain(r);
        if (w->end_by_ns && clock_monotonic_ns() > w->end_by_ns && !w->ended) {
            warn("the program continues after SIGTERM: gpuprof writes the profile now, before "
                 "SIGKILL comes, and records no more");
            w->late = true;
            record_hurry(r);
            return;
        }
        w->apart_ms += pause;
        if (!w->alone && w->apart_ms < TOGETHER_MS)
            continue;
        w->apart_ms = 0;
        if (!w->alone)
            keep_together(w);
        else if (!signals_state(w->program))
            w->ended = true;
    }
}

/* True if the recorder must end without an analysis: the profile is complete, and `analyze` can
 * follow. The user should not wait, and SIGKILL must not come while results are added, or before
 * the profile has its name. */
static bool must_skip_analysis(const struct watch *w, const struct apart *a)
{
    return w->hurry || w->late || (a->is && w->end_by_ns);
}

static int add_results(const struct apart *a, const struct results_options *wanted, struct err *e)
{
    struct results_options o = *wanted;
    o.place = apart_name(a);
    sigset_t one;
    sigemptyset(&one);
    /* Signals that a batch system sends to each process are not for this one. */
    sigaddset(&one, SIGRTMAX);
    if (!a->is) /* otherwise the profile would stay on the other disk */
        sigprocmask(SIG_UNBLOCK, &one, NULL);
    return results_make(a->at, &o, e);
}

/* Finishes the profile, removes the folders, and then analyses the profile. */
static int finish(struct watch *w, struct recording *r, struct apart *a,
                  const struct recorder_job *job, struct err *e)
{
    int rc = record_finish(r, w->status, e);
    if (job->record->armed) { /* each window has reported its own profile */
        record_close(r);
        run_folders_remove(job->folders);
        return rc;
    }
    snprintf(a->at, sizeof a->at, "%s", record_profile(r));
    record_close(r);
    run_folders_remove(job->folders);
    if (rc < 0)
        return -1;
    recorder_says(apart_name(a));
    listen_to(w, 0);
    if (!must_skip_analysis(w, a))
        rc = add_results(a, job->results, e);
    struct err why = ERR_INIT;
    return apart_end(a, rc < 0 ? &why : e) < 0 ? -1 : rc;
}

/* A session of its own, so that a terminal's signals do not reach this process. The kernel schedules
 * each session as a group (autogroup): this one gets the program's priority, or the recorder would
 * starve beside a preferred program, and disturb others beside one that should not (sched(7)). */
static void begin_session(void)
{
    static const char path[] = "/proc/self/autogroup";
    int nice = 0;
    FILE *f = fopen(path, "r");
    bool known = f && fscanf(f, "/autogroup-%*d nice %d", &nice) == 1;
    if (f)
        fclose(f);
    setsid();
    if (known && nice && (f = fopen(path, "w"))) {
        fprintf(f, "%d", nice);
        fclose(f);
    }
}

/* If every core is busy, this process waits for its turn (SCHED_BATCH): waking up so often, it
 * would otherwise take the core away from the program each time. It still gets its share, so
 * nothing is lost. */
static void use_batch_scheduling(void)
{
    struct sched_param none = {0};
    if (sched_getscheduler(0) == SCHED_OTHER)
        sched_setscheduler(0, SCHED_BATCH, &none);
}

static _Noreturn void record(struct watch w, const struct recorder_job *job)
{
    struct err e = ERR_INIT;
    struct apart a = {.is = false};
    const struct record_options *o = job->record;
    begin_session();
    use_batch_scheduling();
    signal(SIGRTMAX, SIG_DFL);
    files_close_inherited();
    struct recording *r =
        o->armed || apart_begin(&a, job->folders, o->output, o->output_as, &e) == 0
            ? record_open(o, job->folders, &a, &e)
            : NULL;
    send(w.line, e.text, r ? 1 : strlen(e.text) + 1, MSG_NOSIGNAL);
    while (r && !w.program && !w.alone && !w.ended)
        listen_to(&w, -1);
    if (r && w.program)
        record_program(&w, r);
    if (!w.program || w.none) {
        record_close(r);
        apart_release(&a);
        run_folders_remove(job->folders);
        _exit(0);
    }
    int rc = finish(&w, r, &a, job, &e);
    apart_release(&a);
    if (rc != 0 && w.alone)
        fprintf(stderr, "gpuprof: the program ran to its end, but %s\n", e.text);
    else if (rc != 0)
        send(w.line, e.text, strlen(e.text) + 1, MSG_NOSIGNAL);
    fflush(NULL);
    _exit(rc != 0);
}

int recorder_start(struct recorder *r, const struct recorder_job *job, struct err *e)
{
    int pair[2], gauges = job->record->virtual_nvml ? make_gauges() : -1;
    pid_t front = getpid();
    char text[sizeof e->text];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0 || (r->pid = fork()) < 0)
        return err_set(e, "cannot start a process: %s", strerror(errno));
    if (job->record->virtual_nvml)
        name_gauges(gauges, r->pid ? r->pid : getpid());
    name_recorder(job->record, r->pid ? r->pid : getpid());
    if (r->pid == 0) {
        close(pair[0]);
        record((struct watch){.line = pair[1], .front = front, .status = -1}, job);
    }
    close(pair[1]);
    if (gauges >= 0)
        close(gauges);
    r->line = pair[0];
    signals_helper(r->pid);
    ssize_t n = recv(r->line, text, sizeof text, 0);
    if (n == 1)
        return 0;
    text[n > 0 ? n - 1 : 0] = 0;
    err_set(e, "%s", n > 0 ? text : "a signal killed the recording process");
    recorder_discard(r);
    return -1;
}

void recorder_follow(const struct recorder *r, pid_t program)
{
    tell(r->line, (int)program);
}

void recorder_ask(const struct recorder *r)
{
    tell(r->line, RECORD);
}

void recorder_expect_end(const struct recorder *r)
{
    tell(r->line, EXPECT_END);
}

int recorder_finish(const struct recorder *r, int ended, struct err *e)
{
    int status;
    char text[sizeof e->text] = "";
    bool hurried = false;
    tell(r->line, ENDED - ended);
    tell(r->line, END);
    while (waitpid(r->pid, &status, WNOHANG) == 0) {
        signals_wait(-1);
        if (signals_wanted() && !hurried) {
            tell(r->line, HURRY);
            kill(r->pid, SIGRTMAX);
            hurried = true;
        }
    }
    ssize_t n = recv(r->line, text, sizeof text - 1, MSG_DONTWAIT);
    close(r->line);
    if (n > 0)
        return err_set(e, "%s", text);
    if (!WIFSIGNALED(status) || hurried)
        return 0;
    return err_set(e, "signal %d killed the recording process", WTERMSIG(status));
}

void recorder_discard(const struct recorder *r)
{
    tell(r->line, NO_PROGRAM);
    waitpid(r->pid, NULL, 0);
    close(r->line);
}
