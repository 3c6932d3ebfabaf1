/* Reads the Python frames of the calling thread, in its own memory. These frames made the call that
 * the thread is in, so none of them changes or goes away meanwhile, whether or not the thread holds
 * the interpreter's lock. The only function of Python called is PyCode_Addr2Line, which reads a
 * table of bytes.
 *
 * wire/python_layout.h, which the recorder uses as well, says where the members lie. The agent
 * trusts it only after it has led to the same frames as the interpreter names (lines_open). During
 * that trial, each address is first passed to the kernel, which returns an error if it is not
 * mapped. */
#include "agent/lines/lines.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/core/resolve.h"
#include "wire/python_layout.h"
#include "wire/python_owner.h"
#include "wire/spool_format.h"

enum { MOST_FRAMES = 1024, CODES = 8192, PROBES = 16, MOST_TEXT = 1024, MOST_CHECKED = 32 };

/* What runs where no module does, under one name. */
enum part { PART_NONE, PART_OPTIMIZER, PART_COMPILED, PART_OUTSIDE, PART_NOT_COMPILED, PARTS };
static const char *const part_names[PARTS] = {"", "optimizer", "compiled code", SPOOL_NO_MODULE,
                                              "outside compiled code"};

/* What is known of a code object, by its address. An entry is filled once; a different object at
 * the same address gets no entry. The check that the object is still the same is made once in a
 * stretch: made at each launch, it took longer than everything else, because the program's own work
 * has pushed the object out of the caches. */
struct code {
    _Atomic uint64_t address; /* 0: free; 1: being filled */
    _Atomic uint32_t round;   /* value of py.round at the last comparison */
    uint64_t file_at, name_at;
    uint32_t file, function;
    uint8_t owner; /* enum python_owner */
    uint8_t part;  /* enum part, judged by its file */
    bool method;   /* judged by its name, its first local is the object it is called on */
};

static struct {
    struct python_layout layout;
    uint64_t code_type;
    void *(*thread)(void);             /* PyGILState_GetThisThreadState */
    int (*line)(void *code, int byte); /* PyCode_Addr2Line */
    struct code *codes;
    _Atomic uint32_t round;        /* counts stretches */
    _Atomic uint32_t parts[PARTS]; /* string ids of part_names; 0: not added yet */
    int try_fds[2]; /* a pipe for is_mapped while the layout is tried; -1 otherwise */
} py = {.try_fds = {-1, -1}};

/* ---- memory ---- */

/* Asks the kernel by writing from the address into a pipe: that fails if it is not mapped. */
static bool is_mapped(uint64_t address)
{
    uint64_t copy;
    return write(py.try_fds[1], (const void *)(uintptr_t)address, sizeof copy) == sizeof copy &&
           read(py.try_fds[0], &copy, sizeof copy) == sizeof copy;
}

static inline bool read_word(uint64_t address, uint64_t *word)
{
    if (AGENT_UNLIKELY(address < SPOOL_PAGE || address % 8))
        return false;
    if (AGENT_UNLIKELY(py.try_fds[0] >= 0) && !is_mapped(address))
        return false;
    memcpy(word, (const void *)(uintptr_t)address, sizeof *word);
    return true;
}

/* ---- code objects ---- */

/* Text of a str in its compact form, which compilers use for all names. Empty text: it is not such
 * a str. */
static void read_text(uint64_t at, char *text)
{
    uint64_t length = 0, state = 0;
    wchar_t wide[MOST_TEXT / 2];
    text[0] = 0;
    if (!read_word(at + 16, &length) || !read_word(at + 32, &state))
        return;
    unsigned width = state >> 2 & 7;
    bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    const char *data = (const char *)(uintptr_t)at + py.layout.text_data[!ascii];
    if (!compact || length >= MOST_TEXT / 2 || (width != 1 && width != 2 && width != 4))
        return;
    for (size_t i = 0; i < length; i++) {
        uint32_t c = 0;
        memcpy(&c, data + i * width, width); /* the machine is little-endian */
        wide[i] = c < ' ' || c == 0x7f ? L' ' : (wchar_t)c;
    }
    wide[length] = 0;
    strings_narrow(text, MOST_TEXT, wide);
}

static bool of_hook(const char *file)
{
    const char *folder = agent_env("GPUPROF_PYTHON");
    size_t n = folder ? strlen(folder) : 0;
    return n && strncmp(file, folder, n) == 0 && file[n] == '/';
}

/* True if the name looks like a method's ("Block.forward") and the function takes an argument. The
 * number of arguments lies 16 bytes before the first line's number. */
static bool is_method(uint64_t address, const char *function)
{
    int32_t arguments;
    const char *dot = strrchr(function, '.');
    if (!py.layout.locals || !dot || (dot > function && dot[-1] == '>'))
        return false;
    memcpy(&arguments, (const char *)(uintptr_t)address + py.layout.first_line - 16,
           sizeof arguments);
    return arguments > 0;
}

static enum part part_of(const char *file)
{
    const char *package = python_in_packages(file);
    return package && strncmp(package, "torch/optim/", 12) == 0          ? PART_OPTIMIZER
           : package && strncmp(package, "torch/_dynamo/eval_", 19) == 0 ? PART_COMPILED
           : python_is_compiled(file)                                    ? PART_COMPILED
                                                                         : PART_NONE;
}

static uint32_t part_name(enum part part)
{
    uint32_t id = atomic_load_explicit(&py.parts[part], memory_order_relaxed);
    if (!id) {
        id = strings_add(part_names[part], strlen(part_names[part]));
        atomic_store(&py.parts[part], id);
    }
    return id;
}

static void describe(struct code *c, uint64_t address)
{
    char file[MOST_TEXT], function[MOST_TEXT];
    read_text(c->file_at, file);
    read_text(c->name_at, function);
    c->method = is_method(address, function);
    c->part = (uint8_t)part_of(file);
    c->owner = file[0] && !of_hook(file) ? (uint8_t)python_owner(file) : PYTHON_OF_LIBRARY;
    if (c->owner > PYTHON_OF_PACKAGE)
        return; /* never named in a record */
    if (c->owner == PYTHON_OF_USER)
        launchers_note(file, function);
    c->file = strings_add(file, strlen(file));
    c->function = strings_add(function, strlen(function));
}

void frames_begin(void)
{
    atomic_fetch_add(&py.round, 1);
}

static bool read_head(uint64_t address, struct code *out)
{
    uint64_t type;
    return read_word(address + 8, &type) && type == py.code_type &&
           read_word(address + py.layout.file, &out->file_at) &&
           read_word(address + py.layout.name, &out->name_at);
}

/* The entry of this address, or NULL. Then *is_free is where it may go, or NULL if there is no
 * room. */
static struct code *entry_of(uint64_t address, struct code **is_free)
{
    size_t first = (size_t)(address / 16 * 0x9e3779b97f4a7c15u >> 40);
    *is_free = NULL;
    for (size_t i = 0; i < PROBES; i++) {
        struct code *c = &py.codes[(first + i) % CODES];
        uint64_t there = atomic_load_explicit(&c->address, memory_order_acquire);
        if (there == address)
            return c;
        if (there == 0) {
            *is_free = c;
            return NULL;
        }
    }
    return NULL;
}

/* Finds or makes the entry of a code object. False: there is no code object at `address`. */
static bool find_code(uint64_t address, struct code *out)
{
    struct code *slot, *known = entry_of(address, &slot);
    uint32_t round = atomic_load_explicit(&py.round, memory_order_relaxed);
    bool fresh = known && atomic_load_explicit(&known->round, memory_order_relaxed) == round;
    if (!fresh && !read_head(address, out))
        return false;
    if (fresh || (known && known->file_at == out->file_at && known->name_at == out->name_at)) {
        atomic_store_explicit(&known->round, round, memory_order_relaxed);
        out->file = known->file;
        out->function = known->function;
        out->owner = known->owner;
        out->method = known->method;
        out->part = known->part;
        return true;
    }
    describe(out, address);
    uint64_t is_free = 0;
    if (slot && atomic_compare_exchange_strong(&slot->address, &is_free, 1)) {
        slot->file_at = out->file_at;
        slot->name_at = out->name_at;
        slot->file = out->file;
        slot->function = out->function;
        slot->owner = out->owner;
        slot->method = out->method;
        slot->part = out->part;
        slot->round = round;
        atomic_store_explicit(&slot->address, address, memory_order_release);
    }
    return true;
}

void frames_forget(void)
{
    for (int i = 0; i < PARTS; i++)
        atomic_store(&py.parts[i], 0);
    if (py.codes)
        memset(py.codes, 0, CODES * sizeof *py.codes);
}

/* ---- frames ---- */

static bool first_frame(uint64_t *frame)
{
    uint64_t state = (uint64_t)(uintptr_t)py.thread();
    if (!state || !read_word(state + py.layout.frame, frame))
        return false;
    return !py.layout.cframe || !*frame || read_word(*frame + py.layout.cframe - 1u, frame);
}

static bool instruction_of(uint64_t frame, uint64_t code, int64_t *at)
{
    uint64_t word;
    uint64_t member = frame + py.layout.instruction;
    if (!py.layout.instruction_bytes) {
        if (!read_word(member, &word))
            return false;
        *at = (int64_t)(word - (code + py.layout.code));
        return true;
    }
    int32_t count;
    memcpy(&count, (const void *)(uintptr_t)member, sizeof count);
    *at = (int64_t)count * py.layout.instruction_bytes;
    return true;
}

static uint32_t module_of(uint64_t frame)
{
    uint64_t self;
    bool is_there = read_word(frame + py.layout.locals, &self) && self >= SPOOL_PAGE;
    return is_there ? modules_name(self & ~(uint64_t)7) : 0;
}

/* What a walk over the frames also looks for. */
struct walk {
    bool modules;
    uint32_t module; /* of the innermost frame in one; 0: none so far */
    enum part part;  /* of the innermost frame in one; PART_NONE: none so far */
};

/* Reads one frame. 1: a function's; 0: an entry of the interpreter's own; -1: it cannot be read. */
static int read_frame(uint64_t frame, struct frame_place *place, uint8_t *owner, struct walk *w)
{
    struct code code = {0};
    uint64_t executable;
    if (!read_word(frame + py.layout.executable, &executable))
        return -1;
    executable &= ~(uint64_t)py.layout.tag;
    if (!find_code(executable, &code))
        return 0;
    place->code = executable;
    place->file = code.file;
    place->function = code.function;
    *owner = code.owner;
    w->part = w->part ? w->part : (enum part)code.part;
    if (w->modules && !w->module && code.method)
        w->module = module_of(frame);
    return 1;
}

bool frames_find(struct frame_place *place, bool backward)
{
    uint64_t frame, found_frame = 0;
    struct walk w = {.modules = atomic_load_explicit(&modules_known, memory_order_acquire) != 0};
    uint8_t owner, found = PYTHON_OF_LIBRARY;
    struct frame_place one;
    if (!first_frame(&frame))
        return false;
    for (int i = 0; frame && i < MOST_FRAMES; i++) {
        if (found == PYTHON_OF_USER && (!w.modules || w.module || w.part))
            break;
        int rc = read_frame(frame, &one, &owner, &w);
        if (rc < 0)
            return false;
        if (rc > 0 && owner == PYTHON_OF_USER && found == PYTHON_OF_PACKAGE &&
            instruction_of(frame, one.code, &one.at) &&
            loop_call(frame, one.at, backward, w.part == PART_OPTIMIZER))
            break;
        if (rc > 0 && owner <= PYTHON_OF_PACKAGE && owner < found) {
            *place = one;
            found_frame = frame;
            found = owner;
        }
        if (!read_word(frame + py.layout.previous, &frame))
            return false;
    }
    bool compiled = atomic_load_explicit(&py.parts[PART_COMPILED], memory_order_relaxed) != 0;
    w.part = w.part ? w.part : w.modules ? PART_OUTSIDE : compiled ? PART_NOT_COMPILED : PART_NONE;
    place->module = w.module ? w.module : w.part ? part_name(w.part) : 0;
    return found_frame && instruction_of(found_frame, place->code, &place->at);
}

int32_t frames_line(const struct frame_place *p)
{
    int line = py.line((void *)(uintptr_t)p->code, (int)p->at);
    return line > 0 ? line : 0;
}

/* ---- trying the layout ---- */

/* True if the frames read by this layout are those that the interpreter named, with the same
 * lines. */
static bool agrees(const struct lines_frame *frames, size_t n)
{
    uint64_t frame;
    if (!first_frame(&frame))
        return false;
    for (size_t i = 0; i < n && i < MOST_CHECKED;) {
        struct frame_place place;
        struct walk w = {0};
        uint8_t owner;
        int rc = frame ? read_frame(frame, &place, &owner, &w) : -1;
        if (rc < 0)
            return false;
        /* Python 3.12 has entries of its own that look like functions. */
        if (rc > 0 && (uintptr_t)frames[i].code == place.code) {
            if (!instruction_of(frame, place.code, &place.at) ||
                frames_line(&place) != frames[i].line)
                return false;
            i++;
        } else if (rc > 0 && i > 0 && place.code == (uintptr_t)frames[i - 1].code) {
            return false;
        }
        if (!read_word(frame + py.layout.previous, &frame))
            return false;
    }
    return n > 0;
}

static const char *find_interpreter(int minor)
{
    uint64_t word[PYTHON_SAID_WORDS];
    const void *runtime = resolve_global("_PyRuntime"), *type = resolve_global("PyCode_Type");
    *(void **)&py.thread = resolve_global("PyGILState_GetThisThreadState");
    *(void **)&py.line = resolve_global("PyCode_Addr2Line");
    if (!runtime || !type || !py.thread || !py.line)
        return "the interpreter does not show its symbols";
    memcpy(word, runtime, sizeof word);
    py.code_type = (uint64_t)(uintptr_t)type;
    switch (python_layout_of(word, minor, &py.layout)) {
    case LAYOUT_FOUND:
        return NULL;
    case LAYOUT_FREE_THREADED:
        return "this Python has no lock of its interpreter (free-threaded)";
    default:
        return "this version of Python is not known";
    }
}

const char *lines_open(int minor, const struct lines_frame *frames, size_t n)
{
    if (sizeof(void *) != 8)
        return "it is not a 64-bit system";
    const char *why = find_interpreter(minor);
    if (why)
        return why;
    void *map = mmap(NULL, CODES * sizeof *py.codes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || pipe2(py.try_fds, O_CLOEXEC | O_NONBLOCK) != 0)
        return "there is no memory";
    py.codes = map;
    bool good = agrees(frames, n);
    close(py.try_fds[0]);
    close(py.try_fds[1]);
    py.try_fds[0] = py.try_fds[1] = -1;
    if (!good)
        return "its frames do not lie where this version has them";
    frames_forget();
    return NULL;
}
