/* Walks from _PyRuntime to the frames of a thread: see pyframes.h. */
#include "analyzer/pyframes/pyframes.h"

#include "analyzer/pyframes/code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* MOST_DEEP: most frames read; Python's own limit is 1000, but programs raise it. */
enum { MOST_DEEP = 4096, MOST_THREADS = 4096, PTHREAD_WORDS = 256, NO_CODE = 16 };

/* Where glibc keeps the thread id in struct pthread, to which pthread_self() points: behind the
 * members for thread-local storage, whose size depends on the processor. In 32-bit words. */
#ifdef __aarch64__
enum { PTHREAD_TID = 208 / 4 };
#else
enum { PTHREAD_TID = 720 / 4 };
#endif

struct pyframes {
    struct memory memory;
    struct python_place place;
    struct python_layout layout;
    struct codes codes;
    int tid_word; /* place of the thread id in struct pthread, in 32-bit
                     words; -1 = not found yet */
};

static enum pyframes_result result_of(enum layout_result r, const struct memory *m)
{
    if (r == LAYOUT_FOUND)
        return PYFRAMES_OPEN;
    if (r == LAYOUT_NOT_YET)
        return m->error == EPERM    ? PYFRAMES_FORBIDDEN
               : m->error == ENOSYS ? PYFRAMES_FORBIDDEN
                                    : PYFRAMES_NOT_YET;
    return PYFRAMES_UNKNOWN;
}

enum pyframes_result pyframes_open(struct pyframes **out, pid_t pid)
{
    struct python_place place;
    struct pyframes *p;
    *out = NULL;
    if (sizeof(void *) != 8)
        return PYFRAMES_UNKNOWN;
    enum python_found found = python_find(pid, &place);
    if (found != PYTHON_FOUND)
        return found == PYTHON_FORBIDDEN ? PYFRAMES_FORBIDDEN : PYFRAMES_NOT_PYTHON;
    if (!(p = calloc(1, sizeof *p)) || codes_init(&p->codes) < 0) {
        pyframes_close(p);
        return PYFRAMES_NOT_YET;
    }
    memory_open(&p->memory, pid);
    p->place = place;
    p->tid_word = -1;
    enum pyframes_result r = result_of(layout_find(&p->memory, &p->place, &p->layout), &p->memory);
    if (r != PYFRAMES_OPEN) {
        pyframes_close(p);
        return r;
    }
    *out = p;
    return r;
}

void pyframes_close(struct pyframes *p)
{
    if (p)
        codes_release(&p->codes);
    free(p);
}

bool pyframes_forbidden(const struct pyframes *p)
{
    return p->memory.error == EPERM;
}

/* ---- threads ---- */

static bool is_thread(const struct pyframes *p, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)p->memory.pid, (int)tid);
    return tid > 0 && access(path, F_OK) == 0;
}

/* Finds the word in the main thread's struct pthread that contains the process id: in every struct
 * pthread this word is the thread id. */
static void find_tid_word(struct pyframes *p, uint64_t state)
{
    int32_t word[PTHREAD_WORDS];
    uint64_t self;
    if (!memory_word(&p->memory, state + p->layout.thread_id, &self) ||
        !memory_read(&p->memory, self, word, sizeof word))
        return;
    if (word[PTHREAD_TID] == p->memory.pid)
        p->tid_word = PTHREAD_TID;
    for (int i = 0; i < PTHREAD_WORDS && p->tid_word < 0; i++)
        if (word[i] == p->memory.pid)
            p->tid_word = i;
}

/* Python 3.9 and 3.10 store only a thread's pthread_self(). */
static pid_t tid_by_pthread(struct pyframes *p, uint64_t state)
{
    uint64_t self;
    int32_t tid = 0;
    if (memory_word(&p->memory, state + p->layout.thread_id, &self) && p->tid_word >= 0)
        memory_read(&p->memory, self + (uint64_t)p->tid_word * 4, &tid, sizeof tid);
    return tid;
}

static pid_t tid_of(struct pyframes *p, uint64_t state)
{
    uint64_t native = 0;
    if (!p->layout.native_id)
        return tid_by_pthread(p, state);
    memory_word(&p->memory, state + p->layout.native_id, &native);
    return native > 0 && native < INT32_MAX ? (pid_t)native : 0;
}

static bool first_thread(struct pyframes *p, uint64_t *state)
{
    uint64_t interpreter;
    return memory_word(&p->memory, p->place.runtime + p->layout.interpreters, &interpreter) &&
           interpreter && memory_word(&p->memory, interpreter + p->layout.threads, state);
}

static bool next_thread(struct pyframes *p, uint64_t *state)
{
    return memory_word(&p->memory, *state + p->layout.thread_next, state) && *state;
}

size_t pyframes_threads(struct pyframes *p, struct pythread *out, size_t most)
{
    uint64_t first = 0, at;
    size_t n = 0;
    memory_forget(&p->memory);
    if (!first_thread(p, &first) || !first)
        return 0;
    at = first;
    for (int i = 0; !p->layout.native_id && p->tid_word < 0 && i < MOST_THREADS; i++) {
        find_tid_word(p, at);
        if (!next_thread(p, &at))
            break;
    }
    at = first;
    for (int i = 0; i < MOST_THREADS && n < most; i++) {
        struct pythread t = {at, tid_of(p, at)};
        if (is_thread(p, t.tid))
            out[n++] = t;
        if (!next_thread(p, &at))
            break;
    }
    return n;
}

/* ---- frames ---- */

/* *frame: the innermost frame; 0: the thread runs no Python code. False: not readable. */
static bool first_frame(struct pyframes *p, uint64_t state, uint64_t *frame)
{
    if (!memory_word(&p->memory, state + p->layout.frame, frame))
        return false;
    if (!p->layout.cframe || !*frame)
        return true;
    return memory_word(&p->memory, *frame + p->layout.cframe - 1u, frame);
}

/* *at: offset of the frame's instruction from its code's first one, in bytes; negative: before
 * it. False: not readable. */
static bool instruction_of(struct pyframes *p, uint64_t frame, uint64_t code, int64_t *at)
{
    int32_t count;
    uint64_t address;
    if (!p->layout.instruction_bytes) {
        if (!memory_word(&p->memory, frame + p->layout.instruction, &address))
            return false;
        *at = (int64_t)(address - (code + p->layout.code));
        return true;
    }
    if (!memory_read(&p->memory, frame + p->layout.instruction, &count, sizeof count))
        return false;
    *at = (int64_t)count * p->layout.instruction_bytes;
    return true;
}

/* 1: read; 0: not a Python function, but an entry that the interpreter
 * inserts; -1: not readable. */
static int read_frame(struct pyframes *p, uint64_t at, struct pyframe *out)
{
    uint64_t address;
    int64_t instruction;
    if (!memory_word(&p->memory, at + p->layout.executable, &address))
        return -1;
    address &= ~(uint64_t)p->layout.tag;
    const struct code *code =
        codes_find(&p->codes, &p->memory, &p->layout, p->place.code_type, address);
    /* entries of Python 3.12 */
    if (!code || strcmp(str_text(&p->codes.texts, code->file), "<shim>") == 0)
        return 0;
    if (!instruction_of(p, at, address, &instruction))
        return -1;
    *out = (struct pyframe){.file = str_text(&p->codes.texts, code->file),
                            .function = str_text(&p->codes.texts, code->function),
                            .line = code_line(code, (enum line_table)p->layout.table, instruction),
                            .code = address};
    return 1;
}

int pyframes_walk(struct pyframes *p, const struct pythread *t, struct pyframe *out, size_t most)
{
    uint64_t frame;
    size_t n = 0;
    int without = 0; /* number of frames that are no Python functions */
    memory_forget(&p->memory);
    if (!first_frame(p, t->state, &frame))
        return -1;
    for (int i = 0; frame; i++) {
        struct pyframe one;
        int rc = read_frame(p, frame, &one);
        if (rc < 0 || i >= MOST_DEEP || without > NO_CODE + (int)n)
            return -1;
        without += rc == 0;
        if (rc > 0 && n < most)
            out[n++] = one;
        else if (rc > 0)
            out[most - 1] = one; /* if the stack is too deep for `out`, its last entry
                                    is the outermost frame */
        if (!memory_word(&p->memory, frame + p->layout.previous, &frame))
            return -1;
    }
    return (int)n;
}
