/* The trainers' input pipeline: the order of samples, the same samples for every number of workers,
 * labels, pixels. */
#include "tests/unit/test.h"
#include "reference_workloads/common/loader.h"

#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, IMAGE = 32, SIDE = 24, CLASSES = 5, SLOTS = 4, BATCHES = 12 };

static uint64_t hash(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

/* Loads BATCHES batches and leaves a hash of each in `out`. */
static void load(int workers, int float_pixels, enum loader_data data, uint64_t *out)
{
    struct jpeg_set set;
    void *slots[SLOTS];
    jpeg_set_make(&set, 16, SIDE, CLASSES, 7);
    struct loader_config c = {&set, BATCH, IMAGE, float_pixels, data, workers, SLOTS, 3, 0};
    for (int i = 0; i < SLOTS; i++)
        slots[i] = calloc(1, loader_slot_bytes(&c));
    struct loader *l = loader_open(&c, slots);
    for (int i = 0; i < BATCHES; i++) {
        struct loader_batch b = loader_next(l);
        out[i] = hash(b.pixels, b.bytes);
        for (int k = 0; k < BATCH; k++)
            ck_assert_int_lt(b.labels[k], CLASSES);
        if (i >= 2)
            loader_release(l);
    }
    loader_close(l);
    jpeg_set_free(&set);
    for (int i = 0; i < SLOTS; i++)
        free(slots[i]);
}

TEST_EACH(batches_are_the_same_for_every_number_of_workers, 0, 2)
{
    uint64_t alone[BATCHES], many[BATCHES];
    load(0, _i, LOADER_JPEG, alone);
    for (int workers = 1; workers < 6; workers += 2) {
        load(workers, _i, LOADER_JPEG, many);
        ck_assert_mem_eq(alone, many, sizeof alone);
    }
    ck_assert_uint_ne(alone[0], alone[1]);
}

TEST_EACH(fixed_data_repeats_its_slots, 0, 3)
{
    uint64_t seen[BATCHES];
    load(_i, 0, LOADER_FIXED, seen);
    for (int i = SLOTS; i < BATCHES; i++)
        ck_assert_uint_eq(seen[i], seen[i - SLOTS]);
    ck_assert_uint_ne(seen[0], seen[1]);
}

TEST(pictures_survive_compression)
{
    struct jpeg_set set;
    jpeg_set_make(&set, 10, 64, CLASSES, 7);
    struct jpeg_decoder *d = jpeg_decoder_new(&set);
    for (int i = 0; i < set.count; i++) {
        ck_assert_int_eq(set.at[i].label, i % CLASSES);
        const unsigned char *rgb = jpeg_decode(d, i);
        int low = 255, high = 0;
        for (int k = 0; k < 64 * 64 * 3; k++) {
            low = rgb[k] < low ? rgb[k] : low;
            high = rgb[k] > high ? rgb[k] : high;
        }
        ck_assert_int_gt(high - low, 100); /* stripes, not a plain surface */
    }
    jpeg_decoder_free(d);
    jpeg_set_free(&set);
}
