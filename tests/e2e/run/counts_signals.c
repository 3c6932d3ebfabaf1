/* Counts the signals that it gets: prints "ready", a line for each that came, and at the end how
 * many of each. Ends when its standard input does, once none has come for a while.
 *
 * usage: counts_signals [default SIGNAL]... [ignore SIGNAL]... [block SIGNAL]... [own]
 *   default, ignore: no handler for it; block: it is blocked, and counted at the end if it is
 *   pending; own: a process group of its own; session: a session of its own */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUIET_MS = 300 };

static volatile sig_atomic_t count[NSIG];
static volatile long value[NSIG];
static int report[2];

static void handle(int number, siginfo_t *info, void *context)
{
    (void)context;
    unsigned char byte = (unsigned char)number;
    count[number]++;
    if (info->si_code == SI_QUEUE)
        value[number] += info->si_value.sival_int;
    if (write(report[1], &byte, 1) != 1)
        abort();
}

static void set_up(int argc, char **argv)
{
    struct sigaction a = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigset_t blocked;
    sigemptyset(&blocked);
    for (int i = 1; i < NSIG; i++)
        sigaction(i, &a, NULL);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "own") == 0 || strcmp(argv[i], "session") == 0) {
            int rc = argv[i][0] == 'o' ? setpgid(0, 0) : setsid() < 0;
            printf("%s %s\n", argv[i], rc == 0 ? "made" : "refused");
        } else if (strcmp(argv[i], "block") == 0) {
            sigaddset(&blocked, atoi(argv[++i]));
        } else {
            signal(atoi(argv[i + 1]), argv[i][0] == 'i' ? SIG_IGN : SIG_DFL);
            i++;
        }
    }
    sigprocmask(SIG_BLOCK, &blocked, NULL);
}

int main(int argc, char **argv)
{
    if (pipe(report) != 0)
        return 2;
    set_up(argc, argv);
    puts("ready");
    fflush(stdout);
    struct pollfd p[] = {{.fd = report[0], .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    for (int over = 0;;) {
        int n = poll(p, over ? 1 : 2, over ? QUIET_MS : -1);
        if (n == 0)
            break;
        if (n > 0 && p[0].revents) {
            unsigned char number;
            if (read(report[0], &number, 1) == 1)
                printf("got %d\n", number);
            fflush(stdout);
        } else if (n > 0 && p[1].revents) {
            char rest[256];
            over = read(0, rest, sizeof rest) <= 0;
        }
    }
    sigset_t pending;
    sigpending(&pending);
    for (int i = 1; i < NSIG; i++) {
        if (count[i])
            printf("count %d: %d%s%ld\n", i, (int)count[i], value[i] ? " sum " : " ", value[i]);
        if (sigismember(&pending, i))
            printf("pending %d\n", i);
    }
    return 0;
}
