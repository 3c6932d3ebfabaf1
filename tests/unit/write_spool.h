/* Writes spool files by hand, in the layout of wire/spool_format.h, for tests of the collector.
 * They are small: four buffers and two rings of a page each. The writer maps the file as an agent
 * does, so a test can write while the collector reads. Nothing is checked that a test may want to
 * break. */
#ifndef GPUPROF_TESTS_WRITE_SPOOL_H
#define GPUPROF_TESTS_WRITE_SPOOL_H

#include "wire/spool_format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    SPOOL_TEST_BUFFERS = 4,
    SPOOL_TEST_RINGS = 2,
    SPOOL_TEST_BYTES = 4096,
    SPOOL_TEST_NAMES = 64
};

struct spool_writer {
    struct spool_header *h;
    uint8_t *map;
    char path[256];
    uint64_t seq;
};

/* When a process started, in clock ticks: the agent writes it so that a reused pid is
 * recognised. */
static inline uint64_t spool_ticks(int pid)
{
    char path[64], text[1024] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    char *p = strrchr(text, ')');
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    return p ? strtoull(p + 1, NULL, 10) : 0;
}

/* Sets the record sizes of CUPTI 13.0, in bytes, for the kinds that the collector reads. */
static inline void spool_strides(struct spool_header *h)
{
    static const uint16_t sizes[][2] = {{1, 96},  {2, 88},  {3, 216},  {4, 40},  {5, 40},
                                        {8, 184}, {9, 32},  {10, 216}, {17, 56}, {22, 96},
                                        {36, 56}, {37, 24}, {38, 56},  {51, 56}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        h->stride[sizes[i][0]] = sizes[i][1];
}

static inline struct spool_writer spool_begin_sized(const char *path, int pid, uint64_t ticks,
                                                    uint32_t buffer_bytes)
{
    struct spool_writer w = {0};
    snprintf(w.path, sizeof w.path, "%s", path);
    uint64_t at = (sizeof(struct spool_header) + 4095) / 4096 * 4096;
    struct spool_header h = {.version = SPOOL_VERSION,
                             .header_bytes = sizeof h,
                             .pid = pid,
                             .ppid = 1,
                             .start_ticks = ticks,
                             .buffer_count = SPOOL_TEST_BUFFERS,
                             .buffer_bytes = buffer_bytes,
                             .ring_count = SPOOL_TEST_RINGS,
                             .ring_bytes = SPOOL_TEST_BYTES,
                             .names_cap = SPOOL_TEST_NAMES,
                             .anchors_cap = SPOOL_ANCHORS,
                             .strings_cap = SPOOL_TEST_BYTES,
                             .cupti_version = 130001};
    struct {
        uint64_t *off, bytes;
    } parts[] = {{&h.descs_off, 4096},
                 {&h.rings_off, 4096},
                 {&h.names_off, 4096},
                 {&h.strings_off, SPOOL_TEST_BYTES},
                 {&h.buffers_off, (uint64_t)SPOOL_TEST_BUFFERS * buffer_bytes},
                 {&h.ring_data_off, (uint64_t)SPOOL_TEST_RINGS * SPOOL_TEST_BYTES}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i].off = at;
        at += parts[i].bytes;
    }
    h.file_bytes = at;
    spool_strides(&h);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)at) < 0)
        abort();
    w.map = mmap(NULL, at, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (w.map == MAP_FAILED)
        abort();
    w.h = (struct spool_header *)(void *)w.map;
    memcpy(w.map, &h, sizeof h);
    atomic_store(&w.h->strings_used, 16); /* id 0 is the empty text */
    atomic_store(&w.h->rings_used, SPOOL_TEST_RINGS);
    return w;
}

static inline struct spool_writer spool_begin(const char *path, int pid, uint64_t ticks)
{
    return spool_begin_sized(path, pid, ticks, SPOOL_TEST_BYTES);
}

/* Marks the spool as complete: from now on the collector accepts it. */
static inline void spool_ready(struct spool_writer *w)
{
    memcpy(w->h->magic, SPOOL_MAGIC, sizeof w->h->magic);
}

static inline void spool_end(struct spool_writer *w)
{
    munmap(w->map, w->h->file_bytes);
}

static inline uint32_t spool_text(struct spool_writer *w, const char *text)
{
    uint64_t at = atomic_load(&w->h->strings_used), n = strlen(text);
    if (at + 8 + n + 8 > SPOOL_TEST_BYTES)
        abort();
    struct spool_string *s = (struct spool_string *)(void *)(w->map + w->h->strings_off + at);
    memcpy(s + 1, text, n);
    atomic_store(&s->length, (uint32_t)n);
    atomic_store(&w->h->strings_used, at + (8 + n + 1 + 7) / 8 * 8);
    return (uint32_t)(at / 8);
}

static inline void spool_add_name(struct spool_writer *w, uint64_t pointer, const char *text)
{
    uint32_t i = atomic_load(&w->h->names_used);
    struct spool_name *names = (struct spool_name *)(void *)(w->map + w->h->names_off);
    names[i] = (struct spool_name){pointer, spool_text(w, text), 0};
    atomic_store(&w->h->names_used, i + 1);
}

static inline void spool_anchor(struct spool_writer *w, int64_t monotonic, int64_t cupti)
{
    uint32_t head = atomic_load(&w->h->anchors_head);
    w->h->anchors[head % SPOOL_ANCHORS] = (struct spool_anchor){monotonic, cupti, cupti, 100};
    atomic_store(&w->h->anchors_head, head + 1);
}

/* ---- buffers */

static inline struct spool_buffer_desc *spool_desc(struct spool_writer *w, int i)
{
    return (struct spool_buffer_desc *)(void *)(w->map + w->h->descs_off) + i;
}

static inline uint8_t *spool_buffer(struct spool_writer *w, int i)
{
    return w->map + w->h->buffers_off + (uint64_t)i * w->h->buffer_bytes;
}

/* Appends a zeroed record of `kind` to buffer i at *at. */
static inline uint8_t *spool_record(struct spool_writer *w, int i, uint64_t *at, uint32_t kind)
{
    uint8_t *r = spool_buffer(w, i) + *at;
    *at += w->h->stride[kind];
    memcpy(r, &kind, 4);
    return r;
}

static inline void spool_set(uint8_t *record, uint32_t offset, uint64_t value, uint32_t bytes)
{
    memcpy(record + offset, &value, bytes);
}

static inline void spool_state(struct spool_writer *w, int i, enum spool_buffer_state state,
                               uint64_t valid)
{
    atomic_store(&spool_desc(w, i)->valid_bytes, valid);
    atomic_store(&spool_desc(w, i)->seq, ++w->seq);
    atomic_store(&spool_desc(w, i)->state, state);
}

static inline void spool_kernel(struct spool_writer *w, int i, uint64_t *at, int64_t start,
                                int64_t end, uint32_t correlation, uint64_t name)
{
    uint8_t *r = spool_record(w, i, at, 10);
    spool_set(r, 6, 32, 2);
    spool_set(r, 16, (uint64_t)start, 8);
    spool_set(r, 24, (uint64_t)end, 8);
    spool_set(r, 44, 1, 4);  /* context */
    spool_set(r, 48, 13, 4); /* stream */
    spool_set(r, 52, 64, 4);
    spool_set(r, 92, correlation, 4);
    spool_set(r, 104, name, 8);
    if (w->h->stride[10] >= 160)
        spool_set(r, 156, 9, 4); /* graph */
}

static inline void spool_api(struct spool_writer *w, int i, uint64_t *at, uint32_t kind,
                             uint32_t cbid, int64_t start, int64_t end, uint32_t tid,
                             uint32_t correlation)
{
    uint8_t *r = spool_record(w, i, at, kind);
    spool_set(r, 4, cbid, 4);
    spool_set(r, 8, (uint64_t)start, 8);
    spool_set(r, 16, (uint64_t)end, 8);
    spool_set(r, 28, tid, 4);
    spool_set(r, 32, correlation, 4);
}

/* ---- rings */

static inline struct spool_ring *spool_ring_at(struct spool_writer *w, int i)
{
    return (struct spool_ring *)(void *)(w->map + w->h->rings_off) + i;
}

static inline void spool_ring_open(struct spool_writer *w, int i, uint32_t tid)
{
    atomic_store(&spool_ring_at(w, i)->tid, tid);
    atomic_store(&spool_ring_at(w, i)->state, SPOOL_RING_OPEN);
}

/* Appends a record as an agent does; a pad fills the end of the ring if the record does not fit. */
static inline void spool_append(struct spool_writer *w, int i, const void *record, uint16_t size)
{
    struct spool_ring *ring = spool_ring_at(w, i);
    uint8_t *data = w->map + w->h->ring_data_off + (uint64_t)i * w->h->ring_bytes;
    uint64_t head = atomic_load(&ring->head);
    uint32_t at = (uint32_t)(head % w->h->ring_bytes), left = w->h->ring_bytes - at;
    if (left < size) {
        uint16_t pad[4] = {SPOOL_REC_PAD, (uint16_t)left};
        memcpy(data + at, pad, sizeof pad);
        head += left;
        at = 0;
    }
    memcpy(data + at, record, size);
    atomic_store(&ring->head, head + size);
}

static inline void spool_meta(struct spool_writer *w, int i, const char *key, const char *value)
{
    struct spool_rec_meta r = {{SPOOL_REC_META, sizeof r, 1, 0, 0}, spool_text(w, key), 0};
    r.value = spool_text(w, value);
    spool_append(w, i, &r, sizeof r);
}

static inline void spool_range(struct spool_writer *w, int i, uint32_t tid, uint32_t name,
                               int64_t start, int64_t end, uint16_t depth)
{
    struct spool_rec_range r = {
        {SPOOL_REC_RANGE, sizeof r, tid, start, end}, name, 0, depth, 0, 0, 0};
    spool_append(w, i, &r, sizeof r);
}

#endif
