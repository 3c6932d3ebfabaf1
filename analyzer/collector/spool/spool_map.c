/* Opens a spool file: maps and checks it; looks up strings and names. */
#include "analyzer/collector/spool/spool.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool inside(const struct spool *s, uint64_t off, uint64_t count, uint64_t size)
{
    uint64_t bytes;
    return off % 8 == 0 && !__builtin_mul_overflow(count, size, &bytes) && off <= s->size &&
           bytes <= s->size - off;
}

static bool plausible(const struct spool *s)
{
    const struct spool_header *h = &s->fixed;
    return h->version == SPOOL_VERSION && h->header_bytes <= s->size &&
           h->header_bytes >= sizeof *h && h->buffer_count <= 1 << 16 && h->ring_count <= 1 << 16 &&
           h->ring_bytes >= 4096 && (h->ring_bytes & (h->ring_bytes - 1)) == 0 &&
           h->anchors_cap == SPOOL_ANCHORS &&
           inside(s, h->descs_off, h->buffer_count, sizeof(struct spool_buffer_desc)) &&
           inside(s, h->rings_off, h->ring_count, sizeof(struct spool_ring)) &&
           inside(s, h->names_off, h->names_cap, sizeof(struct spool_name)) &&
           inside(s, h->strings_off, h->strings_cap, 1) &&
           inside(s, h->buffers_off, h->buffer_count, h->buffer_bytes) &&
           inside(s, h->ring_data_off, h->ring_count, h->ring_bytes);
}

/* What a failed open or mmap means: SPOOL_LATER without memory or descriptors, SPOOL_NOT_READY if
 * the file is gone, else -1 with *e set. */
static int refused(int why, const char *path, struct err *e)
{
    if (why == EMFILE || why == ENFILE || why == ENOMEM)
        return SPOOL_LATER;
    return why == ENOENT ? SPOOL_NOT_READY : err_set(e, "cannot read %s", path);
}

int spool_open(struct spool *s, const char *path, struct err *e)
{
    struct stat st;
    *s = (struct spool){0};
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return refused(errno, path, e);
    bool ready = fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(struct spool_header);
    s->size = (size_t)st.st_size;
    s->map = ready ? mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    int why = errno;
    close(fd); /* closed, because hundreds of processes may exist at once */
    if (s->map == MAP_FAILED) {
        s->map = NULL;
        return ready ? refused(why, path, e) : SPOOL_NOT_READY;
    }
    spool_guard_begin(&s->guard, s->map, s->size);
    s->h = (struct spool_header *)(void *)s->map;
    if (memcmp(s->h->magic, SPOOL_MAGIC, sizeof s->h->magic) != 0) {
        spool_close(s);
        return SPOOL_NOT_READY;
    }
    atomic_thread_fence(memory_order_acquire);
    memcpy(&s->fixed, s->map, sizeof s->fixed); /* copied, so that what is checked cannot change */
    s->path = strdup(path);
    if (!s->path || !plausible(s)) {
        spool_close(s);
        return err_set(e, "%s: not a spool of this version", path);
    }
    s->strings = calloc(s->fixed.strings_cap / 8 + 1, sizeof *s->strings);
    s->name_mask = 1023;
    s->name_keys = calloc(s->name_mask + 1u, sizeof *s->name_keys);
    s->name_values = calloc(s->name_mask + 1u, sizeof *s->name_values);
    s->read = calloc(s->fixed.ring_count + 1u, sizeof *s->read);
    s->taken = calloc(s->fixed.buffer_count + 1u, sizeof *s->taken);
    if (!s->strings || !s->name_keys || !s->name_values || !s->read || !s->taken) {
        spool_close(s);
        return SPOOL_LATER;
    }
    s->row = (struct row_process){
        .pid = s->fixed.pid, .ppid = s->fixed.ppid, .rank = -1, .local_rank = -1, .world_size = -1};
    s->near_ns = -1;
    return 0;
}

void spool_unmap(struct spool *s)
{
    if (s->map) {
        spool_guard_end(&s->guard);
        munmap(s->map, s->size);
    }
    free(s->strings);
    free(s->name_keys);
    free(s->name_values);
    free(s->read);
    free(s->taken);
    s->read = NULL;
    s->taken = NULL;
    s->map = NULL;
    s->h = NULL;
    s->strings = s->name_values = NULL;
    s->name_keys = NULL;
}

void spool_close(struct spool *s)
{
    spool_unmap(s);
    spool_free_callers(s);
    keymap_release(&s->lines);
    vec_release(&s->threads);
    vec_release(&s->streams);
    vec_release(&s->devices);
    vec_release(&s->contexts);
    vec_release(&s->anchors);
    vec_release(&s->segments);
    vec_release(&s->clock_gaps);
    vec_release(&s->windows);
    vec_release(&s->silences);
    vec_release(&s->waits_held);
    vec_release(&s->blocks);
    free(s->path);
    *s = (struct spool){0};
}

enum { EMULATED_TICKS = 200 }; /* 2 s */

/* Start time from field 22 of /proc/PID/stat; 0: there is no such process, or it is a zombie.
 * *unknown: it could not be read, for lack of descriptors or memory. */
static uint64_t start_ticks(int pid, bool *unknown)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    *unknown = n < 0 && errno != ENOENT && errno != ESRCH;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    char *p = strrchr(text, ')'); /* the name may contain spaces and brackets */
    if (!p || p[1] == 0 || p[2] == 'Z' || p[2] == 'X')
        return 0;
    for (int field = 2; field < 22 && p; field++)
        p = strchr(p + 1, ' ');
    return p ? strtoull(p, NULL, 10) : 0;
}

bool spool_has_process(const struct spool *s)
{
    bool unknown = !s->fixed.start_ticks; /* the agent could not read /proc; the
                                             collector cannot either */
    uint64_t ticks = unknown ? 0 : start_ticks(s->fixed.pid, &unknown);
    if (unknown)
        return kill(s->fixed.pid, 0) == 0 || errno == EPERM;
    /* A later process with the same pid started later. Under an emulator of another processor, the
     * start time that the program sees is a little later than the kernel's. */
    return ticks && ticks <= s->fixed.start_ticks && s->fixed.start_ticks - ticks < EMULATED_TICKS;
}

bool spool_alive(const struct spool *s)
{
    return !atomic_load_explicit(&s->h->sealed, memory_order_acquire) && spool_has_process(s);
}

static uint32_t intern(struct spool_out *out, const char *text, size_t n)
{
    uint32_t id = out->sink->intern(out->sink->self, text, n);
    return id == STR_NONE ? 0 : id;
}

uint32_t spool_intern(struct spool_out *out, const char *text)
{
    return intern(out, text, strlen(text));
}

uint32_t spool_source(struct spool_out *out, const char *file, int64_t line)
{
    char text[200];
    return source_line(&out->sources, file, line, text, sizeof text) ? spool_intern(out, text) : 0;
}

/* The text of a string; *n: its length. NULL: no such id, or the string is not finished. */
static const char *entry(const struct spool *s, uint32_t id, uint32_t *n)
{
    uint64_t used = atomic_load_explicit(&s->h->strings_used, memory_order_acquire);
    uint64_t at = (uint64_t)id * 8;
    if (used > s->fixed.strings_cap)
        used = s->fixed.strings_cap;
    if (!id || at + sizeof(struct spool_string) > used)
        return NULL;
    struct spool_string *e = (struct spool_string *)(void *)(s->map + s->fixed.strings_off + at);
    *n = atomic_load_explicit(&e->length, memory_order_acquire);
    return *n && *n <= used - at - sizeof *e ? (const char *)(e + 1) : NULL;
}

uint32_t spool_string(struct spool *s, struct spool_out *out, uint32_t id)
{
    if (id >= s->fixed.strings_cap / 8)
        return 0;
    if (!s->strings[id]) {
        uint32_t n;
        const char *text = entry(s, id, &n);
        if (!text)
            return 0;
        s->strings[id] = intern(out, text, n) + 1;
        if (n > 8 && memcmp(text, "Virtual ", 8) == 0 && memmem(text, n, "gpuprof model", 13))
            s->virtual_name = s->strings[id] - 1;
    }
    return s->strings[id] - 1;
}

void spool_copy_string(const struct spool *s, uint32_t id, char *out, size_t n)
{
    uint32_t length = 0;
    const char *text = id < s->fixed.strings_cap / 8 ? entry(s, id, &length) : NULL;
    size_t used = 0;
    for (; text && used < length && used + 1 < n; used++)
        out[used] = text[used] >= ' ' && text[used] <= '~' ? text[used] : '?';
    out[used] = 0;
}

/* Doubles the hash table of names. -1: out of memory, the table is unchanged. */
static int grow_names(struct spool *s)
{
    uint32_t mask = s->name_mask * 2 + 1;
    uint64_t *keys = calloc(mask + 1u, sizeof *keys);
    uint32_t *values = calloc(mask + 1u, sizeof *values);
    if (!keys || !values) {
        free(keys);
        free(values);
        return -1;
    }
    for (uint32_t i = 0; i <= s->name_mask; i++)
        if (s->name_keys[i]) {
            uint32_t k = (uint32_t)(s->name_keys[i] * 0x9e3779b97f4a7c15u >> 32) & mask;
            while (keys[k])
                k = (k + 1) & mask;
            keys[k] = s->name_keys[i];
            values[k] = s->name_values[i];
        }
    free(s->name_keys);
    free(s->name_values);
    s->name_keys = keys;
    s->name_values = values;
    s->name_mask = mask;
    return 0;
}

/* Reads the entries added to the name table since the last call; a later entry for the same pointer
 * replaces an earlier one. */
void spool_read_names(struct spool *s, struct spool_out *out)
{
    uint32_t used = atomic_load_explicit(&s->h->names_used, memory_order_acquire);
    if (used > s->fixed.names_cap)
        used = s->fixed.names_cap;
    const struct spool_name *table =
        (const struct spool_name *)(const void *)(s->map + s->fixed.names_off);
    for (; s->names_read < used; s->names_read++) {
        uint64_t key = table[s->names_read].pointer;
        if (!key || (s->names_read >= s->name_mask / 2 && grow_names(s) < 0))
            continue;
        uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & s->name_mask;
        while (s->name_keys[i] && s->name_keys[i] != key)
            i = (i + 1) & s->name_mask;
        s->name_keys[i] = key;
        s->name_values[i] = spool_string(s, out, table[s->names_read].string);
    }
}

uint32_t spool_name(struct spool *s, struct spool_out *out, uint64_t pointer, int64_t *unknown)
{
    for (int again = 0; pointer && again < 2; again++) {
        uint32_t i = (uint32_t)(pointer * 0x9e3779b97f4a7c15u >> 32) & s->name_mask;
        for (; s->name_keys[i]; i = (i + 1) & s->name_mask)
            if (s->name_keys[i] == pointer)
                return s->name_values[i];
        spool_read_names(s, out);
    }
    char text[32];
    ++*unknown;
    snprintf(text, sizeof text, "kernel@0x%llx", (unsigned long long)pointer);
    return spool_intern(out, text);
}

int64_t spool_thread_id(struct spool *s, struct spool_out *out, uint32_t tid)
{
    if (s->last_thread < s->threads.n && s->threads.at[s->last_thread].tid == tid)
        return s->threads.at[s->last_thread].id;
    for (size_t i = 0; i < s->threads.n; i++)
        if (s->threads.at[i].tid == tid) {
            s->last_thread = i;
            return s->threads.at[i].id;
        }
    struct spool_thread *t = vec_push(&s->threads);
    if (!t)
        return -1;
    *t = (struct spool_thread){.tid = tid, .id = ++out->ids[ROW_THREAD]};
    s->last_thread = s->threads.n - 1;
    return t->id;
}
