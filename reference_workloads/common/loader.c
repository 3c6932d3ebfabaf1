/* See loader.h. A ticket is the number of a batch; ticket t lives in slot t % slots. A worker takes
 * the next ticket as soon as its slot is free, so at most one batch per worker is in the making,
 * and a slow batch holds up the ones behind it (as in-order loaders do).
 */
#include "reference_workloads/common/loader.h"

#include "reference_workloads/common/check.h"
#include "reference_workloads/common/clock.h"
#include "reference_workloads/common/nvtx.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct loader {
    struct loader_config config;
    void **slots;
    int64_t *ready; /* per slot: ticket that it holds, -1 = none yet */
    int64_t next_ticket, next_out, released;
    bool stop;
    int64_t disk_free_ns; /* when the disk will have served all that was asked of it */
    int disk;             /* a file as large as the largest picture; -1 without disk_mbps */
    pthread_mutex_t lock;
    pthread_cond_t slot_free, batch_ready;
    pthread_t *threads;
    struct maker *own; /* of the calling thread, when there are no workers */
};

/* What one thread needs to make batches. */
struct maker {
    struct jpeg_decoder *decoder;
    float table[3][256]; /* normalised value of a byte, per channel */
    int *source_x;       /* (image) column of the picture for each column of the crop */
};

static struct maker *maker_new(const struct loader_config *c)
{
    /* the usual means and deviations of natural pictures, in units of 0..255 */
    static const float mean[3] = {123.675f, 116.28f, 103.53f};
    static const float deviation[3] = {58.395f, 57.12f, 57.375f};
    struct maker *m = check_alloc(sizeof *m);
    m->decoder = jpeg_decoder_new(c->set);
    m->source_x = check_alloc((size_t)c->image * sizeof *m->source_x);
    for (int ch = 0; ch < 3; ch++)
        for (int v = 0; v < 256; v++)
            m->table[ch][v] = ((float)v - mean[ch]) / deviation[ch];
    return m;
}

static void maker_free(struct maker *m)
{
    jpeg_decoder_free(m->decoder);
    free(m->source_x);
    free(m);
}

static void crop_row_bytes(const struct maker *m, int image, const unsigned char *row,
                           unsigned char *out)
{
    for (int x = 0; x < image; x++, out += 3)
        memcpy(out, row + m->source_x[x], 3);
}

static void crop_row_floats(const struct maker *m, int image, const unsigned char *row, float *out)
{
    for (int x = 0; x < image; x++, out += 3) {
        const unsigned char *p = row + m->source_x[x];
        out[0] = m->table[0][p[0]];
        out[1] = m->table[1][p[1]];
        out[2] = m->table[2][p[2]];
    }
}

/* A random crop of 7/8 of the picture, flipped or not, stretched to image x image by the nearest
 * pixel. A row that repeats the one above is copied. */
static void make_picture(struct maker *m, const struct loader_config *c, const unsigned char *rgb,
                         uint64_t random, unsigned char *out)
{
    int side = c->set->side, crop = side - side / 8, image = c->image;
    int left = (int)(random % (unsigned)(side - crop + 1));
    int top = (int)((random >> 16) % (unsigned)(side - crop + 1));
    bool flip = (random >> 32) & 1;
    for (int x = 0; x < image; x++) {
        int column = left + x * crop / image;
        m->source_x[flip ? image - 1 - x : x] = 3 * column;
    }
    size_t row_bytes = (size_t)image * 3 * (c->float_pixels ? sizeof(float) : 1);
    int last = -1;
    for (int y = 0; y < image; y++, out += row_bytes) {
        int line = top + y * crop / image;
        const unsigned char *row = rgb + (size_t)line * (size_t)side * 3;
        if (line == last)
            memcpy(out, out - row_bytes, row_bytes);
        else if (c->float_pixels)
            crop_row_floats(m, image, row, (float *)(void *)out);
        else
            crop_row_bytes(m, image, row, out);
        last = line;
    }
}

static size_t pixel_bytes(const struct loader_config *c)
{
    size_t bytes = (size_t)c->batch * (size_t)c->image * (size_t)c->image * 3;
    bytes *= c->float_pixels ? sizeof(float) : 1;
    return (bytes + 255) & ~(size_t)255;
}

size_t loader_slot_bytes(const struct loader_config *c)
{
    return pixel_bytes(c) + (size_t)c->batch * sizeof(int32_t);
}

/* In memory, of no content: what it takes to read it is up to wait_for_disk. */
static int disk_open(const struct loader_config *c)
{
    size_t largest = 0;
    for (int i = 0; i < c->set->count; i++)
        largest = c->set->at[i].size > largest ? c->set->at[i].size : largest;
    int fd = memfd_create("pictures", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)largest) != 0)
        die(1, "no file for the pictures");
    return fd;
}

/* As if a batch's pictures came from a disk that serves one reader after the other. */
static void wait_for_disk(struct loader *l, size_t bytes)
{
    int64_t now = clock_now_ns(), until;
    pthread_mutex_lock(&l->lock);
    until = (l->disk_free_ns > now ? l->disk_free_ns : now) +
            (int64_t)bytes * 1000 / l->config.disk_mbps;
    l->disk_free_ns = until;
    pthread_mutex_unlock(&l->lock);
    struct timespec t = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
        ;
}

static void read_pictures(struct loader *l, int64_t ticket)
{
    const struct loader_config *c = &l->config;
    size_t bytes = 0;
    char piece[65536];
    for (int i = 0; i < c->batch; i++) {
        uint64_t random = mix64(c->seed + (uint64_t)ticket * (uint64_t)c->batch + (uint64_t)i);
        size_t size = c->set->at[random % (uint64_t)c->set->count].size;
        for (size_t at = 0; at < size; at += sizeof piece)
            if (pread(l->disk, piece, size - at < sizeof piece ? size - at : sizeof piece,
                      (off_t)at) < 0)
                die(1, "cannot read the pictures");
        bytes += size;
    }
    wait_for_disk(l, bytes);
}

static void make_batch(struct loader *l, struct maker *m, int64_t ticket, void *slot)
{
    const struct loader_config *c = &l->config;
    unsigned char *out = slot;
    int32_t *labels = (int32_t *)(void *)(out + pixel_bytes(c));
    size_t bytes = (size_t)c->image * (size_t)c->image * 3 * (c->float_pixels ? sizeof(float) : 1);
    nvtx_push("data.decode");
    if (c->disk_mbps)
        read_pictures(l, ticket);
    for (int i = 0; i < c->batch; i++) {
        uint64_t random = mix64(c->seed + (uint64_t)ticket * (uint64_t)c->batch + (uint64_t)i);
        int picture = (int)(random % (uint64_t)c->set->count);
        const unsigned char *rgb = jpeg_decode(m->decoder, picture);
        make_picture(m, c, rgb, mix64(random), out + (size_t)i * bytes);
        labels[i] = c->set->at[picture].label;
    }
    nvtx_pop();
}

/* The slot of `ticket` holds it already when data is fixed and the ring has gone round once. */
static bool filled_before(const struct loader *l, int64_t ticket)
{
    return l->config.data == LOADER_FIXED && ticket >= l->config.slots;
}

static void *worker(void *argument)
{
    struct loader *l = argument;
    struct maker *m = maker_new(&l->config);
    nvtx_name_thread("loader");
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (!l->stop && l->next_ticket >= l->released + l->config.slots)
            pthread_cond_wait(&l->slot_free, &l->lock);
        if (l->stop)
            break;
        int64_t ticket = l->next_ticket++;
        int slot = (int)(ticket % l->config.slots);
        pthread_mutex_unlock(&l->lock);
        if (!filled_before(l, ticket))
            make_batch(l, m, ticket, l->slots[slot]);
        pthread_mutex_lock(&l->lock);
        l->ready[slot] = ticket;
        pthread_cond_broadcast(&l->batch_ready);
    }
    pthread_mutex_unlock(&l->lock);
    maker_free(m);
    return NULL;
}

struct loader *loader_open(const struct loader_config *c, void **slots)
{
    struct loader *l = check_alloc(sizeof *l);
    l->config = *c;
    l->disk = c->disk_mbps ? disk_open(c) : -1;
    l->slots = check_alloc((size_t)c->slots * sizeof *l->slots);
    l->ready = check_alloc((size_t)c->slots * sizeof *l->ready);
    for (int i = 0; i < c->slots; i++) {
        l->slots[i] = slots[i];
        l->ready[i] = -1;
    }
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->slot_free, NULL);
    pthread_cond_init(&l->batch_ready, NULL);
    if (c->workers == 0)
        l->own = maker_new(&l->config);
    l->threads = check_alloc((size_t)c->workers * sizeof *l->threads);
    for (int i = 0; i < c->workers; i++)
        if (pthread_create(&l->threads[i], NULL, worker, l) != 0)
            die(1, "no thread for worker %d of %d", i + 1, c->workers);
    return l;
}

struct loader_batch loader_next(struct loader *l)
{
    int64_t ticket = l->next_out++;
    int slot = (int)(ticket % l->config.slots);
    if (l->own) {
        if (!filled_before(l, ticket))
            make_batch(l, l->own, ticket, l->slots[slot]);
    } else {
        pthread_mutex_lock(&l->lock);
        while (l->ready[slot] != ticket)
            pthread_cond_wait(&l->batch_ready, &l->lock);
        pthread_mutex_unlock(&l->lock);
    }
    unsigned char *at = l->slots[slot];
    return (struct loader_batch){.pixels = at,
                                 .labels = (int32_t *)(void *)(at + pixel_bytes(&l->config)),
                                 .bytes = loader_slot_bytes(&l->config)};
}

void loader_release(struct loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->released++;
    pthread_cond_signal(&l->slot_free);
    pthread_mutex_unlock(&l->lock);
}

void loader_close(struct loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->slot_free);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->config.workers; i++)
        pthread_join(l->threads[i], NULL);
    if (l->own)
        maker_free(l->own);
    if (l->disk >= 0)
        close(l->disk);
    pthread_cond_destroy(&l->slot_free);
    pthread_cond_destroy(&l->batch_ready);
    pthread_mutex_destroy(&l->lock);
    free(l->threads);
    free(l->ready);
    free(l->slots);
    free(l);
}
