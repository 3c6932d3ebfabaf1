/* What the collector keeps between drains, for its own files (collect*.c). */
#ifndef GPUPROF_COLLECTOR_COLLECT_STATE_H
#define GPUPROF_COLLECTOR_COLLECT_STATE_H

#include "analyzer/collector/collect.h"

#include "analyzer/collector/gauges.h"
#include "analyzer/collector/spool/spool.h"
#include "base/clock.h"

struct rank_place; /* stuck.h */
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
    int64_t put_off; /* files that could not be opened when last looked for */
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

#endif
