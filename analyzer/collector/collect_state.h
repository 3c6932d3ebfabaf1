/* What the collector keeps between drains, for its own files (collect*.c). */
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
    char *dir;           /* of the spools */
    const char *meeting; /* where other collectors look for ours */
    char host[64];       /* the name of this one */
    int64_t start_ns;
    struct sink sink;
    struct spool_out out;
    struct err first; /* of the sink */
    struct VEC(struct spool *) spools;
    size_t processes; /* ever */
    struct collect_keeper keeper;
    int64_t kept_ns, kept_rows; /* at the last commit */
    struct collect_states states;
    bool resumed; /* of a collector that was killed; its folder stays as it is */
    struct {
        bool cupti, calls, loader, events, device, rank;
    } has; /* any of those that are over */
    int64_t bad_files;
    int64_t put_off;                /* files that could not be opened when last looked for */
    struct sampler *sampler;        /* of Python's stacks; NULL: none are sampled */
    int64_t unreadable, unknown;    /* processes whose stacks the kernel, or the sampler, refuses */
    struct VEC(int64_t) stack_rows; /* by the sampler's number of a frame: id of its row, 0 */
    struct gauges gauges;
    enum { GAUGES_UNTRIED, GAUGES_OPEN, GAUGES_NONE } gauges_state;
    int64_t next_gauges_ns;
    const char *virtual_nvml;       /* NULL: the GPUs are real */
    int64_t looked_ns, resumed_ns;  /* by stuck.c; since the machine or we were last suspended */
    uint64_t told_comm, told_begun; /* the wait that was told of; 0 = none */
    int64_t asked_until_ns;         /* somebody asked to see our ranks */
    bool shown;                     /* our ranks, to other gpuprofs (stuck_folder.c) */
    struct rank_places others;      /* their ranks, as they showed them when we last looked */
    int64_t next_others_ns, next_show_ns;
};

/* The last part of the path of a spool. */
const char *collect_name(const struct spool *s);
/* Gives back what was read, once it is safe. */
void collect_give_back(struct collector *c);
/* A spool that was just opened: is its process known already? */
bool collect_find_state(struct collector *c, struct spool *s);
/* Puts a row of the health table; `process` 0: of the run. */
void collect_health(struct collector *c, int64_t process, const char *code, const char *text,
                    int64_t value);
void collect_put_have(struct collector *c); /* the kinds of records that came so far */
void collect_put_limit(
    struct collector *c); /* what is missing because the profile became too large */
/* A process that has just come, and one that has ended: its stacks are sampled between. */
void collect_stacks_begin(struct collector *c, const struct spool *s);
void collect_stacks_end(struct collector *c, struct spool *s);
void collect_put_stacks(struct collector *c); /* the samples that are complete */
void collect_stacks_stop(struct collector *c);

#endif
