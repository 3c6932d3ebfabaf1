/* Which files contain ranks of one run. */
#include "tests/unit/test.h"
#include "analyzer/measure/together.h"

#include <stdio.h>
#include <string.h>

struct sample { /* a file: one process that runs kernels and, unless NULL, an exchange */
    int64_t rank, world, at_ns;
    const char *device, *kernel, *exchange;
};

static struct sink sink;

static uint32_t text(const char *s)
{
    return sink.intern(sink.self, s, strlen(s));
}

static void put(enum row_kind kind, const void *row)
{
    struct err e = ERR_INIT;
    ck_assert_int_eq(sink.put(sink.self, kind, row, &e), 0);
}

static void put_kernel(int64_t process, int64_t id, const char *name, int64_t at_ns)
{
    struct row_kernel k = {.id = id,
                           .process = process,
                           .stream = process,
                           .start_ns = at_ns,
                           .end_ns = at_ns + 1000,
                           .name = text(name)};
    put(ROW_KERNEL, &k);
}

static void put_file(int64_t i, const struct sample *f)
{
    char number[16], kernel[64];
    snprintf(number, sizeof number, "%d", (int)i - 1);
    struct row_process p = {.id = i, .pid = 10 + i, .rank = f->rank, .world_size = f->world};
    put(ROW_PROCESS, &p);
    struct row_meta m = {
        .id = i, .process = i, .key = text(IMPORT_FILE_KEY), .value = text(number)};
    put(ROW_META, &m);
    struct row_device d = {.id = i, .process = i, .name = text(f->device)};
    put(ROW_DEVICE, &d);
    struct row_stream s = {.id = i, .process = i, .device = i, .stream = 7};
    put(ROW_STREAM, &s);
    for (int k = 0; k < 10 && f->kernel; k++) {
        snprintf(kernel, sizeof kernel, "%s_%d", f->kernel, k);
        put_kernel(i, 100 * i + k, kernel, f->at_ns + 2000 * k);
    }
    if (f->exchange)
        put_kernel(i, 100 * i + 10, f->exchange, f->at_ns + 30000);
}

/* Which of the files are taken, as a bit each; why the last is not. */
static unsigned taken(const struct sample *f, size_t n, char *why, size_t size)
{
    struct err e = ERR_INIT;
    struct arena arena = ARENA_INIT;
    struct file_role roles[8];
    struct timeline *t = timeline_new(&e);
    unsigned bits = 0;
    sink = timeline_sink(t);
    for (size_t i = 0; i < n; i++)
        put_file((int64_t)i + 1, &f[i]);
    ck_assert_int_eq(timeline_finish(t, &e), 0);
    int count = together_find(t, &arena, n, roles);
    for (size_t i = 0; i < n; i++)
        bits |= roles[i].taken ? 1u << i : 0;
    ck_assert_int_eq(count, __builtin_popcount(bits));
    snprintf(why, size, "%s", roles[n - 1].why ? roles[n - 1].why : "");
    arena_release(&arena);
    timeline_free(t);
    return bits;
}

#define NCCL "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
static const struct sample rank0 = {0, 2, 0, "NVIDIA A100", "resnet", NCCL};

TEST(test_ranks_of_one_run)
{
    char why[128];
    struct sample f[] = {rank0, rank0, rank0};
    f[1].rank = 1;
    ck_assert_uint_eq(taken(f, 2, why, sizeof why), 3);
    f[0].world = f[1].world = f[0].rank = f[1].rank = -1; /* told by their exchanges alone */
    ck_assert_uint_eq(taken(f, 2, why, sizeof why), 3);
    f[0] = f[1] = rank0;
    f[1].rank = 1;
    f[1].exchange = NULL; /* told by rank and world alone */
    ck_assert_uint_eq(taken(f, 2, why, sizeof why), 3);
}

TEST(test_strangers)
{
    static const struct {
        struct sample f;
        const char *why;
    } strangers[] = {
        {{1, 4, 0, "NVIDIA A100", "resnet", NCCL}, "of a run of 4 ranks, not 2"},
        {{1, 2, 0, "Tesla T4", "resnet", NCCL}, "on another GPU: Tesla T4"},
        {{1, 2, 5000000000, "NVIDIA A100", "resnet", NCCL}, "recorded at another time"},
        {{1, 2, 0, "NVIDIA A100", "gpt", NCCL}, "of another program: its kernels are others"},
        {{0, 2, 0, "NVIDIA A100", "resnet", NCCL}, "rank 0 once more"},
        {{-1, -1, 0, "NVIDIA A100", "resnet", NULL},
         "nothing shows that it exchanges data with the others"},
    };
    char why[128];
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        struct sample f[] = {rank0, strangers[i].f};
        ck_assert_uint_eq(taken(f, 2, why, sizeof why), 1);
        ck_assert_str_eq(why, strangers[i].why);
    }
}

/* A file without work has no time: none is compared with it. */
TEST(test_a_file_without_work)
{
    char why[128];
    struct sample f[] = {rank0, {1, 2, 0, "NVIDIA A100", NULL, NULL}};
    taken(f, 2, why, sizeof why);
    ck_assert(strstr(why, "recorded at another time") == NULL);
}

TEST(test_the_largest_group_is_taken)
{
    char why[128];
    struct sample f[] = {rank0, rank0, rank0, rank0};
    f[0].device = "Tesla T4";
    f[2].rank = 1;
    f[3].device = "Tesla V100";
    ck_assert_uint_eq(taken(f, 4, why, sizeof why), 6);
    ck_assert_str_eq(why, "on another GPU: Tesla V100");
}
