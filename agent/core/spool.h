/* The spool file of this process: made, grown and filled here (format: spool_format.h).
 *
 * The file is sparse. The agent allocates a part on disk and touches its pages before it writes
 * there through the map. So a full disk leads to a counted drop and never to SIGBUS, and writing a
 * record takes no page fault. Growing touches pages of the map; where that does not reserve room on
 * disk, it opens the file again by its path, so a program may close all descriptors. */
#ifndef GPUPROF_AGENT_CORE_SPOOL_H
#define GPUPROF_AGENT_CORE_SPOOL_H

#include <wchar.h>

#include "agent/core/agent.h"

/* The largest numbers of CUPTI buffers and of rings. Only those in use cost disk or memory, and
 * --max-size limits them too. 2048 buffers hold some 7 million records: what 64 threads launch in
 * half a minute while the collector gets no core or waits for the disk. SPOOL_THREADS rings serve
 * as many threads at once. The other rings take what those threads record while the collector is
 * late: 512 MiB, some 5 million calls of libraries or 11 million ranges. If the program's limits
 * are tight, there are fewer buffers, but at least SPOOL_FEW_BUFFERS. */
enum { SPOOL_BUFFERS = 2048, SPOOL_FEW_BUFFERS = 64, SPOOL_THREADS = 512, SPOOL_RINGS = 1024 };

/* Makes the file and fills agent.spool and agent.path. -1: the agent must be passive; the reason is
 * left as a file whose name ends in SPOOL_FAILED_SUFFIX, if that file could be made. */
int spool_create(void);
/* Gives [off, off + len) of the file room on disk and touched pages. -1: no room, or the collector
 * grants no more. */
int spool_grow(uint64_t off, uint64_t len);
void spool_seal(void);
void spool_wake(void); /* tells a waiting collector that there are records to read */

static inline uint32_t spool_control(void) /* what the collector asks for: enum spool_control */
{
    return atomic_load_explicit(&agent.spool->control, memory_order_relaxed);
}

static inline struct spool_buffer_desc *spool_descs(void)
{
    return (struct spool_buffer_desc *)((char *)agent.spool + agent.spool->descs_off);
}

static inline struct spool_name *spool_names(void)
{
    return (struct spool_name *)((char *)agent.spool + agent.spool->names_off);
}

static inline char *spool_buffer(uint32_t i)
{
    return (char *)agent.spool + agent.spool->buffers_off + (uint64_t)i * SPOOL_BUFFER_BYTES;
}

/* ---- mlockall (lock_all.c) ---- */

/* spool_grow stands between the second and the third; the first begins a spool. begin_grow: false
 * if the spool cannot grow any more. end_grow: len is 0 then. */
void lock_all_new_spool(void);
bool lock_all_begin_grow(void);
void lock_all_end_grow(uint64_t off, uint64_t len);

/* ---- strings (strings.c) ---- */

int strings_open(void); /* makes a new table for a new spool */
/* Id of a string; 0 if it is NULL or empty, or if there is no room (counted). Takes no lock and
 * allocates nothing. */
uint32_t strings_add(const char *text, size_t length);
uint32_t strings_id(struct thread *t, const char *text); /* the same, with the thread's cache */
/* Converts wide text to UTF-8, cut to fit into `size` with its NUL. Returns its length. */
size_t strings_narrow(char *to, size_t size, const wchar_t *text);
const char *strings_text(uint32_t id);

/* ---- rings (ring.c) ---- */

struct open_range {
    int64_t start_ns;
    uint64_t payload;
    uint64_t comm;
    uint32_t name, domain, color;
    uint16_t flags;
};

/* What a library told of the descriptors of a call (agent/libs/preload_descriptors.c). */
enum { SHAPE_OF = 4, SHAPE_DIMS = 11 };
struct call_shape {
    const void *of[SHAPE_OF];
    uint32_t changes;
    uint8_t in_type, weight_type, out_type, compute_type, in_layout, weight_layout, math;
    int32_t dim[SHAPE_DIMS];
};

enum { THREAD_STRINGS = 128, THREAD_RANGES = 128, THREAD_SHAPES = 512 };

/* What the thread's last launch found out about its line (agent/lines/lines.c). */
struct thread_line {
    uint64_t code; /* the frame's code object, and `at`, the place in it */
    int64_t at;
    uint32_t place_function;
    int32_t place_line;
    uint32_t stretch, file, function, module; /* as last recorded */
    int32_t line;
    uint16_t what;
    uint64_t next_node;
};

struct thread_block {
    struct {
        const char *text;
        uint32_t id;
    } cache[THREAD_STRINGS];
    struct call_shape shape[THREAD_SHAPES];
    struct thread_line line;
    unsigned depth; /* open pushes; those beyond THREAD_RANGES are counted, not kept */
    struct open_range open[THREAD_RANGES];
};

/* Takes a ring for the calling thread. -1: none is left, or there is no room on disk. */
int ring_open(struct thread *t);
void ring_close(struct thread *t);
/* Reserves room for one record and fills its head, except for the times. NULL: no room (counted).
 * The collector sees nothing of it until ring_commit. */
void *ring_reserve(struct thread *t, enum spool_rec_kind kind, size_t size);
void ring_commit(struct thread *t);
/* Shortens the record just reserved to `size` bytes. */
void ring_trim(struct thread *t, struct spool_rec *r, size_t size);
/* Called by the agent's thread: makes rings for threads whose ring fills up, so that these threads
 * need not make them. -1: no room. */
int rings_prepare(void);

/* ---- what kind of process this is (about.c) ---- */

/* t is NULL for a thread without a ring: then nothing is written. */
void about_meta(struct thread *t, const char *key, const char *value);
void about_meta_number(struct thread *t, const char *key, long long value);
void about_health(struct thread *t, enum spool_severity severity, const char *code,
                  const char *text, int64_t value);
/* command, executable, rank, environment variables that matter */
void about_process(struct thread *t);
/* versions of the CUDA libraries loaded since the last call */
void about_libraries(struct thread *t);
void about_thread_name(struct thread *t, uint32_t tid, const char *name);

#endif
