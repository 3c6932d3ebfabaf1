/* The spool file of this process: made, grown and filled here (format: spool_format.h).
 *
 * The file is sparse. A part is allocated on disk and its pages touched before anything is written
 * through the map, so a full disk is a counted drop and never a SIGBUS, and the record path takes
 * no page fault. Growing touches pages of the map; where that takes no room on the disk, it reopens
 * the file by path: programs that close all descriptors do no harm.
 */
#ifndef GPUPROF_AGENT_CORE_SPOOL_H
#define GPUPROF_AGENT_CORE_SPOOL_H

#include <wchar.h>

#include "agent/core/agent.h"

/* Most of CUPTI's buffers and most rings; only those in use cost disk or memory, and --max-size
 * bounds them, too. 2048 buffers hold some 7 million records: what 64 threads launch in half a
 * minute while the collector gets no core or waits for the disk. SPOOL_THREADS rings are for as
 * many threads at once. The others take what those threads record meanwhile: 512 MiB, some 5
 * million calls of libraries or 11 million ranges. */
enum { SPOOL_BUFFERS = 2048, SPOOL_FEW_BUFFERS = 64, SPOOL_THREADS = 512, SPOOL_RINGS = 1024 };

/* Makes the file and fills agent.spool, agent.path. -1: passive; why = a file name that ends in
 * SPOOL_FAILED_SUFFIX, if even that could be made. */
int spool_create(void);
/* Disk and pages for [off, off + len) of the file. -1: no room, or the collector grants no more. */
int spool_grow(uint64_t off, uint64_t len);
void spool_seal(void);
void spool_wake(void); /* tells a waiting collector that there is something to take */

static inline uint32_t spool_control(void) /* the collector's word */
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

/* ---- strings (strings.c) ---- */

int strings_open(void); /* a new table for a new spool */
/* Id of a string, 0 if NULL, empty, or no room (counted). Lock-free; no allocation. */
uint32_t strings_add(const char *text, size_t length);
uint32_t strings_id(struct thread *t, const char *text); /* with the thread's cache */
/* UTF-8 of wide text, cut to fit, with its NUL; its length. */
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

/* What a library said of the descriptors of a call (agent/libs/preload_descriptors.c). */
enum { SHAPE_OF = 4, SHAPE_DIMS = 11 };
struct call_shape {
    const void *of[SHAPE_OF];
    uint32_t changes;
    uint8_t in_type, weight_type, out_type, compute_type, in_layout, weight_layout, math;
    int32_t dim[SHAPE_DIMS];
};

enum { THREAD_STRINGS = 128, THREAD_RANGES = 128, THREAD_SHAPES = 512 };

/* What the thread's last launch found (agent/lines/lines.c). */
struct thread_line {
    uint64_t code; /* of the frame, and where in it */
    int64_t at;
    uint32_t place_function;
    int32_t place_line;
    uint32_t stretch, file, function, module; /* as they were recorded last */
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
    unsigned depth; /* open pushes; those beyond THREAD_RANGES are only counted */
    struct open_range open[THREAD_RANGES];
};

/* A ring for the calling thread. -1: none left, or no room on disk. */
int ring_open(struct thread *t);
void ring_close(struct thread *t);
/* Room for one record, its head filled in but for the times; NULL: full (counted). Nothing is
 * visible to the collector until ring_commit. */
void *ring_reserve(struct thread *t, enum spool_rec_kind kind, size_t size);
void ring_commit(struct thread *t);
/* The record that was reserved is only so long after all. */
void ring_trim(struct thread *t, struct spool_rec *r, size_t size);
/* By the agent's thread: where rings fill up, makes those in which their threads will go on, so
 * that no thread of the program has to. -1: no room. */
int rings_prepare(void);

/* ---- what kind of process this is (about.c) ---- */

/* A thread without a ring passes NULL: nothing is written. */
void about_meta(struct thread *t, const char *key, const char *value);
void about_meta_number(struct thread *t, const char *key, long long value);
void about_health(struct thread *t, enum spool_severity severity, const char *code,
                  const char *text, int64_t value);
void about_process(struct thread *t);   /* command, exe, ranks, environment that matters */
void about_libraries(struct thread *t); /* versions of CUDA's libraries loaded since last asked */
void about_thread_name(struct thread *t, uint32_t tid, const char *name);

#endif
