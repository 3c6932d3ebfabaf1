/* look DIR: prints what the spools in DIR contain, one line for each fact: `kernels N`, `named N`
 * (kernels whose name is known), `copies N`, `memsets N`, `syncs N`, `api N`, `untimed N`, `ranges
 * N`, `calls N`, `spools N`, `sealed N`, `records N` (all of CUPTI's), `starved N`, `dropped N`,
 * `told N` (records plus dropped ones), `rings left N` (full ones that a thread has left), `full N`
 * (records lost because no ring was free), `health CODE`, `silent for N s`, `cupti_version N`,
 * `libcupti PATH`, `call ...`, `collectives N, N bytes, types N N ...`. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/spool_format.h"

enum { MEMCPY = 1, MEMSET = 2, DRIVER = 4, RUNTIME = 5, KERNEL = 10, SYNC = 38 };

static struct {
    unsigned long records, starved, kernels, named, copies, memsets, syncs, api, untimed, ranges,
        calls, spools, sealed, dropped, collectives, collective_bytes, left, full, made;
} n;
static char types[4096]; /* of the collectives, in order */

static const char *text(const struct spool_header *h, uint32_t id)
{
    return (const char *)h + h->strings_off + (uint64_t)id * 8 + sizeof(struct spool_string);
}

static uint64_t word(const char *p, size_t at)
{
    uint64_t v;
    memcpy(&v, p + at, sizeof v);
    return v;
}

static int has_name(const struct spool_header *h, uint64_t pointer)
{
    const struct spool_name *names = (const void *)((const char *)h + h->names_off);
    for (uint32_t i = atomic_load(&h->names_used); i-- > 0;)
        if (names[i].pointer == pointer)
            return strstr(text(h, names[i].string), "fill") != NULL;
    return 0;
}

static void buffer(const struct spool_header *h, const char *p, uint64_t bytes)
{
    for (uint64_t at = 0; at + 4 <= bytes;) {
        uint32_t kind;
        memcpy(&kind, p + at, sizeof kind);
        if (kind == 0 || kind >= SPOOL_STRIDES || h->stride[kind] == 0)
            return;
        n.records++;
        n.copies += kind == MEMCPY;
        n.memsets += kind == MEMSET;
        n.syncs += kind == SYNC;
        n.api += kind == RUNTIME || kind == DRIVER;
        if (kind == KERNEL) {
            n.kernels++;
            n.named += has_name(h, word(p + at, 104)) != 0;
            n.untimed += word(p + at, 16) == 0 || word(p + at, 24) == 0;
        }
        at += h->stride[kind];
    }
}

static void collective(const struct spool_rec_call *c)
{
    if (c->family != SPOOL_CALL_COLLECTIVE)
        return;
    n.collectives++;
    n.collective_bytes += (unsigned long)c->bytes;
    size_t used = strlen(types);
    snprintf(types + used, sizeof types - used, " %d", c->in_type);
}

/* `call FUNCTION FAMILY types IN WEIGHT OUT COMPUTE layouts IN WEIGHT dims ...` */
static void shape(const struct spool_header *h, const struct spool_rec_call *c)
{
    if (c->family == SPOOL_CALL_COLLECTIVE)
        return;
    printf("call %s %d types %d %d %d %d layouts %d %d dims", text(h, c->function), c->family,
           c->in_type, c->weight_type, c->out_type, c->compute_type, c->in_layout,
           c->weight_layout);
    for (int i = 0; i < 11; i++)
        printf(" %d", c->dim[i]);
    printf("\n");
}

static const struct spool_rec_meta *meta(const struct spool_rec *rec)
{
    return (const struct spool_rec_meta *)rec;
}

static void rings(const struct spool_header *h)
{
    const struct spool_ring *r = (const void *)((const char *)h + h->rings_off);
    for (uint32_t i = 0; i < h->ring_count; i++) {
        const char *data = (const char *)h + h->ring_data_off + (uint64_t)i * h->ring_bytes;
        uint64_t head = atomic_load(&r[i].head), at = atomic_load(&r[i].tail);
        while (at < head) {
            const struct spool_rec *rec = (const void *)(data + at % h->ring_bytes);
            n.ranges += rec->kind == SPOOL_REC_RANGE || rec->kind == SPOOL_REC_STEP;
            n.calls += rec->kind == SPOOL_REC_CALL;
            if (rec->kind == SPOOL_REC_CALL)
                collective((const struct spool_rec_call *)rec);
            if (rec->kind == SPOOL_REC_CALL)
                shape(h, (const struct spool_rec_call *)rec);
            if (rec->kind == SPOOL_REC_META && strstr(text(h, meta(rec)->key), "cupti"))
                printf("%s %s\n", text(h, meta(rec)->key), text(h, meta(rec)->value));
            if (rec->kind == SPOOL_REC_SILENT && rec->end_ns != INT64_MAX)
                printf("silent for %lld s%s\n",
                       (long long)((rec->end_ns - rec->start_ns) / 1000000000),
                       ((const struct spool_rec_silent *)rec)->stepped ? ", steps go on" : "");
            if (rec->kind == SPOOL_REC_HEALTH)
                printf("health %s\n", text(h, ((const struct spool_rec_health *)rec)->code));
            at += rec->size;
        }
    }
}

static void spool(const char *path)
{
    struct stat s;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &s) != 0)
        return;
    char *map = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return;
    const struct spool_header *h = (const void *)map;
    const struct spool_buffer_desc *d = (const void *)(map + h->descs_off);
    n.spools++;
    n.sealed += atomic_load(&h->sealed) != 0;
    n.dropped +=
        atomic_load(&h->counter[SPOOL_CUPTI_DROPPED]) + atomic_load(&h->counter[SPOOL_DISCARDED]);
    n.left += atomic_load(&h->counter[SPOOL_RINGS_LEFT]);
    n.full += atomic_load(&h->counter[SPOOL_RING_FULL]);
    n.starved += atomic_load(&h->counter[SPOOL_BUFFER_STARVED]);
    n.made += atomic_load(&h->counter[SPOOL_BUFFERS_MADE]);
    for (uint32_t i = 0; i < h->buffer_count; i++) {
        uint32_t state = atomic_load(&d[i].state);
        if (state != SPOOL_FREE)
            buffer(h, map + h->buffers_off + (uint64_t)i * h->buffer_bytes,
                   state == SPOOL_OWNED ? h->buffer_bytes : atomic_load(&d[i].valid_bytes));
    }
    rings(h);
    munmap(map, (size_t)s.st_size);
}

int main(int argc, char **argv)
{
    DIR *d = argc > 1 ? opendir(argv[1]) : NULL;
    if (!d)
        return 2;
    for (struct dirent *e; (e = readdir(d));) {
        char path[4096];
        if (!strstr(e->d_name, SPOOL_SUFFIX))
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], e->d_name);
        spool(path);
    }
    closedir(d);
    printf("kernels %lu\nnamed %lu\ncopies %lu\nmemsets %lu\nsyncs %lu\napi %lu\nuntimed %lu\n",
           n.kernels, n.named, n.copies, n.memsets, n.syncs, n.api, n.untimed);
    printf("ranges %lu\ncalls %lu\nspools %lu\nsealed %lu\ndropped %lu\n", n.ranges, n.calls,
           n.spools, n.sealed, n.dropped);
    printf("records %lu\nstarved %lu\ntold %lu\n", n.records, n.starved, n.records + n.dropped);
    printf("rings left %lu\nfull %lu\nbuffers made %lu\n", n.left, n.full, n.made);
    printf("collectives %lu, %lu bytes, types%s\n", n.collectives, n.collective_bytes, types);
    return 0;
}
