/* Finds out whether the program is stuck, and which rank waits for which.
 *
 *   stuck.c         looks at the ranks of this gpuprof, and reports
 *   stuck_status.c  answers requests for the status
 *   stuck_process.c what the kernel says of a process
 *   stuck_ranks.c   compares the ranks of a communicator
 *   stuck_folder.c  publishes our ranks to the other gpuprofs of a job, and reads theirs */
#ifndef GPUPROF_COLLECTOR_STUCK_H
#define GPUPROF_COLLECTOR_STUCK_H

#include "analyzer/collector/collect_state.h"

#include <limits.h>

/* ---- one process ---- */

char stuck_state_of(int pid); /* state letter in /proc; 0 = there is no such process */
bool stuck_is_stopped(int pid);
void stuck_where(int pid, char *out, size_t n); /* what the kernel says of its main thread */

/* ---- a rank on one of its communicators ---- */

enum { STUCK_HOST = 64, STUCK_FUNCTION = 48, STUCK_WHERE = 256 };
/* The place of a rank on one communicator. */
struct rank_place {
    const struct spool *s; /* NULL: another gpuprof records it */
    uint64_t comm, begun;
    int64_t waited_ns; /* time since its newest collective began */
    int32_t rank, ranks, pid;
    uint32_t in_pairs, inside, marks; /* marks: it marks steps */
    uint32_t stopped, idle, waits;    /* idle: it does nothing; waits: it waits longer than usual */
    /* `where`: only for ranks of other gpuprofs */
    char host[STUCK_HOST], function[STUCK_FUNCTION], where[STUCK_WHERE];
};

/* Ranks that wait for a late one in a collective. */
struct wait {
    uint64_t comm, least, most; /* number of collectives begun: the smallest and largest */
    int64_t waited_ns;          /* shortest wait among the waiting ranks */
    const struct rank_place *late, *newest;
    size_t late_count, waiting;
    bool hosts; /* some of the ranks belong to other gpuprofs */
};

/* True if ranks on the communicator of p->at[first] wait for others that are idle; fills *w. */
bool stuck_find(const struct rank_places *p, size_t first, struct wait *w);
void stuck_describe(const struct wait *w, char *line, size_t n);

/* The median length of recent steps; 0 = too few are known. */
int64_t stuck_usual_ns(const struct spool_pace *p);
/* Finds the places of all live ranks here. If they are slow, or `asked` is set, also those that
 * other gpuprofs publish. */
void stuck_find_places(struct collector *c, int64_t now_ns, bool asked, struct rank_places *p);

bool stuck_counts(const struct spool *s,
                  const struct rank_places *p); /* the process gets a line of its own */
void stuck_describe_process(const struct spool *s, const struct rank_places *p, int64_t now_ns,
                            char *line, size_t n);

/* ---- the other gpuprofs of a job ---- */

/* Adds the ranks published by other gpuprofs, if our ranks may wait for them. */
void stuck_read_others(struct collector *c, struct rank_places *p);
/* Publishes our places; if `show` is false, removes what was published. */
void stuck_show(struct collector *c, const struct rank_places *p, int64_t now_ns, bool show);
/* Reads what all gpuprofs with folders in `folder` publish, unless it is older than
 * since_ns (CLOCK_REALTIME of the file system). Returns how many publish something;
 * *silent: how many do not. */
enum { STUCK_LINE = 1024 };
struct shown_line {
    int64_t rank; /* INT64_MAX: no rank */
    char text[STUCK_LINE];
};
struct shown_lines VEC(struct shown_line);
size_t stuck_read_folder(const char *folder, int64_t since_ns, struct rank_places *p,
                         struct shown_lines *lines, size_t *silent);

#endif
