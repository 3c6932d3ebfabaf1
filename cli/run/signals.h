/* Signals of a program that this process stands in front of. Whoever started us waits for our
 * process and sends it signals, and means the program. The program is in our process group, where
 * the kernel gives it what is sent to the group. So a signal that comes here is passed on if it was
 * sent to us alone, and only then: it reaches the program once, as without us.
 *
 * The kernel does not say to whom a signal was sent. A witness tells: a process that we fork, in
 * our group, with the name and the command line of the program, which waits for signals and does
 * nothing else. What it got too was sent to the group, or to each process one by one, and the
 * program has got it as well. A sender may reach one process a moment before the other, so a signal
 * is held for some milliseconds before it is passed on.
 *
 * All signals are blocked here and taken from a file descriptor: none ends or stops us. When the
 * program stops, we stop by the same signal; when it has ended, the caller looks at
 * signals_wanted. */
#ifndef GPUPROF_CLI_RUN_SIGNALS_H
#define GPUPROF_CLI_RUN_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* First of all: from here on signals are kept for the program. */
void signals_keep(void);
/* Before the program is forked. argv is the program's; without a witness (no process to be had)
 * what the kernel sends counts as sent to the group, and all else as sent to us. */
void signals_open(char *const *argv);
/* Sent to us alone, this signal is for us: signals_ours counts it since it was asked last. */
void signals_reserve(int number);
int signals_ours(void);
/* In the forked child, before it becomes the program: it finds signals as we found them. */
void signals_give_back(void);
/* From here on `program` gets what comes, what came before included. 0: it has ended. */
void signals_for(pid_t program);
/* Waits up to timeout_ms (-1: for ever) for a signal, SIGCHLD included; passes on what is due. */
void signals_wait(int timeout_ms);
/* The signal by which somebody asked us to end while there was no program; 0 = none. */
int signals_wanted(void);
/* The newest signal, sent to us or to our group, that asks to end; 0 = none. */
int signals_asked(void);
/* The program has stopped by `sig`: so do we, until somebody continues us. */
void signals_stop_too(int sig);
/* Are we stopped because the program has stopped? Asked by a process that we forked. */
bool signals_followed(void);
/* State of a process as /proc tells it: 'R', 'T' (stopped) ...; 0: it has ended. */
char signals_state(pid_t pid);
/* A process that we forked: its signals are for us alone. */
void signals_helper(pid_t pid);
/* The witness goes. */
void signals_close(void);
/* ---- the witness ---- */

/* A signal as it came. */
struct signal_seen {
    int number, code;
    pid_t sender;
    int64_t value; /* of sigqueue */
    int64_t ns;    /* CLOCK_MONOTONIC, when it was taken */
};

enum { SIGNALS_SEEN = 64 };

/* Takes what came to this process, at most `room`; the number. */
size_t signals_take(int fd, struct signal_seen *at, size_t room);
void witness_start(char *const *argv);
/* Where somebody has killed it there is another from here on. */
void witness_back(char *const *argv);
/* What came to the witness since it was asked last. At most SIGNALS_SEEN. */
size_t witness_ask(struct signal_seen *at);
bool witness_there(void);
void witness_stop(void);

#endif
