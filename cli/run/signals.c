/* Takes the signals that come to gpuprof, and passes on those meant for the program (signals.h). */
#include "cli/run/signals.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* held_ns: how long a signal waits for the witness to get it too; while its sender is running it
 * waits longer, but at most held_last_ns. remembered_ns: how long a signal that only the witness
 * got is kept. */
static const int64_t held_ns = INT64_C(10000000), held_last_ns = INT64_C(150000000),
                     remembered_ns = INT64_C(1000000000);

enum { TIMERS = 3 };

static int fd = -1;
static pid_t program; /* 0: not started, or ended */
static char *const *program_words;
static bool leads_group;
static bool child_news; /* a child stopped, continued or ended since the last wait */
static int64_t opened_ns;
static pid_t helper;         /* 0: none */
static _Atomic bool *shared; /* shared with the helper: gpuprof stopped because the program did */
static int wanted, asked;
static int reserved, ours; /* a signal for gpuprof itself (0: none), and how often it came */
static sigset_t found_mask;
static struct sigaction found_child; /* disposition of SIGCHLD at the start */
/* Timers set before gpuprof started (alarm()) are the program's. */
static struct itimerval timers[TIMERS];
static int parent_death;                      /* so is a signal for the death of the parent */
static struct signal_seen held[SIGNALS_SEEN]; /* came to gpuprof, in this order */
static size_t held_count;
static struct signal_seen others[SIGNALS_SEEN]; /* came to the witness, and not yet to gpuprof */
static size_t other_count;

static void take_timers(void)
{
    struct itimerval none = {0};
    for (int i = 0; i < TIMERS; i++)
        setitimer(i, &none, &timers[i]); /* ITIMER_REAL, _VIRTUAL and _PROF are 0, 1 and 2 */
}

static bool runs(const struct itimerval *t)
{
    return t->it_value.tv_sec || t->it_value.tv_usec;
}

static bool asks_to_end(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

static void take(void)
{
    size_t left = held_count, end = held_count;
    end += signals_take(fd, held + held_count, SIGNALS_SEEN - held_count);
    for (size_t i = held_count; i < end; i++)
        if (held[i].number == SIGCHLD && held[i].code > 0) /* from the kernel, about our child */
            child_news = true;
        else
            held[left++] = held[i];
    for (size_t i = held_count; i < left; i++)
        if (asks_to_end(held[i].number) && held[i].sender != program)
            asked = held[i].number;
    held_count = left;
}

void signals_keep(void)
{
    sigset_t all;
    /* Ignored, SIGCHLD would drop the child's status. */
    struct sigaction a = {.sa_handler = SIG_DFL};
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &found_mask);
    sigaction(SIGCHLD, &a, &found_child);
    take_timers();
    prctl(PR_GET_PDEATHSIG, &parent_death);
    void *page =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared = page == MAP_FAILED ? NULL : page;
    leads_group = getpgrp() == getpid();
    fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    take();
}

void signals_open(char *const *argv)
{
    size_t left = held_count, before = held_count;
    program_words = argv;
    witness_start(argv);
    take();
    /* Not those of our own: SIGPIPE if nobody reads our stderr. */
    for (size_t i = before; i < held_count; i++)
        if (held[i].sender != getpid())
            held[left++] = held[i];
    held_count = left;
    opened_ns = clock_monotonic_ns();
}

void signals_give_back(void)
{
    if (parent_death == SIGKILL) /* other signals reach gpuprof, which passes them on */
        prctl(PR_SET_PDEATHSIG, parent_death);
    for (int i = 0; i < TIMERS; i++)
        if (runs(&timers[i]))
            setitimer(i, &timers[i], NULL);
    for (size_t i = 0; i < held_count; i++) { /* they were pending before gpuprof started */
        siginfo_t info = {.si_signo = held[i].number, .si_code = held[i].code};
        info.si_pid = held[i].sender;
        info.si_value.sival_ptr = (void *)held[i].value;
        syscall(SYS_rt_sigqueueinfo, getpid(), held[i].number, &info);
    }
    sigaction(SIGCHLD, &found_child, NULL);
    sigprocmask(SIG_SETMASK, &found_mask, NULL);
}

static void deliver(const struct signal_seen *s)
{
    if (s->sender == getpid() || (helper && s->sender == helper) ||
        (s->number == SIGXCPU && s->code == SI_KERNEL))
        return; /* about gpuprof itself: a pipe without a reader, a limit */
    if (reserved && s->number == reserved) {
        ours++;
        return;
    }
    if (!program) {
        if (asks_to_end(s->number))
            wanted = s->number;
        return;
    }
    pid_t to = s->sender == program ? getppid() : program; /* the program signals its parent */
    if (to <= 1)
        return;
    siginfo_t info = {.si_signo = s->number, .si_code = SI_QUEUE, .si_errno = 0};
    info.si_pid = s->sender;
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)s->value;
    if (s->code != SI_QUEUE || syscall(SYS_rt_sigqueueinfo, to, s->number, &info) != 0)
        kill(to, s->number);
}

/* A terminal signals its foreground group. A program that makes a group of its own stays in the
 * foreground if it led its group already; behind gpuprof it does not, so gpuprof passes the signal
 * on. */
static void deliver_to_group(const struct signal_seen *s)
{
    if (program && leads_group && s->code == SI_KERNEL && getpgid(program) == program &&
        getsid(program) == getsid(0))
        kill(-program, s->number);
}

static bool queues(int number)
{
    return number >= SIGRTMIN;
}

static bool same(const struct signal_seen *a, const struct signal_seen *b)
{
    return a->number == b->number && a->code == b->code && a->sender == b->sender &&
           (!queues(a->number) || a->value == b->value);
}

/* True if the witness got it too. That entry is then removed. */
static bool witnessed(const struct signal_seen *s)
{
    for (size_t i = 0; i < other_count; i++)
        if (same(&others[i], s)) {
            memmove(others + i, others + i + 1, (--other_count - i) * sizeof *others);
            return true;
        }
    return false;
}

char signals_state(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int f = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t n = f >= 0 ? read(f, text, sizeof text - 1) : 0;
    if (pid > 0 && f < 0 && errno != ENOENT && kill(pid, 0) == 0)
        return 'S'; /* the process exists, but no file descriptor is left to read its state */
    if (f >= 0)
        close(f);
    text[n > 0 ? n : 0] = 0;
    const char *end = strrchr(text, ')');
    bool over = !end || end[1] != ' ' || end[2] == 'Z' || end[2] == 'X';
    return (char)(over ? 0 : end[2]);
}

/* True for signals of a terminal that goes away. Only the leader of its session gets them, and the
 * program may be about to end because it can read no more. */
static bool is_of_terminal(const struct signal_seen *s)
{
    return s->code == SI_KERNEL && (s->number == SIGHUP || s->number == SIGCONT) &&
           getsid(0) == getpid();
}

/* True if the signal need not wait for the witness any longer. A sender that runs, or waits for a
 * core, may be between two signals that it sends. */
static bool due(const struct signal_seen *s, int64_t now)
{
    if (!witness_there() || !program || is_of_terminal(s))
        return true;
    int64_t age = now - s->ns;
    return age >= held_last_ns || (age >= held_ns && signals_state(s->sender) != 'R');
}

/* Adds what the witness got. Signals that came to gpuprof earlier, and were sent to the group, are
 * among them: the kernel signals the newest process of a group first. */
static void ask_witness(void)
{
    struct signal_seen got[SIGNALS_SEEN];
    size_t left = 0, n = witness_ask(got);
    int64_t now = clock_monotonic_ns();
    for (size_t i = 0; i < other_count; i++)
        if (now - others[i].ns < remembered_ns)
            others[left++] = others[i];
    other_count = left;
    for (size_t i = 0; i < n; i++)
        if (got[i].sender != getpid() && got[i].ns > opened_ns && other_count < SIGNALS_SEEN)
            others[other_count++] = got[i];
    take();
}

static bool stops(int number)
{
    return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/* A stop removes a pending SIGCONT, and SIGCONT a pending stop. So the witness may never see the
 * first of two that follow each other quickly, and it has no effect any more. */
static bool is_undone(size_t i)
{
    for (size_t k = i + 1; k < held_count; k++)
        if ((stops(held[i].number) && held[k].number == SIGCONT) ||
            (held[i].number == SIGCONT && stops(held[k].number)))
            return true;
    return false;
}

/* Marks the signals that the program got without gpuprof. Also the same signal from the same
 * process, sent to gpuprof or to the group while the first is held: the program finds the first one
 * pending (`timeout` signals its child and then its group). */
static void mark_got(bool *got)
{
    for (size_t i = 0; i < held_count; i++) {
        got[i] = witness_there() ? witnessed(&held[i]) : program && held[i].code == SI_KERNEL;
        if (got[i])
            deliver_to_group(&held[i]);
        got[i] |= is_undone(i);
    }
    for (size_t i = 0; i < held_count; i++)
        for (size_t k = 0; got[i] && !queues(held[i].number) && k < held_count; k++)
            got[k] |= same(&held[i], &held[k]);
}

/* Delivers the signals that the program did not get, in their order. all: none is held back. */
static void settle(bool all)
{
    bool got[SIGNALS_SEEN] = {false};
    size_t left = 0;
    if (!held_count)
        return;
    if (witness_there())
        ask_witness();
    mark_got(got);
    int64_t now = clock_monotonic_ns();
    for (size_t i = 0; i < held_count; i++)
        if (!got[i] && (all || due(&held[i], now)))
            deliver(&held[i]);
        else if (!got[i])
            held[left++] = held[i];
    held_count = left;
}

void signals_for(pid_t pid)
{
    if (!pid) /* signals so far were for the program that ended */
        take();
    held_count = 0; /* the program inherited the signals that came before it */
    program = pid;
}

void signals_wait(int timeout_ms)
{
    enum { LOOK_MS = 5 };
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (held_count && (timeout_ms < 0 || timeout_ms > LOOK_MS))
        timeout_ms = LOOK_MS;
    poll(&p, 1, child_news ? 0 : timeout_ms);
    take();
    if (child_news)
        witness_back(program_words);
    settle(false);
    child_news = false;
}

void signals_stop_too(int sig)
{
    struct sigaction a = {.sa_handler = SIG_DFL}, before;
    sigset_t one;
    settle(true); /* no signal may wait while gpuprof is stopped */
    sigemptyset(&one);
    sigaddset(&one, sig);
    if (sig != SIGSTOP)
        sigaction(sig, &a, &before);
    if (shared)
        atomic_store(shared, true);
    kill(getpid(), sig);
    sigprocmask(SIG_UNBLOCK, &one, NULL); /* stops here until SIGCONT */
    sigprocmask(SIG_BLOCK, &one, NULL);
    if (shared)
        atomic_store(shared, false);
    if (sig != SIGSTOP)
        sigaction(sig, &before, NULL);
}

int signals_wanted(void)
{
    return wanted;
}

bool signals_followed(void)
{
    return shared && atomic_load(shared);
}

void signals_helper(pid_t pid)
{
    helper = pid;
}

void signals_reserve(int number)
{
    reserved = number;
}

int signals_ours(void)
{
    int n = ours;
    ours = 0;
    return n;
}

int signals_asked(void)
{
    return asked;
}

void signals_close(void)
{
    witness_stop();
}
