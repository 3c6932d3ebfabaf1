/* The state of a collector between drains, for the files collect*.c and stuck*.c. */
#ifndef GPUPROF_COLLECTOR_COLLECT_STATE_H
#define GPUPROF_COLLECTOR_COLLECT_STATE_H

#include "analyzer/collector/collect.h"

#include "analyzer/collector/gauges.h"
#include "analyzer/collector/spool/spool.h"
#include "base/clock.h"

struct rank_place; /* stuck.h */
struct sampler;    /* analyzer/sampler/sampler.h */
struct rank_places VEC(struct rank_place);

struct collector {
    char *dir;           /* folder of the spools */
    const char *meeting; /* where other collectors look for this one's folder */
    char host[64];       /* name of this machine */
    int64_t start_ns;
    struct sink sink;
    struct spool_out out;
    struct err first; /* first error of the sink */
    struct VEC(struct spool *) spools;
    size_t processes; /* number of all processes seen so far */
    struct collect_keeper keeper;
    int64_t kept_ns, kept_rows; /* time and number of rows at the last commit */
    bool tight;                 /* little of the disk is left, see collect_room.c */
    int64_t next_room_ns;       /* CLOCK_MONOTONIC of the next look at the disk */
    struct collect_states states;
    bool hurried; /* collect_end_live was called */
    bool resumed; /* it continues after a collector that was killed, and
                     leaves the folder as it is */
    struct {
        bool cupti, calls, loader, events, device, rank;
    } has; /* set by processes that have ended */
    int64_t bad_files;
    int64_t put_off;                /* files that could not be opened at the last look */
    struct sampler *sampler;        /* samples Python's stacks; NULL: none are sampled */
    int64_t unreadable, unknown;    /* number of processes whose stacks the kernel, or
                                       the sampler, cannot read */
    struct VEC(int64_t) stack_rows; /* by the sampler's number of a frame: id of
                                       its row, 0 = not put yet */
    struct gauges gauges;
    enum { GAUGES_UNTRIED, GAUGES_OPEN, GAUGES_NONE } gauges_state;
    int64_t next_gauges_ns, next_rest_ns;
    const char *virtual_nvml;       /* path of an NVML; NULL: the GPUs are real */
    int64_t looked_ns, resumed_ns;  /* stuck.c: last look; when the machine or gpuprof last
                                       continued after a suspension */
    uint64_t told_comm, told_begun; /* the wait that was reported last; 0 = none */
    int64_t asked_until_ns;         /* until then this collector publishes its ranks on request */
    bool shown;                     /* this collector has published its ranks (stuck_folder.c) */
    struct rank_places others;      /* ranks of other collectors, as they published
                                       them before our last look */
    int64_t next_others_ns, next_show_ns;
};

/* The last part of a spool's path. */
const char *collect_name(const struct spool *s);
/* Frees the space of what was read, once its rows are safe. */
void collect_give_back(struct collector *c);
void collect_look_at_room(struct collector *c); /* call it before each drain */
/* For a spool that was just opened: loads its process' state if the killed collector knew it.
 * False: the process is new. */
bool collect_find_state(struct collector *c, struct spool *s);
/* Puts a health row; `process` 0: of the whole run. */
void collect_health(struct collector *c, int64_t process, const char *code, const char *text,
                    int64_t value);
/* Reads what is left in the spool of a process that has ended, and puts the process' own rows. */
void collect_finish_spool(struct collector *c, struct spool *s);
bool collect_knows(const struct collector *c, const char *path); /* the spool at this path */
bool collect_is_file_of(const char *file, const char *suffix);
void collect_put_have(struct collector *c); /* puts which kinds of records have come */
void collect_put_limit(
    struct collector *c); /* puts what is missing because the profile became too large */
/* collect_stacks_begin starts sampling a new process; collect_stacks_end
 * stops when it has ended. */
void collect_stacks_begin(struct collector *c, const struct spool *s);
void collect_stacks_end(struct collector *c, struct spool *s);
void collect_put_stacks(struct collector *c); /* puts the samples that are complete */
void collect_stacks_stop(struct collector *c);

#endif
