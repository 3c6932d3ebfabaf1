/* Reads a spool file for the agent's suites: the records of all rings, in ring order. */
#ifndef GPUPROF_SPOOL_VIEW_H
#define GPUPROF_SPOOL_VIEW_H

#include "tests/unit/test.h"
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wire/spool_format.h"

#define AGENT_LIBRARY TEST_BUILD_DIR "/lib/libgpuprof_agent.so"

struct spool_view {
    struct spool_header *h;
    size_t bytes;
};

/* A fresh private directory, exported as GPUPROF_DIR. */
static inline void view_dir(char *dir, size_t size)
{
    snprintf(dir, size, "/tmp/gpuprof-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    setenv("GPUPROF_DIR", dir, 1);
}

/* Counts the files in the directory that end in `suffix`; `path` receives the last one. */
static inline int view_files(const char *dir, const char *suffix, char *path, size_t size)
{
    int n = 0;
    DIR *d = opendir(dir);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e; (e = readdir(d));) {
        size_t len = strlen(e->d_name), tail = strlen(suffix);
        if (len > tail && strcmp(e->d_name + len - tail, suffix) == 0) {
            snprintf(path, size, "%s/%s", dir, e->d_name);
            n++;
        }
    }
    closedir(d);
    return n;
}

static inline void view_remove(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

static inline struct spool_view view_open(const char *path)
{
    struct spool_view v = {0};
    struct stat s;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &s), 0);
    v.bytes = (size_t)s.st_size;
    v.h = mmap(NULL, v.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    ck_assert_ptr_ne(v.h, MAP_FAILED);
    ck_assert_str_eq(v.h->magic, SPOOL_MAGIC);
    ck_assert_uint_eq(v.h->version, SPOOL_VERSION);
    ck_assert_uint_eq(v.h->file_bytes, v.bytes);
    return v;
}

static inline void view_close(struct spool_view *v)
{
    munmap(v->h, v->bytes);
}

static inline const char *view_string(const struct spool_view *v, uint32_t id)
{
    return (const char *)v->h + v->h->strings_off + (uint64_t)id * 8 + sizeof(struct spool_string);
}

static inline struct spool_ring *view_ring(const struct spool_view *v, uint32_t i)
{
    return (struct spool_ring *)((char *)v->h + v->h->rings_off) + i;
}

/* Calls see(record, arg) for each unread record except pads, and marks them read. Returns their
 * number. */
static inline uint64_t
view_each(struct spool_view *v, uint16_t kind,
          void (*see)(const struct spool_view *, const struct spool_rec *, void *), void *arg)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < v->h->ring_count; i++) {
        struct spool_ring *r = view_ring(v, i);
        const char *data = (char *)v->h + v->h->ring_data_off + (uint64_t)i * v->h->ring_bytes;
        uint64_t at = atomic_load(&r->tail), head = atomic_load(&r->head);
        while (at < head) {
            const struct spool_rec *rec = (const void *)(data + at % v->h->ring_bytes);
            ck_assert_uint_gt(rec->size, 0);
            ck_assert_uint_eq(rec->size % 8, 0);
            /* A step is a range, too. */
            bool step = kind == SPOOL_REC_RANGE && rec->kind == SPOOL_REC_STEP;
            if (rec->kind == kind || step || (kind == 0 && rec->kind != SPOOL_REC_PAD)) {
                n++;
                if (see)
                    see(v, rec, arg);
            }
            at += rec->size;
        }
        ck_assert_uint_eq(at, head);
    }
    return n;
}

static inline void view_drain(struct spool_view *v)
{
    for (uint32_t i = 0; i < v->h->ring_count; i++)
        atomic_store(&view_ring(v, i)->tail, atomic_load(&view_ring(v, i)->head));
}

#endif
