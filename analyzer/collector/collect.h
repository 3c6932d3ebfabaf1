/* The collector: drains the spools of a running program into a sink, outside of the target process.
 * One collector watches one folder; each spool file in it becomes one process of the profile. If a
 * spool's process is dead (even by SIGKILL), the collector reads all complete records in it. Not
 * thread-safe; collect_drain never blocks. */
#ifndef GPUPROF_COLLECTOR_COLLECT_H
#define GPUPROF_COLLECTOR_COLLECT_H

#include "analyzer/profile/rows.h"

#include <stdbool.h>

struct collector;

/* Watches the folder `dir`. start_monotonic_ns: CLOCK_MONOTONIC at the profile's
 * time 0. NULL with *e set. */
struct collector *collect_open(const char *dir, int64_t start_monotonic_ns, struct sink out,
                               struct err *e);
/* Sets the folder in which collectors of other nodes look for this one, if they cannot see `dir`.
 * The string is not copied. */
void collect_meet(struct collector *c, const char *folder);
/* Records only windows of the run by time: from delay on, for duration (0: to the end), and in that
 * time `window` out of every `every` (0: all). Call it before the first drain. */
struct collect_times {
    int64_t delay_ns, duration_ns, every_ns, window_ns;
};
void collect_times(struct collector *c, const struct collect_times *t);
/* Instead: records only windows that are requested, one after the other. Call it
 * before the first drain. */
void collect_on_request(struct collector *c);
/* Requests a window that begins in a moment and lasts `steps` steps; with steps 0 it lasts
 * duration_ns. If no process marks steps it lasts ten seconds. */
void collect_ask(struct collector *c, int64_t steps, int64_t duration_ns);
void collect_ask_end(struct collector *c); /* ends the window now */
/* State of the requested window. COLLECT_OVER: all of its rows are put; collect_ask_next
 * then forgets the window. */
enum collect_asked { COLLECT_NONE, COLLECT_OPEN, COLLECT_OVER };
enum collect_asked collect_asked(const struct collector *c);
void collect_ask_next(struct collector *c);
/* When the window requested last began, in profile time; -1 = no window. */
int64_t collect_ask_began(const struct collector *c);
/* number of its first step, from 1; -1 = not known */
int64_t collect_ask_first_step(const struct collector *c);
bool collect_ask_has_begun(const struct collector *c); /* it has begun and is not empty */
/* ---- is the program stuck? (stuck.c) ---- */

/* Call it as often as collect_drain; it looks once a second. True: `line` describes ranks that wait
 * in a collective for a rank of this collector, which has not joined the collective and is idle.
 * Each such wait is reported once, and also put into the profile's health. Ranks of other
 * collectors are included if their folders (collect_meet) have the same parent as ours and names of
 * such folders (spools_folder.h). */
bool collect_stuck(struct collector *c, char *line, size_t n);
/* Passes a line to `tell` for each live process that marks steps or works with other ranks: where
 * it is. And one for each wait, whichever collector records the late rank. */
void collect_status(struct collector *c, void (*tell)(void *self, const char *line), void *self);
/* Publishes these lines for some seconds, for callers of collect_shown in other processes. */
void collect_show(struct collector *c);
/* Passes the lines published by all collectors with folders in `folder` to `tell`, sorted
 * by rank, and one for each wait. `tell` NULL: only counts. Ignores files older than
 * since_ns (CLOCK_REALTIME of the file system). Returns how many collectors publish lines;
 * *silent: how many do not. */
size_t collect_shown(const char *folder, int64_t since_ns,
                     void (*tell)(void *self, const char *line), void *self, size_t *silent);

bool collect_marks_steps(const struct collector *c); /* some live process has marked a step */
/* Limits the profile and the spools together to max_bytes. Before they reach it, rows with a time
 * are no longer kept, agents are told to record no more, and a health row says so. `bytes`
 * estimates the profile's final size. */
void collect_limit(struct collector *c, int64_t max_bytes, int64_t (*bytes)(void *self),
                   void *self);
/* Makes a sink durable. Until `commit` has returned 0, the collector leaves what it has read in the
 * spools. Before a commit it passes states of single processes and of itself to `put`; the newest
 * state of a name counts, and n 0 removes one. Without a keeper spools are emptied at once. */
struct collect_keeper {
    int (*put)(void *self, const char *name, const void *state, size_t n, struct err *e);
    int (*commit)(void *self, struct err *e);
    void *self;
};
void collect_keep(struct collector *c, const struct collect_keeper *k);
/* commits now; collect_drain does it at intervals */
int collect_commit(struct collector *c, struct err *e);
/* The sink calls this when it finds no space on the disk, while it puts a row or commits. Frees space
 * in the spools, which must lie on the same disk. True: the sink should try again. */
bool collect_make_room(struct collector *c);
/* Tells the collector that the sink could not take a row or commit, because the disk is full,
 * and has rolled back. From then on rows with a time are not put, as beyond collect_limit,
 * and a health row says so. */
void collect_disk_full(struct collector *c);
/* Resumes where another collector was killed. Call it before the first drain. `get` returns the
 * newest committed state of a name, or NULL. The spools stay as they are, so that this can be
 * repeated. -1 with *e set: another version wrote the states. */
struct collect_states {
    const void *(*get)(void *self, const char *name, size_t *n);
    void *self;
};
int collect_resume(struct collector *c, const struct collect_states *from, struct err *e);
/* Reads what is ready in all spools, including new ones. Returns the number of rows, or -1 with *e
 * set if the sink failed. Spools are still emptied then, and the lost rows counted, so that the
 * target does not notice. */
int64_t collect_drain(struct collector *c, struct err *e);
/* Starts sampling Python's stacks from outside (analyzer/sampler/). Leaves out frames in files of
 * `hidden_folder` (may be NULL). Call it before the first drain. */
void collect_stacks(struct collector *c, const char *hidden_folder);
/* Tells the collector that the program runs on the virtual GPU. `library`: the path of an NVML that
 * knows this GPU; not copied, must outlive the collector. */
void collect_virtual_gauges(struct collector *c, const char *library);
/* Samples the CPU time of the threads of all live processes, and the gauges of their GPUs, at
 * most ten times a second; in the first seconds of a process a hundred times. Call it as
 * often as collect_drain. */
void collect_sample(struct collector *c);
/* How many ms to wait before the next drain. */
int collect_pause_ms(struct collector *c);
/* Puts a fact about the whole profile (docs/profile.md lists the keys). Returns its row's id. */
int64_t collect_put_meta(struct collector *c, const char *key, const char *value);
int64_t collect_time_ns(const struct collector *c);  /* present time in profile time */
size_t collect_processes(const struct collector *c); /* number of processes seen so far */
/* Puts the rows that otherwise come at the end: processes, threads, streams, devices known so far.
 * Only for a forked copy of the process, whose sink discards them. */
void collect_put_now(struct collector *c);
/* Asks live agents to record no more, where there is no time to wait until they end: what is left to read then ends, too. */
void collect_end_live(struct collector *c);
/* Last drain: asks live agents to stop, reads the spools of dead processes, and puts processes,
 * streams and health rows. -1 with *e set: the sink failed. */
int collect_finish(struct collector *c, struct err *e);
void collect_close(struct collector *c); /* also removes the spool files; accepts NULL */
/* The pid of a process that still records into this folder of spools; 0: none. */
int64_t collect_live(const char *dir);

#endif
