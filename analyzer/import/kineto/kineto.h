/* The parts of the Kineto importer (PyTorch profiler's Chrome trace JSON).
 *   kineto_event.c   one event's text -> struct kineto_event
 *   kineto_shapes.c  ... and the shapes of an operator's inputs
 *   kineto_group.c   ... and the ranks that a collective belongs to
 *   kineto_rows.c    struct kineto_event -> rows
 *   kineto_names.c   the name of a Python function -> struct kineto_frame
 *   kineto_frames.c  calls of Python functions (with_stack=True) -> stacks, and looks at them
 *   kineto_lines.c   ... and the line that each thread launches from
 *   kineto_xla.c     events of JAX and TensorFlow, which have no categories
 *   kineto_rocprof.c events of rocprofv3, whose JSON has its own form
 *   kineto_places.c  processes, threads, devices, streams: found while reading, put at the end
 *   import_kineto.c  the document around the events, sniffing, the importer itself
 */
#ifndef GPUPROF_IMPORT_KINETO_KINETO_H
#define GPUPROF_IMPORT_KINETO_KINETO_H

#include "analyzer/profile/rows.h"
#include "base/json_read.h"
#include "base/keymap.h"
#include "base/vec.h"
#include "base/words.h"

enum { KINETO_INPUTS = 8 };

enum kineto_category {
    KINETO_SKIP, /* flows, counters, spans, GPU-side annotations: nothing that a row needs */
    KINETO_UNKNOWN,
    KINETO_KERNEL,
    KINETO_MEMCPY,
    KINETO_MEMSET,
    KINETO_RUNTIME,
    KINETO_DRIVER,
    KINETO_CPU_OP,
    KINETO_ANNOTATION,
    KINETO_PYTHON,
    KINETO_SYNC,
    KINETO_OVERHEAD,
    KINETO_INSTANT /* of these only the allocator's: how much memory it holds */
};

struct kineto_event {
    char phase; /* 'X', 'M', ...; 0 = none */
    uint8_t category;
    uint32_t name;
    bool has_ts, has_dur, bad_number;
    int64_t pid, tid;   /* numbers; of a text the digits in it, -1 without any */
    uint32_t group;     /* "[TP01] 4242": what stands in brackets before a pid, 0 = nothing */
    int64_t group_rank; /* the one number in it, else -1 */
    int64_t pid_raw, fused_rank; /* what it was before files were fused, and whose; -1 = nothing */
    int64_t ts_ns, dur_ns;
    /* args; -1 = absent */
    int64_t device, stream, context, correlation, bytes, graph, graph_node, registers, smem;
    int64_t grid[3], block[3];
    int64_t wait_correlation, wait_event, wait_stream; /* of a sync: the recording it waits for */
    int64_t ranks, elements;
    int64_t sequence; /* of a collective; of an operator in the graph of backward() */
    int64_t rank, from_rank, to_rank; /* the caller, and whom it receives from or sends to */
    uint64_t group_hash;              /* of the process group's name and ranks, 0 = not told */
    uint32_t collective, group_label;
    char dtype[16]; /* of its elements, as PyTorch names it */
    char copy[8];   /* HIP's "kind": DtoD, ... */
    char head[48];  /* first bytes of the name, for the kinds of copies and syncs */
    char label[64]; /* args.name of a metadata event; what is said of a copy */
    bool is_thread_name, is_process_name, is_memory, is_node; /* node: of backward() */
    int64_t reserved, device_type, step;                      /* -1 = absent */
};

/* What an operator was called with, of the event at hand. */
struct kineto_shapes {
    int inputs, types; /* so many have dims, types; no more than KINETO_INPUTS are kept */
    size_t used;       /* of text */
    struct {
        uint16_t from, to; /* of its dims in text */
        char type[16];
    } input[KINETO_INPUTS];
    char text[256];
};

/* A function of Python, by the name of its calls. */
enum kineto_frame_kind { KINETO_FRAME_NONE, KINETO_FRAME_PYTHON, KINETO_FRAME_BUILT_IN };
struct kineto_frame {
    uint8_t kind;     /* of KINETO_FRAME_NONE nothing else is known */
    uint8_t owner;    /* enum python_owner */
    uint8_t sign;     /* index + 1 in kineto_signs, 0 = none */
    uint8_t starts;   /* enum kineto_start: of a loader's workers */
    bool is_profiler; /* PyTorch's own */
    bool traces;      /* a program into a graph: Dynamo, FX */
    uint32_t file,
        function;   /* the file with the folders that PyTorch cuts off, where it has them */
    uint32_t place; /* of the user's: "train.py:12" */
    uint32_t call;  /* of the system, that it waits in; 0: it computes */
    int64_t line;   /* that it begins in; of calls older than the trace, where they were */
};

/* What a call does with the workers of a loader; launches one of them. */
enum kineto_start { KINETO_STARTS_NONE, KINETO_STARTS, KINETO_LAUNCHES, KINETO_STOPS };

/* What a call of some function says of the program, as our own recordings have it. */
enum { KINETO_SIGNS = 3 };
extern const struct kineto_sign {
    const char *file, *function;
    const char *key, *value; /* of the fact; value NULL: the user's place that calls it */
} kineto_signs[KINETO_SIGNS];

struct kineto_call { /* that has not returned */
    int64_t end_ns;
    uint32_t frame, stack; /* its index; id of its row */
    bool old;              /* older than the trace */
};

/* The calls of one thread, as they come, and the looks at them: as if from outside, one a period. */
struct kineto_calls {
    struct VEC(struct kineto_call) open;
    int64_t from_ns, look_ns, line_ns; /* of the first call; next look; last change of the line */
    bool began;                        /* a call was seen from its begin to its end */
    uint32_t profiler;                 /* so many of the open ones are PyTorch's profiler */
    uint32_t line;                     /* that it launches from: id of the stack, 0 = none */
    struct row_loader begin;           /* the loop that starts workers; id 0: not put yet */
    int64_t launched;                  /* in it */
    struct row_stack_sample look;      /* not put yet; looks 0: none */
};

/* Of a stack the innermost frame of the user, of a package, or of its callers; 0 = none. */
struct kineto_owners {
    uint32_t user, package;
};

/* From here on a thread is in a line; or an operator with a number in the graph of backward(). */
struct kineto_line {
    int64_t start_ns, end_ns; /* end_ns: of nodes alone */
    int64_t sequence;
    uint32_t thread, stack; /* index; id, 0 = none */
};
struct kineto_line_list VEC(struct kineto_line);

struct kineto_frames {
    struct VEC(uint32_t) of_name; /* by string id: index + 1, 0 = not read yet */
    struct VEC(struct kineto_frame) at;
    struct VEC(struct kineto_calls) threads; /* as kineto.threads */
    struct keymap stack_of;                  /* caller and frame -> id */
    struct VEC(struct kineto_owners) owners; /* by id of the stack - 1 */
    uint32_t signs[KINETO_SIGNS];            /* values of facts that calls show; 0 = not seen */
    int64_t workers;                         /* of the loader that starts most */
    uint32_t loop;                           /* where it is looped over: a place of the user's */
    struct kineto_line_list changes, forward, nodes;
    int64_t period_ns, looks, late; /* between looks; so far; calls that came out of order */
};

/* One rank's program. Most files hold one; merged ones say which pids, or which group, are whose.
 */
struct kineto_process {
    int64_t first_pid, last_pid; /* in the file; first > last: told by its group */
    uint32_t group;
    int64_t pid, rank, world_size; /* -1 = unknown */
    int64_t first_ns, last_ns;     /* of what was seen of it */
    bool seen;
};

struct kineto_device {
    size_t process;
    int64_t ordinal, memory_bytes, cc_major, cc_minor, sm_count;
    uint32_t name;
    int64_t reserved; /* bytes of memory that were told last */
};

/* A process of an XLA trace (tid -1) or a stream in it; device -1: the host. */
struct kineto_place {
    int64_t pid, tid, device;
};

struct kineto_thread {
    size_t process;
    int64_t tid;
    uint32_t name;
};

struct kineto_stream {
    size_t process;
    int64_t device, stream, context;
};

enum { KINETO_MOST_PROCESSES = 1024, KINETO_ARGS = 40 };

struct kineto {
    struct sink *out;
    struct err *e;
    struct json_reader json;
    struct { /* keys and categories of events (kineto_event.c) */
        struct words fields, categories, args, inputs;
        struct word arg[KINETO_ARGS];
    } words;
    char *scratch; /* for texts with escapes */
    size_t scratch_cap;
    int64_t ids[ROW_KINDS];
    int64_t rank, world_size; /* of the file */
    int64_t events, objects, skipped, bad;
    const char *other;  /* what the document seems to be instead; NULL */
    uint32_t have_mask; /* what was seen: 1 << enum kineto_category */
    bool memory_kinds, hip, xpu;
    const char *tool; /* whose recording it is, NULL: PyTorch's profiler's, or of its form */
    struct VEC(struct kineto_place) places;      /* of an XLA trace, else none */
    struct VEC(struct kineto_process) processes; /* the first always there */
    size_t process;                              /* index: of the event at hand */
    struct {                                     /* of a fused file, kineto_fused_turn */
        bool told;
        int64_t most_pid, apart, rank; /* of the first rank; between ranks, 0 = not told; at hand */
        uint32_t group;
    } fused;
    struct VEC(struct kineto_device) devices;
    struct VEC(struct kineto_thread) threads;
    struct VEC(struct kineto_stream) streams;
    size_t last_thread, last_stream;
    struct kineto_shapes shapes;
    struct keymap place_of, device_of, thread_of, stream_of; /* their indices */
    struct kineto_frames frames;
    struct keymap recordings; /* of events, by process and correlation: those that have a row */
    bool recording_unknown;   /* something waits for another one */
};

/* The one process of most files. 0, or -1 with *k->e set. */
int kineto_process_init(struct kineto *k);
/* One of a merged file; the first takes the place of the one process. */
int kineto_process_add(struct kineto *k, const struct kineto_process *p);
/* Makes the one that a pid belongs to the one at hand; rank: of a new group, -1 = in their order.
 * 0, or -1 with *k->e set. */
int kineto_process_turn(struct kineto *k, int64_t pid, uint32_t group, int64_t rank);

/* TraceLens fuses the files of ranks, in their order: to the pids of rank N it adds N times a power
 * of ten that no pid of the first rank reaches, and "pid_raw" says so. Gives the event the group of
 * its rank. The same. */
int kineto_fused_turn(struct kineto *k, struct kineto_event *v);

/* Once, before the first event: the words that events are read by. */
void kineto_event_words(struct kineto *k);
/* An event of which nothing is known. */
void kineto_event_clear(struct kineto_event *v);
/* Reads the event whose '{' was just returned. 0, or -1 (k->json.error or *k->e). */
int kineto_event_read(struct kineto *k, struct kineto_event *v);
/* Reads the args of an operator, whose value comes next: the shapes of its inputs, where they were
 * recorded, and its number. 0, or -1. */
int kineto_shapes_read(struct kineto *k, struct kineto_event *v);
void kineto_shapes_words(struct kineto *k); /* once, before the first */
/* These of the event at hand, as a text of the sink: "64 x 3 x 224 x 224 float, 64 x 3 x 7 x 7
 * float"; 0 without, STR_NONE: out of memory. */
uint32_t kineto_shapes(struct kineto *k);
/* Interns the text of the token just read, backslashes undone. STR_NONE with *k->e set on failure.
 */
uint32_t kineto_intern_token(struct kineto *k);

/* kineto_names.c: reads the name of a call. 0, or -1 with *k->e set. */
int kineto_frame_read(struct kineto *k, struct kineto_frame *f, const char *s, size_t n);
/* kineto_frames.c: interns the name of a call, and takes note of it for kineto_frames_put. STR_NONE
 * with *k->e set. */
uint32_t kineto_frames_name(struct kineto *k, const char *s, size_t n);
/* A call; and at the end. The same. */
int kineto_frames_put(struct kineto *k, const struct kineto_event *v, int64_t start_ns);
int kineto_frames_end(struct kineto *k);
void kineto_frames_release(struct kineto *k);
/* kineto_lines.c. An operator that has a number in the graph of backward(); and at the end. */
int kineto_lines_note(struct kineto *k, const struct kineto_event *v, int64_t start_ns);
int kineto_lines_end(struct kineto *k);

int64_t kineto_rank(const struct kineto *k); /* of the process at hand, -1 = not known */
int64_t kineto_at(const struct kineto *k);   /* id of its row */

/* kineto_group.c: the value of a key that names the process group, or that lists its ranks (-1 on
 * bad JSON); and the number that a group has on all its ranks, -1 = not told. */
int kineto_take_group_name(struct kineto *k, struct kineto_event *v);
int kineto_take_group_ranks(struct kineto *k, struct kineto_event *v);
int64_t kineto_communicator(const struct kineto *k, const struct kineto_event *v);
/* Takes note of the times, and of the pid where it is a program's (not -1). */
void kineto_process_saw(struct kineto *k, int64_t start_ns, int64_t end_ns, int64_t host_pid);

/* One more device; of two by one number the first is it. 0, or -1 with *k->e set. */
int kineto_device_add(struct kineto *k, const struct kineto_device *d);
/* ids of the rows of the thread and of the stream of the event at hand; made on first sight. -1
 * with *k->e set. */
int64_t kineto_thread_id(struct kineto *k, int64_t tid);
int64_t kineto_stream_id(struct kineto *k, const struct kineto_event *v);
int kineto_put_places(struct kineto *k);
/* What the framework's allocator holds, where that has changed. */
int kineto_put_memory(struct kineto *k, const struct kineto_event *v, int64_t start_ns);

/* Takes note of an XLA trace's processes and streams; gives an event without category one. 0, or -1
 * with *k->e set. */
int kineto_xla_note(struct kineto *k, const struct kineto_event *v);
int kineto_xla_settle(struct kineto *k, struct kineto_event *v);

/* The value of "rocprofiler-sdk-tool", which comes next: rocprofv3's JSON. 0, or -1. */
int kineto_rocprof_read(struct kineto *k);

/* Puts the rows of one event. 0, or -1 with *k->e set. */
int kineto_put(struct kineto *k, struct kineto_event *v);
/* Processes, threads, streams, devices and meta: known only at the end. */
int kineto_put_ends(struct kineto *k);
void kineto_release(struct kineto *k);
/* A fact about the whole profile, as soon as it is known. */
int kineto_put_number(struct kineto *k, const char *key, int64_t v);

#endif
