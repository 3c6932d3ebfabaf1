/* The collector: drains the spools of a running program into a sink, outside the target.
 * One collector watches one directory; each spool file in it becomes one process of the profile.
 * A spool whose process is dead is adopted: everything complete in it is kept (SIGKILL included).
 * Not thread-safe; collect_drain never blocks. */
#ifndef GPUPROF_COLLECTOR_COLLECT_H
#define GPUPROF_COLLECTOR_COLLECT_H

#include "analyzer/profile/rows.h"

#include <stdbool.h>

struct collector;

/* start_monotonic_ns: CLOCK_MONOTONIC of the profile's time 0. */
struct collector *collect_open(const char *dir, int64_t start_monotonic_ns, struct sink out,
                               struct err *e);
/* Where `dir` is on a disk that other nodes do not see: the folder of ours among theirs, which
 * stays the caller's. */
void collect_meet(struct collector *c, const char *folder);
/* Only windows of the run are kept, by time: from delay on, for duration (0: to the end), and of
 * that window out of every (0: all). Before the first drain. */
struct collect_times {
    int64_t delay_ns, duration_ns, every_ns, window_ns;
};
void collect_times(struct collector *c, const struct collect_times *t);
/* Instead: nothing is kept but windows that somebody asks for, one after the other. Before the
 * first drain. */
void collect_on_request(struct collector *c);
/* A window begins in a moment, and lasts `steps` steps; 0: duration_ns. Where no process marks
 * steps, ten seconds. */
void collect_ask(struct collector *c, int64_t steps, int64_t duration_ns);
void collect_ask_end(struct collector *c); /* it ends now */
/* OVER: all of its rows are put. collect_ask_next forgets it. */
enum collect_asked { COLLECT_NONE, COLLECT_OPEN, COLLECT_OVER };
enum collect_asked collect_asked(const struct collector *c);
void collect_ask_next(struct collector *c);
/* The window that was asked for last: when it began, profile time; -1 = there is none. */
int64_t collect_ask_began(const struct collector *c);
int64_t collect_ask_first_step(const struct collector *c); /* from 1; -1 = not known */
bool collect_ask_has_begun(const struct collector *c);     /* it is not empty */
/* ---- does the program go on? (stuck.c) ---- */

/* To be called as often as collect_drain; looks once a second. True: the line tells of ranks that
 * wait for one of ours in a collective, which it has not joined although it does nothing else. Once
 * for each such wait, which is put into the profile's health as well. Ranks of other collectors
 * are seen whose folders (collect_meet) have the same parent as ours, and names of such folders
 * (spools_folder.h). */
bool collect_stuck(struct collector *c, char *line, size_t n);
/* A line for each live process that marks steps or works with other ranks: where it is. And one for
 * each wait, whoever records the late rank. */
void collect_status(struct collector *c, void (*tell)(void *self, const char *line), void *self);
/* Shows these lines for some seconds to who calls collect_shown, in another process. */
void collect_show(struct collector *c);
/* The lines that collectors show whose folders are in `folder`, by rank, and one for each wait;
 * `tell` NULL: only counts. What is older than since_ns (CLOCK_REALTIME of the file system) does
 * not count. Returns how many show theirs; *silent: how many folders there are besides. */
size_t collect_shown(const char *folder, int64_t since_ns,
                     void (*tell)(void *self, const char *line), void *self, size_t *silent);

bool collect_marks_steps(const struct collector *c); /* some live process marked one */
/* The profile and the spools together stay below max_bytes: before they reach it, nothing with a
 * time is kept any more, a health row says so, and agents are asked to record no more. `bytes`
 * tells how large the profile will be. */
void collect_limit(struct collector *c, int64_t max_bytes, int64_t (*bytes)(void *self),
                   void *self);
/* Where rows are safe from then on: what the collector takes from a spool stays there until
 * `commit` has returned 0. Before it come states of one process or of all, of which the newest of a
 * name counts; n 0: it is over. Without a keeper spools are emptied at once. */
struct collect_keeper {
    int (*put)(void *self, const char *name, const void *state, size_t n, struct err *e);
    int (*commit)(void *self, struct err *e);
    void *self;
};
void collect_keep(struct collector *c, const struct collect_keeper *k);
int collect_commit(struct collector *c, struct err *e); /* now; collect_drain does it in time */
/* The sink could not take a row, or not commit, and is back at what it had committed: from then on
 * nothing with a time is put, as beyond collect_limit, and a health row says so. */
void collect_disk_full(struct collector *c);
/* Before the first drain: goes on where a collector was killed. `get` gives its newest committed
 * states, NULL: there is none. The spools stay as they are, so that it can be done again. -1: the
 * states are those of another version. */
struct collect_states {
    const void *(*get)(void *self, const char *name, size_t *n);
    void *self;
};
int collect_resume(struct collector *c, const struct collect_states *from, struct err *e);
/* Takes what is ready from all spools, new ones included. Returns rows taken, -1 on error (after a
 * failed sink the spools are still emptied and the loss counted, so that the target never feels
 * it). */
int64_t collect_drain(struct collector *c, struct err *e);
/* From now on Python's stacks are sampled from outside (analyzer/sampler/). Frames in files of
 * `hidden_folder` are left out; NULL: there is none. Before the first drain. */
void collect_stacks(struct collector *c, const char *hidden_folder);
/* The virtual GPU runs the program: NVML that knows it. Not copied; it outlives the collector. */
void collect_virtual_gauges(struct collector *c, const char *library);
/* Samples the CPU time of the threads of all live processes and the gauges of their GPUs, at most
 * ten times a second, in the first seconds of a process a hundred times: to be called as often as
 * collect_drain. */
void collect_sample(struct collector *c);
/* How long to wait before the next drain. */
int collect_pause_ms(struct collector *c);
/* A fact about the whole profile (docs/profile.md lists the keys). */
int64_t collect_put_meta(struct collector *c, const char *key, const char *value);
int64_t collect_time_ns(const struct collector *c);  /* now, as the profile counts */
size_t collect_processes(const struct collector *c); /* seen so far */
/* Puts what is otherwise put at the end: processes, threads, streams, devices so far. Only in a
 * copy of the process, whose sink goes nowhere else. */
void collect_put_now(struct collector *c);
/* Last drain: asks live agents to stop, adopts dead ones, writes processes, streams and health
 * rows. */
int collect_finish(struct collector *c, struct err *e);
void collect_close(struct collector *c); /* removes the spool files */
/* A process that still records into a folder of spools; 0: none does. */
int64_t collect_live(const char *dir);

#endif
