/* Makes rows durable, and resumes a killed collector. A commit contains the rows of
 * everything read so far, together with the state of the collector. Only after that does the
 * collector free the space in the spools. So it may be killed at any moment: nothing is lost,
 * and nothing is put twice. */
#include "analyzer/collector/collect_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    VERSION = 1,
    MOST_HELD = 4 << 20,   /* bytes read but not freed, over all processes */
    MOST_OF_RING = 1 << 18 /* bytes read but not freed in one ring; beyond that its thread
                              would look for another ring */
};
/* longest time between commits; after a kill, rows that come from no spool
 * are lost for this time */
static const int64_t most_ns = 200000000;

/* State of the collector itself; its windows follow. */
struct state {
    uint32_t version, bytes;
    char program[32]; /* version of gpuprof that wrote it: another version may use
                         the members differently */
    int64_t start_ns, ids[ROW_KINDS], newest_ns, bad_files;
    uint64_t processes;
    int64_t max_bytes, from_ns, left_out;
    int64_t every_ns, window_ns, until_ns;
    uint8_t cupti, calls, loader, events, device, rank;
    uint8_t limit_reached, pad;
    uint64_t windows;
};

void collect_keep(struct collector *c, const struct collect_keeper *k)
{
    c->keeper = *k;
    c->kept_ns = clock_monotonic_ns();
}

const char *collect_name(const struct spool *s)
{
    const char *slash = strrchr(s->path, '/');
    return slash ? slash + 1 : s->path;
}

static int put_own(struct collector *c, struct err *e)
{
    struct state s = {.version = VERSION,
                      .bytes = sizeof s,
                      .program = GPUPROF_VERSION,
                      .start_ns = c->start_ns,
                      .newest_ns = c->out.newest_ns,
                      .bad_files = c->bad_files,
                      .processes = c->processes,
                      .max_bytes = c->out.limit.max_bytes,
                      .from_ns = c->out.limit.from_ns,
                      .left_out = c->out.limit.left_out,
                      .every_ns = c->out.times.every_ns,
                      .window_ns = c->out.times.window_ns,
                      .until_ns = c->out.times.until_ns,
                      .cupti = c->has.cupti,
                      .calls = c->has.calls,
                      .loader = c->has.loader,
                      .events = c->has.events,
                      .device = c->has.device,
                      .rank = c->has.rank,
                      .limit_reached = c->out.limit.reached,
                      .windows = c->out.times.at.n};
    size_t n = c->out.times.at.n * sizeof *c->out.times.at.at;
    uint8_t *all = malloc(sizeof s + n);
    if (!all)
        return err_set(e, "out of memory");
    memcpy(s.ids, c->out.ids, sizeof s.ids);
    memcpy(all, &s, sizeof s);
    if (n)
        memcpy(all + sizeof s, c->out.times.at.at, n);
    int rc = c->keeper.put(c->keeper.self, "", all, sizeof s + n, e);
    free(all);
    return rc;
}

static int put_states(struct collector *c, struct err *e)
{
    struct spool_bytes bytes = {0};
    int rc = put_own(c, e);
    for (size_t i = 0; i < c->spools.n && rc == 0; i++) {
        struct spool *s = c->spools.at[i];
        if (!s->changed || s->gone)
            continue;
        rc = spool_save(s, &bytes) < 0
                 ? err_set(e, "out of memory")
                 : c->keeper.put(c->keeper.self, collect_name(s), bytes.at, bytes.n, e);
        s->changed = rc < 0;
    }
    vec_release(&bytes);
    return rc;
}

/* The records of an ended process are safe: removes its file and its state. */
static void remove_finished_spool(struct collector *c, struct spool *s)
{
    struct err ignored = ERR_INIT;
    unlink(s->path);
    if (c->keeper.put && !c->out.failed)
        c->keeper.put(c->keeper.self, collect_name(s), NULL, 0, &ignored);
    free(s->path);
    s->path = NULL;
    s->gone = true;
}

static void give_back_all(struct collector *c)
{
    for (size_t i = 0; i < c->spools.n; i++) {
        struct spool *s = c->spools.at[i];
        if (!s->done)
            spool_give_back(s);
        else if (!s->gone)
            remove_finished_spool(c, s);
    }
}

int collect_commit(struct collector *c, struct err *e)
{
    c->kept_ns = clock_monotonic_ns();
    c->kept_rows = c->out.rows;
    int rc = put_states(c, e) < 0 ? -1 : c->keeper.commit(c->keeper.self, e);
    if (rc == 0)
        c->out.unsafe_ns = INT64_MAX;
    if (rc < 0 && !c->out.failed) {
        c->out.failed = true;
        c->first = *e;
    }
    give_back_all(c); /* also if the sink failed: the target must not notice */
    return rc;
}

/* True if it is time to commit: enough was read, or time has passed, before a thread of
 * the program lacks space. */
static bool is_due(const struct collector *c)
{
    size_t held = 0, of_ring = 0;
    for (size_t i = 0; i < c->spools.n; i++) {
        held += c->spools.at[i]->held_bytes;
        if (c->spools.at[i]->held_of_ring > of_ring)
            of_ring = c->spools.at[i]->held_of_ring;
    }
    return c->tight || held >= MOST_HELD || of_ring >= MOST_OF_RING ||
           clock_monotonic_ns() - c->kept_ns >= most_ns;
}

static bool is_safe(const struct collector *c)
{
    bool safe = c->kept_rows == c->out.rows;
    for (size_t i = 0; i < c->spools.n && safe; i++)
        safe = !c->spools.at[i]->changed;
    return safe;
}

void collect_give_back(struct collector *c)
{
    struct err e = ERR_INIT;
    if (c->resumed)
        return;
    if (!c->keeper.commit || c->out.failed || !c->processes || is_safe(c))
        give_back_all(c);
    else if (is_due(c))
        collect_commit(c, &e);
}

/* ---- full disk ---- */

void collect_disk_full(struct collector *c)
{
    struct spool_limit *l = &c->out.limit;
    if (!l->reached)
        l->from_ns = INT64_MAX;
    if (c->out.unsafe_ns < l->from_ns)
        l->from_ns = c->out.unsafe_ns;
    l->reached = l->disk = true;
    l->left_out++;
}

/* ---- resuming ---- */

static int read_own(struct collector *c, const uint8_t *at, size_t n)
{
    struct state s;
    if (n < sizeof s)
        return -1;
    memcpy(&s, at, sizeof s);
    s.program[sizeof s.program - 1] = 0;
    if (s.version != VERSION || s.bytes != sizeof s || strcmp(s.program, GPUPROF_VERSION) != 0 ||
        s.windows != (n - sizeof s) / sizeof *c->out.times.at.at)
        return -1;
    c->start_ns = s.start_ns;
    memcpy(c->out.ids, s.ids, sizeof s.ids);
    c->out.newest_ns = s.newest_ns;
    c->bad_files = s.bad_files;
    c->processes = s.processes;
    c->out.limit = (struct spool_limit){.max_bytes = s.max_bytes,
                                        .reached = s.limit_reached != 0,
                                        .from_ns = s.from_ns,
                                        .left_out = s.left_out};
    c->out.times.every_ns = s.every_ns;
    c->out.times.window_ns = s.window_ns;
    c->out.times.until_ns = s.until_ns;
    c->has.cupti = s.cupti != 0, c->has.calls = s.calls != 0, c->has.loader = s.loader != 0;
    c->has.events = s.events != 0, c->has.device = s.device != 0, c->has.rank = s.rank != 0;
    for (uint64_t i = 0; i < s.windows; i++) {
        struct row_recorded *r = vec_push(&c->out.times.at);
        if (!r)
            return -1;
        memcpy(r, at + sizeof s + i * sizeof *r, sizeof *r);
    }
    return 0;
}

int collect_resume(struct collector *c, const struct collect_states *from, struct err *e)
{
    size_t n;
    c->states = *from;
    c->resumed = true;
    const void *own = from->get(from->self, "", &n);
    return !own || read_own(c, own, n) == 0
               ? 0
               : err_set(e, "another version of gpuprof recorded this: import it with that one");
}

bool collect_find_state(struct collector *c, struct spool *s)
{
    size_t n;
    const void *state = c->states.get ? c->states.get(c->states.self, collect_name(s), &n) : NULL;
    if (!state)
        return false;
    if (spool_load(s, &c->out, state, n) < 0) {
        c->bad_files++;
        s->done = true;
    }
    s->gone = s->done; /* no more is read from it */
    return true;
}
