/* The parts of the Kineto importer (PyTorch profiler's Chrome trace JSON).
 *   kineto_event.c   one event's text -> struct kineto_event
 *   kineto_shapes.c  ... and the shapes of an operator's inputs
 *   kineto_group.c   ... and the ranks that a collective belongs to
 *   kineto_rows.c    struct kineto_event -> rows
 *   kineto_names.c   the name of a Python function -> struct kineto_frame
 *   kineto_frames.c  calls of Python functions (with_stack=True) -> stacks, and samples of them
 *   kineto_stacks.c  ... the rows of the stacks, and of the modules in which lines run
 *   kineto_tells.c   ... and the facts that they are evidence of
 *   kineto_lines.c   ... and the line that each thread launches from
 *   kineto_xla.c     events of JAX and TensorFlow, which have no categories
 *   kineto_rocprof.c events of rocprofv3, whose JSON has its own form
 *   kineto_places.c  processes, threads, devices, streams: found while reading, put at the end
 *   import_kineto.c  the document around the events, sniffing, the importer itself */
#ifndef GPUPROF_IMPORT_KINETO_KINETO_H
#define GPUPROF_IMPORT_KINETO_KINETO_H

#include "analyzer/profile/rows.h"
#include "base/json_read.h"
#include "base/keymap.h"
#include "base/vec.h"
#include "base/words.h"

enum { KINETO_INPUTS = 8 };

enum kineto_category {
    KINETO_SKIP, /* flows, counters, spans, GPU-side annotations: they make no rows */
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
    KINETO_INSTANT /* only the allocator's instants are used: how much memory it holds */
};

struct kineto_event {
    char phase; /* 'X', 'M', ...; 0 = the event has none */
    uint8_t category;
    uint32_t name;
    bool has_ts, has_dur, bad_number;
    int64_t pid, tid;   /* as numbers; for a text the first number in it, -1 without digits */
    uint32_t group;     /* "[TP01] 4242": string id of what stands in brackets
                           before a pid, 0 = nothing */
    int64_t group_rank; /* the number in the brackets if there is exactly one, else -1 */
    int64_t pid_raw, fused_rank; /* in a fused file: the pid before fusing, and the rank of
                                    the event; -1 = absent */
    int64_t ts_ns, dur_ns;
    /* from args; -1 = absent */
    int64_t device, stream, context, correlation, bytes, graph, graph_node, registers, smem;
    int64_t grid[3], block[3];
    /* of a sync: the event recording that it waits for */
    int64_t wait_correlation, wait_event, wait_stream;
    int64_t ranks, elements;
    int64_t sequence;                 /* of a collective; of an operator: its sequence number in
                                         the graph of backward() */
    int64_t rank, from_rank, to_rank; /* the calling rank, and the rank that it
                                         receives from or sends to */
    uint64_t group_hash; /* hash of the process group's name and ranks, 0 = not recorded */
    uint32_t collective, group_label;
    char dtype[16];     /* element type of a collective, as PyTorch names it */
    char copy[8];       /* kind of a copy, if its name does not say it: DtoD, ... */
    char memory[2][12]; /* from which kind of memory to which: pinned, device, ... */
    char head[48];      /* first bytes of the name, to recognise kinds of copies and syncs */
    char label[64];     /* args.name of a metadata event, or details of a copy */
    bool is_thread_name, is_process_name, is_memory, is_node; /* is_node: a node of backward() */
    uint64_t from_file; /* of a call: hash of the file that calls, and the line; line 0 = absent */
    int64_t from_line;
    int64_t reserved, in_use, address, device_type, step; /* -1 = absent */
    int64_t piece; /* bytes that were given out; below 0: taken back; 0 = absent */
};

/* The inputs of the current event, an operator. */
struct kineto_shapes {
    /* number of inputs with dims, with types, with values; at most KINETO_INPUTS are kept */
    int inputs, types, values;
    int lists;   /* how many of the values are lists of numbers */
    size_t used; /* bytes used of text */
    struct {
        uint16_t from, to;           /* its dims are text[from..to) */
        uint16_t list_from, list_to; /* its value, if that is a list of numbers */
        char type[16];
    } input[KINETO_INPUTS];
    char text[256];
};

/* A Python function, from the name of its calls. */
enum kineto_frame_kind {
    KINETO_FRAME_NONE,
    KINETO_FRAME_PYTHON,
    KINETO_FRAME_BUILT_IN,
    KINETO_FRAME_MODULE /* a call of a module of PyTorch; it makes no row of its own */
};
enum { KINETO_FILE_NAME = 48 };
struct kineto_frame {
    uint8_t kind;     /* enum kineto_frame_kind; for KINETO_FRAME_NONE no other member is valid */
    uint8_t owner;    /* enum python_owner */
    uint8_t sign;     /* index + 1 in kineto_signs, 0 = none */
    uint8_t starts;   /* enum kineto_start: what it does with a loader's workers */
    bool is_profiler; /* it belongs to PyTorch's profiler */
    bool traces;      /* it traces a program into a graph: Dynamo, FX */
    bool optimizes;   /* it belongs to PyTorch's optimizers */
    uint32_t file, function;     /* file: path with the folders that PyTorch cuts off,
                                restored where they are known; function: of a module its name */
    uint32_t call;               /* string id of the system call that it waits in; 0: it computes */
    int64_t line;                /* line where the function begins; for calls older than the
                                trace the line they were in */
    uint64_t said;               /* hash of the file as the trace has it */
    char name[KINETO_FILE_NAME]; /* "train.py", if it is the user's function; "" = it is not */
};

/* What a call does with a loader's workers; KINETO_LAUNCHES starts one of them. */
enum kineto_start { KINETO_STARTS_NONE, KINETO_STARTS, KINETO_LAUNCHES, KINETO_STOPS };

/* Calls of certain functions are evidence of facts that gpuprof's own recordings contain. */
enum { KINETO_SIGNS = 4 };
extern const struct kineto_sign {
    const char *file, *function;
    /* key and value of the fact; value NULL: the value is the user's line
     * that calls the function */
    const char *key, *value;
} kineto_signs[KINETO_SIGNS];

struct kineto_call { /* a call that has not returned yet */
    int64_t end_ns, line;
    uint32_t frame, stack; /* index in kineto_frames.at; id of the stack's row */
    uint32_t module;       /* id of the innermost module's row; 0 = none */
};

/* The open calls of one thread, and samples ("looks") of them: one per period, as
 * if taken from outside. */
struct kineto_calls {
    struct VEC(struct kineto_call) open;
    int64_t from_ns, look_ns, line_ns; /* time of the first call; time of the next look;
                                          last change of the line */
    bool began;                        /* the begin and the end of some call were recorded */
    uint32_t profiler;                 /* number of open calls that belong to PyTorch's profiler */
    uint32_t line;           /* the line that the thread launches from: id of the stack, 0 = none */
    struct row_loader begin; /* the loop that starts workers; id 0: its row was not put yet */
    int64_t launched;        /* workers started in that loop */
    struct row_stack_sample look; /* the look that was not put yet; looks 0: none */
};

/* For a stack: its innermost frame of the user, and of a package (ids of stacks, 0 = none); its own
 * frame and line. */
struct kineto_owners {
    uint32_t user, package, frame;
    int64_t line;
};

/* From start_ns on a thread is in this line. In other lists: an operator with a sequence number in
 * the graph of backward(), or a node of that graph. */
struct kineto_line {
    int64_t start_ns, end_ns; /* end_ns: valid for nodes only */
    int64_t sequence;
    uint32_t thread, stack; /* index of the thread; id of the stack, 0 = none */
};
struct kineto_line_list VEC(struct kineto_line);

struct kineto_frames {
    struct VEC(uint32_t) of_name; /* by string id: index in `at` + 1, 0 = the name was not read
                                     yet */
    struct VEC(struct kineto_frame) at;
    struct VEC(struct kineto_calls) threads; /* parallel to kineto.threads */
    struct keymap stack_of; /* (caller, frame, line) -> id of the stack; (module, frame, line) ->
                               that of a line in a module; (name) -> that of a module */
    struct VEC(struct kineto_owners) owners; /* by id of the stack - 1 */
    uint32_t outside;                        /* id of the row for "outside a module"; 0: no
                                                module was called yet */
    bool exact;                              /* calls say the line that they come from */
    uint32_t signs[KINETO_SIGNS];            /* string ids of the facts' values; 0 = not seen */
    int64_t workers;                         /* most workers that a loader starts */
    uint32_t loop;                           /* string id of the user's line that loops over it */
    struct kineto_line_list changes, forward, nodes;
    int64_t period_ns, looks, late; /* time between looks; number of looks so far; calls
                                       that came out of order */
};

/* The program of one rank. Most files contain one. In merged files either a range of pids or a
 * group name belongs to each rank. */
struct kineto_process {
    int64_t first_pid, last_pid; /* range of pids; first > last: identified by its group */
    uint32_t group;
    int64_t pid, rank, world_size; /* -1 = unknown */
    int64_t first_ns, last_ns;     /* first and last time of its events */
    bool seen;
};

struct kineto_device {
    size_t process;
    int64_t ordinal, memory_bytes, cc_major, cc_minor, sm_count;
    uint32_t name;
    int64_t reserved; /* bytes of memory held by the allocator, last known value */
};

/* A process of an XLA trace (tid -1), or a stream in it; device -1: the host. */
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

enum { KINETO_MOST_PROCESSES = 1024, KINETO_ARGS = 48 };

struct kineto {
    struct sink *out;
    struct err *e;
    struct json_reader json;
    struct { /* keys and categories of events (kineto_event.c) */
        struct words fields, categories, args, inputs, caller;
        struct word arg[KINETO_ARGS];
    } words;
    char *scratch; /* buffer for texts with escapes */
    size_t scratch_cap;
    int64_t ids[ROW_KINDS];
    int64_t rank, world_size; /* from the file's header */
    int64_t events, objects, skipped, bad;
    /* what the document seems to be instead of a trace; NULL: no other format recognised */
    const char *other;
    uint32_t have_mask; /* which categories were seen: bits 1 << enum kineto_category */
    bool memory_kinds, hip, xpu;
    /* the tool that recorded it; NULL: PyTorch's profiler, or one with the same format */
    const char *tool;
    struct VEC(struct kineto_place) places;      /* only in an XLA trace */
    struct VEC(struct kineto_process) processes; /* there is always at least one */
    size_t process;                              /* index of the current event's process */
    struct {                                     /* about a fused file, see kineto_fused_turn */
        bool told;
        int64_t most_pid, apart, rank; /* largest pid of the first rank; distance of pids between
                                          ranks, 0 = not known; rank of the current event */
        uint32_t group;
    } fused;
    struct VEC(struct kineto_device) devices;
    struct VEC(struct kineto_thread) threads;
    struct VEC(struct kineto_stream) streams;
    size_t last_thread, last_stream;
    struct kineto_shapes shapes;
    struct keymap place_of, device_of, thread_of, stream_of; /* key -> index in the list */
    struct kineto_frames frames;
    struct keymap recordings; /* (process, correlation) of event recordings whose row was put */
    bool recording_unknown;   /* a sync waits for a recording that is not in the trace */
};

/* Adds the one process that most files contain. 0, or -1 with *k->e set. */
int kineto_process_init(struct kineto *k);
/* Adds a process of a merged file. The first one replaces the process of kineto_process_init. */
int kineto_process_add(struct kineto *k, const struct kineto_process *p);
/* Makes the process that the pid or group belongs to the current one. rank: rank of a new group, -1
 * = number groups in order of appearance. 0, or -1 with *k->e set. */
int kineto_process_turn(struct kineto *k, int64_t pid, uint32_t group, int64_t rank);

/* For files that TraceLens fused from those of several ranks. To the pids of rank N it adds N times
 * a power of ten larger than any pid of the first rank; "pid_raw" has the original pid. Sets the
 * event's group to its rank. 0, or -1 with *k->e set. */
int kineto_fused_turn(struct kineto *k, struct kineto_event *v);

/* Prepares the words that kineto_event_read recognises. Call it once, before the first event. */
void kineto_event_words(struct kineto *k);
/* Sets all members to "absent". */
void kineto_event_clear(struct kineto_event *v);
/* Reads the event whose '{' was just returned. 0, or -1 (k->json.error or *k->e says why). */
int kineto_event_read(struct kineto *k, struct kineto_event *v);
/* Reads the args of an operator; their value is the next token. Fills k->shapes, if shapes were
 * recorded, and v->sequence. 0, or -1. */
int kineto_shapes_read(struct kineto *k, struct kineto_event *v);
void kineto_shapes_words(struct kineto *k); /* call it once, before the first event */
/* Reads the args of any event; their value is the next token. 0, or -1. */
int kineto_args_read(struct kineto *k, struct kineto_event *v);
void kineto_args_words(struct kineto *k); /* call it once, before the first event */
/* The shapes of the current event as a string id of the sink: "64 x 3 x 224 x 224 float, 64 x 3 x 7
 * x 7 float". 0: none; STR_NONE: out of memory. */
uint32_t kineto_shapes(struct kineto *k);
/* Interns the text of the token just read, with escapes decoded. STR_NONE
 * with *k->e set on failure. */
uint32_t kineto_intern_token(struct kineto *k);

/* kineto_names.c: reads the name of a call into *f. 0, or -1 with *k->e set. */
int kineto_frame_read(struct kineto *k, struct kineto_frame *f, const char *s, size_t n);
/* kineto_stacks.c: the id of the row for this frame and line below this caller, and for the line that
 * a thread launches from, of the innermost open call; added if they are new; module: see struct
 * kineto_call. kineto_module: id of a new call's module. 0 with *k->e set, kineto_line: false. */
uint32_t kineto_stack(struct kineto *k, uint32_t caller, uint32_t frame, int64_t line);
bool kineto_launches_from(struct kineto *k, const struct kineto_calls *c, uint32_t *line);
bool kineto_module(struct kineto *k, struct kineto_call *call);
/* kineto_tells.c: puts what a call tells that begins now; and, after the last event, what all do.
 * 0, or -1 with *k->e set. */
int kineto_tells(struct kineto *k, struct kineto_calls *c, uint32_t frame, int64_t start_ns,
                 int64_t end_ns);
int kineto_tells_end(struct kineto *k);
/* Up to `times` backward passes go through one graph, this share of it again each time, at this line
 * (id of a stack, 0 = not known). */
int kineto_tells_again(struct kineto *k, size_t times, size_t pct, uint32_t line);
/* kineto_frames.c: interns the name of a call, and remembers what it means for kineto_frames_put.
 * STR_NONE with *k->e set. */
uint32_t kineto_frames_name(struct kineto *k, const char *s, size_t n);
/* kineto_frames_put adds a call; kineto_frames_end finishes, after the last event.
 * 0, or -1 with *k->e set. */
int kineto_frames_put(struct kineto *k, const struct kineto_event *v, int64_t start_ns);
int kineto_frames_end(struct kineto *k);
void kineto_frames_release(struct kineto *k);
/* kineto_lines.c: kineto_lines_note adds an operator or node with a number in the graph of
 * backward(); kineto_lines_end puts the rows, after the last event. 0, or -1 with *k->e set. */
int kineto_lines_note(struct kineto *k, const struct kineto_event *v, int64_t start_ns);
int kineto_lines_end(struct kineto *k);

int64_t kineto_rank(const struct kineto *k); /* rank of the current process, -1 = not known */
int64_t kineto_at(const struct kineto *k);   /* id of the current process' row */

/* kineto_group.c. Read the value of a key that names the process group, or lists its ranks (-1: bad
 * JSON). kineto_communicator: a number that the group has on all its ranks; -1 = not recorded. */
int kineto_take_group_name(struct kineto *k, struct kineto_event *v);
int kineto_take_group_ranks(struct kineto *k, struct kineto_event *v);
int64_t kineto_communicator(const struct kineto *k, const struct kineto_event *v);
/* Notes the times of an event of the current process, and the program's pid (-1
 * = it is no program's). */
void kineto_process_saw(struct kineto *k, int64_t start_ns, int64_t end_ns, int64_t host_pid);

/* Adds a device; if a number occurs twice, the first named one counts. 0, or -1 with *k->e set. */
int kineto_device_add(struct kineto *k, const struct kineto_device *d);
/* Ids of the rows of a thread and of the event's stream, added if they are
 * new. -1 with *k->e set. */
int64_t kineto_thread_id(struct kineto *k, int64_t tid);
int64_t kineto_stream_id(struct kineto *k, const struct kineto_event *v);
int kineto_put_places(struct kineto *k);
/* Puts a sample of the memory that the framework's allocator holds, if the value has changed.
 * 0, or -1 with *k->e set. */
int kineto_put_memory(struct kineto *k, const struct kineto_event *v, int64_t start_ns);

/* kineto_xla_note remembers the processes and streams of an XLA trace; kineto_xla_settle gives an
 * event without category its category. 0, or -1 with *k->e set. */
int kineto_xla_note(struct kineto *k, const struct kineto_event *v);
int kineto_xla_settle(struct kineto *k, struct kineto_event *v);

/* Reads the value of "rocprofiler-sdk-tool", which is the next token:
 * rocprofv3's JSON. 0, or -1. */
int kineto_rocprof_read(struct kineto *k);

/* Puts the rows of one event. 0, or -1 with *k->e set. */
int kineto_put(struct kineto *k, struct kineto_event *v);
/* Puts the rows that are complete only at the end: processes, threads,
 * streams, devices and meta. */
int kineto_put_ends(struct kineto *k);
void kineto_release(struct kineto *k);
/* Puts a number as a meta row of the whole profile. 0, or -1 with *k->e set. */
int kineto_put_number(struct kineto *k, const char *key, int64_t v);

#endif
