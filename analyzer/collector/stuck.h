/* Whether the program goes on, and who waits for whom.
 *
 *   stuck.c         looks at the ranks of this gpuprof, and tells
 *   stuck_status.c  tells who asks
 *   stuck_process.c what the kernel says of a process
 *   stuck_ranks.c   compares the ranks of a communicator
 *   stuck_folder.c  shows our ranks to the other gpuprofs of a job, and reads theirs
 */
#ifndef GPUPROF_COLLECTOR_STUCK_H
#define GPUPROF_COLLECTOR_STUCK_H

#include "analyzer/collector/collect_state.h"

#include <limits.h>

/* ---- one process ---- */

char stuck_state_of(int pid); /* as /proc tells it; 0 = there is no such process */
bool stuck_is_stopped(int pid);
void stuck_where(int pid, char *out, size_t n); /* its main thread, as the kernel tells */

/* ---- a rank on one of its communicators ---- */

enum { STUCK_HOST = 64, STUCK_FUNCTION = 48, STUCK_WHERE = 256 };
struct rank_place {
    const struct spool *s; /* NULL: another gpuprof records it */
    uint64_t comm, begun;
    int64_t waited_ns; /* since it began the newest */
    int32_t rank, ranks, pid;
    uint32_t in_pairs, inside, marks; /* marks: steps */
    uint32_t stopped, idle, waits;    /* idle: it does nothing; waits: longer than usual */
    char host[STUCK_HOST], function[STUCK_FUNCTION], where[STUCK_WHERE]; /* where: if not ours */
};

struct wait {
    uint64_t comm, least, most; /* collectives begun */
    int64_t waited_ns;          /* the newest of those that wait */
    const struct rank_place *late, *newest;
    size_t late_count, waiting;
    bool hosts; /* not all of them are ours */
};

/* True when some ranks of the communicator of places->at[first] wait for others that do nothing. */
bool stuck_find(const struct rank_places *p, size_t first, struct wait *w);
void stuck_describe(const struct wait *w, char *line, size_t n);

/* The median length of recent steps; 0 = too few are known. */
int64_t stuck_usual_ns(const struct spool_pace *p);
/* Of all live ranks here; where they are slow or `asked` for, of those that other gpuprofs show as
 * well. */
void stuck_find_places(struct collector *c, int64_t now_ns, bool asked, struct rank_places *p);

bool stuck_counts(const struct spool *s,
                  const struct rank_places *p); /* it has a line of its own */
void stuck_describe_process(const struct spool *s, const struct rank_places *p, int64_t now_ns,
                            char *line, size_t n);

/* ---- the other gpuprofs of a job ---- */

/* Adds what they show of their ranks, if our places may wait for them. */
void stuck_read_others(struct collector *c, struct rank_places *p);
/* Shows our own places, or removes what we showed (`show` false). */
void stuck_show(struct collector *c, const struct rank_places *p, int64_t now_ns, bool show);
/* What all gpuprofs show whose folders are in `folder`, if it is not older than since_ns
 * (CLOCK_REALTIME of the file system). Returns how many do; *silent: how many do not. */
enum { STUCK_LINE = 1024 };
struct shown_line {
    int64_t rank; /* INT64_MAX: none */
    char text[STUCK_LINE];
};
struct shown_lines VEC(struct shown_line);
size_t stuck_read_folder(const char *folder, int64_t since_ns, struct rank_places *p,
                         struct shown_lines *lines, size_t *silent);

#endif
