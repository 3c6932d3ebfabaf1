/* Signals for a program that runs behind this process. The user, or the process that started
 * gpuprof, knows only gpuprof's pid, sends signals to it, and means the program. The program is in
 * gpuprof's process group, so the kernel gives it what is sent to the group. Therefore gpuprof
 * passes a signal on only if it was sent to gpuprof alone: it reaches the program once, as without
 * gpuprof.
 *
 * The kernel does not tell to whom a signal was sent. A witness shows it: a process that gpuprof
 * forks, in its group, with the name and the command line of the program, which only waits for
 * signals. A signal that the witness got too was sent to the group, or to each process one by one,
 * so the program has got it as well. A sender may reach one process a moment before the other, so a
 * signal is held for some milliseconds before it is passed on.
 *
 * All signals are blocked in gpuprof and read from a file descriptor: none ends or stops it. When
 * the program stops, gpuprof stops by the same signal. When it has ended, the caller reads
 * signals_wanted. */
#ifndef GPUPROF_CLI_RUN_SIGNALS_H
#define GPUPROF_CLI_RUN_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Call it first: from now on signals are kept for the program. */
void signals_keep(void);
/* Call it before the program is forked. argv is the program's. Without a witness (no process could
 * be started), signals from the kernel count as sent to the group, and all others as sent to
 * gpuprof. */
void signals_open(char *const *argv);
/* If sent to gpuprof alone, this signal is for gpuprof. signals_ours returns how often it came
 * since the last call. */
void signals_reserve(int number);
int signals_ours(void);
/* Call it in the forked child before it becomes the program: restores signals as gpuprof found
 * them. */
void signals_give_back(void);
/* From now on `program` gets the signals, those that came earlier included. 0: it has ended. */
void signals_for(pid_t program);
/* Waits up to timeout_ms (-1: for ever) for a signal, SIGCHLD included, and passes on those that
 * are due. */
void signals_wait(int timeout_ms);
/* The signal that asked gpuprof to end while there was no program; 0: none. */
int signals_wanted(void);
/* The newest signal that asks to end, sent to gpuprof or to its group; 0: none. */
int signals_asked(void);
/* The program was stopped by `sig`: stops this process too, until it is continued. */
void signals_stop_too(int sig);
/* True if gpuprof is stopped because the program is. For a process that gpuprof has forked. */
bool signals_followed(void);
/* State of a process in /proc: 'R', 'T' (stopped) ...; 0: it has ended. */
char signals_state(pid_t pid);
/* A process that gpuprof has forked: its signals are for gpuprof alone. */
void signals_helper(pid_t pid);
/* Ends the witness. */
void signals_close(void);
/* ---- the witness ---- */

/* A signal as it came. */
struct signal_seen {
    int number, code;
    pid_t sender;
    int64_t value; /* as given to sigqueue */
    int64_t ns;    /* CLOCK_MONOTONIC, when it was read */
};

enum { SIGNALS_SEEN = 64 };

/* Reads the signals that came to this process, at most `room`. Returns their number. */
size_t signals_take(int fd, struct signal_seen *at, size_t room);
void witness_start(char *const *argv);
/* Starts another witness if the present one was killed. */
void witness_back(char *const *argv);
/* The signals that came to the witness since the last call; at most SIGNALS_SEEN. */
size_t witness_ask(struct signal_seen *at);
bool witness_there(void);
void witness_stop(void);

#endif
