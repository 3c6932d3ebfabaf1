/* The witness: a process that sees which signals gpuprof's process group gets (signals.h). */
#include "cli/run/signals.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_MS = 50, ANSWER_LAST_MS = 500, AGAIN = 100 /* times */ };
static const int64_t kept_ns = INT64_C(2000000000); /* older signals are not needed */

static pid_t witness; /* 0: none */
static int line = -1;

size_t signals_take(int fd, struct signal_seen *at, size_t room)
{
    struct signalfd_siginfo info;
    size_t n = 0;
    while (n < room && read(fd, &info, sizeof info) == (ssize_t)sizeof info)
        at[n++] = (struct signal_seen){.number = (int)info.ssi_signo,
                                       .code = info.ssi_code,
                                       .sender = (pid_t)info.ssi_pid,
                                       .value = (int64_t)info.ssi_ptr,
                                       .ns = clock_monotonic_ns()};
    return n;
}

/* Sets the witness's name and command line. A search by command line (pkill -f) must find the
 * witness where it finds the program, so its command line is the program's behind two words of its
 * own, of which pidof -x takes the second for a script's name. Its name is not the program's,
 * because guards against a second instance count processes of that name (pgrep -x, pidof). It is
 * not gpuprof's either, because a signal to gpuprof by name is meant for the program, which has not
 * got it. argv lies in the memory that the kernel shows as this process's command line. */
static void take_name(char *const *argv)
{
    static const char name[] = "witness\0-";
    char *own = program_invocation_name, *end = NULL;
    prctl(PR_SET_NAME, name);
    for (char *const *a = argv; *a; a++) {
        if (*a < own || (end && *a != end))
            return; /* not the command line that the kernel shows */
        end = *a + strlen(*a) + 1;
    }
    size_t n = (size_t)(end - argv[0]), used = sizeof name;
    char *from = argv[0];
    if ((size_t)(from - own) < used)
        return; /* too short for our words: a link to gpuprof has a shorter name */
    memmove(own + used, from, n);
    memcpy(own, name, used);
    memset(own + used + n, 0, (size_t)(end - own) - used - n);
}

/* Collects signals, and sends them when asked. Does not return. */
static _Noreturn void see(int asked)
{
    static struct signal_seen seen[SIGNALS_SEEN];
    sigset_t all;
    sigfillset(&all);
    int fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
    size_t n = 0;
    char word;
    for (;;) {
        struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = asked, .events = POLLIN}};
        poll(p, 2, -1);
        int64_t now = clock_monotonic_ns();
        size_t left = 0;
        for (size_t i = 0; i < n; i++)
            if (now - seen[i].ns < kept_ns)
                seen[left++] = seen[i];
        n = left;
        n += signals_take(fd, seen + n, SIGNALS_SEEN - n);
        if (!p[1].revents)
            continue;
        if (recv(asked, &word, 1, 0) != 1)
            _exit(0);
        send(asked, seen, n * sizeof *seen + (n == 0), 0);
        n = 0;
    }
}

/* Closes all files: they belong to the program or to gpuprof. */
static void close_files(int but)
{
    for (int fd = 0; fd < 3 && but >= 3; fd++)
        close(fd);
#ifdef SYS_close_range
    if (but > 3)
        syscall(SYS_close_range, 3, but - 1, 0);
    if (syscall(SYS_close_range, but + 1, ~0u, 0) == 0)
        return;
#endif
    long most = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < (most > 0 && most < 65536 ? most : 65536); fd++)
        if (fd != but)
            close(fd);
}

void witness_start(char *const *argv)
{
    int pair[2];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return;
    witness = fork();
    if (witness == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(0);
        close_files(pair[1]);
        take_name(argv);
        see(pair[1]);
    }
    close(pair[1]);
    line = pair[0];
    if (witness < 0) {
        witness = 0;
        close(line);
        line = -1;
    }
}

void witness_back(char *const *argv)
{
    static int ended;
    if (!witness || waitpid(witness, NULL, WNOHANG) != witness)
        return;
    close(line);
    witness = 0;
    line = -1;
    if (++ended <= AGAIN)
        witness_start(argv);
}

bool witness_there(void)
{
    return witness > 0;
}

static bool answered(int timeout_ms)
{
    struct pollfd p = {.fd = line, .events = POLLIN};
    return poll(&p, 1, timeout_ms) == 1;
}

size_t witness_ask(struct signal_seen *at)
{
    if (!witness || send(line, "?", 1, MSG_NOSIGNAL) != 1)
        return 0;
    if (!answered(ANSWER_MS))
        kill(witness, SIGCONT); /* it may have been stopped */
    if (!answered(ANSWER_LAST_MS))
        return 0;
    ssize_t bytes = recv(line, at, SIGNALS_SEEN * sizeof *at, 0);
    return bytes > 1 ? (size_t)bytes / sizeof *at : 0;
}

void witness_stop(void)
{
    if (!witness)
        return;
    kill(witness, SIGKILL);
    waitpid(witness, NULL, 0);
    close(line);
    witness = 0;
    line = -1;
}
