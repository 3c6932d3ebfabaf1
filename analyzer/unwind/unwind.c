/* Unwinds copied stacks, using the files that the process has mapped. */
#include "analyzer/unwind/unwind.h"

#ifdef GPUPROF_LIBDW
#include "analyzer/unwind/frame.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FRAMES = 64 };

struct unwinder {
    const struct libdw *d;
    Dwfl *dwfl;
    int pid;
    bool attached;
    const struct spool_rec_stack *r; /* the current stack */
    const uint8_t *bytes;
    char *text;
    size_t size;
    int frames;
    enum unwind_result result;
};

const char *unwind_missing(void)
{
    return libdw() ? NULL : "libdw.so.1 (package libdw1) is not installed";
}

/* ---- files ---- */

/* Opens a file to read. -1: it is not a regular file; a mapped file may have
 * been replaced by anything. */
static int open_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Opens the ELF file of a module. While the process lives, its root (/proc/PID/root) shows the
 * files of its container. */
static int find_elf(Dwfl_Module *m, void **user, const char *name, Dwarf_Addr base,
                    char **file_name, Elf **elf)
{
    (void)m;
    (void)base;
    (void)elf;
    char path[4200];
    const struct unwinder *u = *user;
    if (name[0] != '/')
        return -1;
    int fd = -1;
    if (u && (size_t)snprintf(path, sizeof path, "/proc/%d/root%s", u->pid, name) < sizeof path)
        fd = open_file(path);
    if (fd < 0)
        fd = open_file(name);
    if (fd >= 0)
        *file_name = strdup(name);
    return fd;
}

static int find_debuginfo(Dwfl_Module *m, void **user, const char *name, Dwarf_Addr base,
                          const char *file, const char *link, GElf_Word crc, char **found)
{
    return libdw()->dwfl_build_id_find_debuginfo(m, user, name, base, file, link, crc, found);
}

static int owned_by(Dwfl_Module *m, void **user, const char *name, Dwarf_Addr base, void *arg)
{
    (void)m;
    (void)name;
    (void)base;
    *user = arg;
    return DWARF_CB_OK;
}

void unwind_reload(struct unwinder *u, const char *maps, size_t size)
{
    FILE *f = size ? fmemopen((void *)(uintptr_t)maps, size, "r") : NULL;
    if (!f)
        return;
    u->d->dwfl_report_begin(u->dwfl);
    u->d->dwfl_linux_proc_maps_report(u->dwfl, f);
    u->d->dwfl_report_end(u->dwfl, NULL, NULL);
    u->d->dwfl_getmodules(u->dwfl, owned_by, u, 0);
    fclose(f);
}

/* ---- state of the thread ---- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
    (void)dwfl;
    struct unwinder *u = arg;
    if (*thread)
        return 0;
    *thread = u;
    return u->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
    (void)dwfl;
    (void)tid;
    *thread = arg;
    return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr at, Dwarf_Word *word, void *arg)
{
    (void)dwfl;
    const struct unwinder *u = arg;
    uint64_t from = u->r->registers[1];
    if (at < from || at - from > u->r->bytes || u->r->bytes - (at - from) < sizeof *word)
        return false;
    memcpy(word, u->bytes + (at - from), sizeof *word);
    return true;
}

/* DWARF's numbers of the registers on x86-64. */
static bool set_registers(Dwfl_Thread *thread, void *arg)
{
    static const int numbers[SPOOL_STACK_REGISTERS] = {16, 7, 6, 3, 12, 13, 14, 15};
    const struct unwinder *u = arg;
    for (int i = 0; i < SPOOL_STACK_REGISTERS; i++) {
        Dwarf_Word value = u->r->registers[i];
        if (!u->d->dwfl_thread_state_registers(thread, numbers[i], 1, &value))
            return false;
    }
    return true;
}

static int see_frame(Dwfl_Frame *frame, void *arg)
{
    struct unwinder *u = arg;
    Dwarf_Addr pc;
    bool exact;
    if (u->frames++ == FRAMES || !u->d->dwfl_frame_pc(frame, &pc, &exact))
        return DWARF_CB_ABORT;
    pc -= !exact; /* a return address: step back into the call */
    Dwfl_Module *m = u->d->dwfl_addrmodule(u->dwfl, pc);
    if (!m) {
        u->result = UNWIND_UNKNOWN;
        return DWARF_CB_ABORT;
    }
    if (!frame_place(u->d, m, pc, u->text, u->size))
        return DWARF_CB_OK;
    u->result = UNWIND_FOUND;
    return DWARF_CB_ABORT;
}

enum unwind_result unwind_place(struct unwinder *u, const struct spool_rec_stack *r,
                                const void *stack, char *text, size_t size)
{
    static const Dwfl_Thread_Callbacks calls = {.next_thread = next_thread,
                                                .get_thread = get_thread,
                                                .memory_read = read_memory,
                                                .set_initial_registers = set_registers};
    u->r = r;
    u->bytes = stack;
    u->text = text;
    u->size = size;
    u->frames = 0;
    u->result = UNWIND_NOTHING;
    if (!u->attached)
        u->attached = u->d->dwfl_attach_state(u->dwfl, NULL, u->pid, &calls, u);
    if (u->attached)
        u->d->dwfl_getthread_frames(u->dwfl, u->pid, see_frame, u);
    return u->result;
}

struct unwinder *unwind_open(int pid, const char *maps, size_t size)
{
    static const Dwfl_Callbacks calls = {.find_elf = find_elf, .find_debuginfo = find_debuginfo};
    const struct libdw *d = libdw();
    struct unwinder *u = d ? calloc(1, sizeof *u) : NULL;
    if (!u)
        return NULL;
    u->d = d;
    u->pid = pid;
    u->dwfl = d->dwfl_begin(&calls);
    if (!u->dwfl) {
        free(u);
        return NULL;
    }
    unwind_reload(u, maps, size);
    return u;
}

void unwind_close(struct unwinder *u)
{
    if (!u)
        return;
    u->d->dwfl_end(u->dwfl);
    free(u);
}
#else
const char *unwind_missing(void)
{
    return "gpuprof was built without libdw (package libdw-dev)";
}

struct unwinder *unwind_open(int pid, const char *maps, size_t size)
{
    (void)pid;
    (void)maps;
    (void)size;
    return NULL;
}

void unwind_reload(struct unwinder *u, const char *maps, size_t size)
{
    (void)u;
    (void)maps;
    (void)size;
}

void unwind_close(struct unwinder *u)
{
    (void)u;
}

enum unwind_result unwind_place(struct unwinder *u, const struct spool_rec_stack *r,
                                const void *stack, char *text, size_t size)
{
    (void)u;
    (void)r;
    (void)stack;
    (void)text;
    (void)size;
    return UNWIND_NOTHING;
}
#endif
