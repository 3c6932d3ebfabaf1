/* Fuzzes the reader of a part of a reduction, as it lies on disk. The input is a list of patches to
 * a valid one, as in fuzz_spool.c. The files in it become a job, and each becomes a timeline. */
#include "tests/fuzz/fuzz.h"

#include "analyzer/advice/advice.h"
#include "analyzer/reduce/job.h"

#include <string.h>

enum { RANKS = 3, STEPS = 4 };

static int put_rank(struct job *j, int rank, struct err *e)
{
    char name[32];
    snprintf(name, sizeof name, "rank%d.gpuprof", rank);
    struct job_file *f = job_add(j, name);
    struct packer *p = f ? pack_open(&f->rows, e) : NULL;
    if (!p)
        return -1;
    struct sink sink = pack_sink(p);
    struct row_process process = {.id = 1,
                                  .pid = 100 + rank,
                                  .rank = rank,
                                  .start_ns = 0,
                                  .end_ns = 1000 * STEPS,
                                  .sealed = 1};
    uint32_t step = sink.intern(sink.self, "step", 4),
             reduce = sink.intern(sink.self, "AllReduce", 9);
    int rc = sink.put(sink.self, ROW_PROCESS, &process, e);
    for (int64_t i = 0; rc == 0 && i < STEPS; i++) {
        struct row_range r = {.id = i + 1,
                              .process = 1,
                              .thread = 1,
                              .name = step,
                              .start_ns = 1000 * i,
                              .end_ns = 1000 * i + 900};
        struct row_collective c = {.id = i + 1,
                                   .process = 1,
                                   .thread = 1,
                                   .start_ns = 1000 * i + 500,
                                   .end_ns = 1000 * i + 600,
                                   .name = reduce,
                                   .kernel = -1,
                                   .communicator = 7,
                                   .sequence = i,
                                   .bytes = 1024,
                                   .ranks = RANKS,
                                   .rank = rank,
                                   .root = -1,
                                   .group_name = reduce};
        rc = sink.put(sink.self, ROW_RANGE, &r, e) || sink.put(sink.self, ROW_COLLECTIVE, &c, e);
    }
    pack_close(p);
    return rc;
}

static int whole(struct bytes *b, struct err *e)
{
    struct job j = {0};
    int rc = 0;
    for (int rank = 0; rc == 0 && rank < RANKS; rank++)
        rc = put_rank(&j, rank, e);
    for (size_t i = 0; rc == 0 && i < j.files.n; i++)
        rc = job_put_file(&j, &j.files.at[i], b, e);
    job_release(&j);
    return rc;
}

static void patch(struct bytes *b, const uint8_t *data, size_t size)
{
    while (size > 3) {
        size_t at = (data[0] | (size_t)data[1] << 8) % b->n,
               n = data[2] < size - 3 ? data[2] : size - 3;
        memcpy(b->at + at, data + 3, n < b->n - at ? n : b->n - at);
        data += 3 + n;
        size -= 3 + n;
    }
}

static void analyse(const struct job *j, const struct job_file *f)
{
    struct err e = ERR_INIT;
    struct bytes room = {0};
    const struct bytes *rows = job_rows(j, f, &room, &e);
    struct timeline *t = rows ? timeline_new(&e) : NULL;
    if (t) {
        struct sink sink = timeline_sink(t);
        if (unpack_rows(rows, &sink, &e) == 0 && timeline_finish(t, &e) == 0)
            advice_free(advise(t, &e));
    }
    timeline_free(t);
    bytes_release(&room);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = ERR_INIT;
    struct bytes b = {0};
    struct job j = {0};
    struct arena arena = ARENA_INIT;
    const char *left_out = NULL;
    size_t at = 0, focus = 0;
    int rc = whole(&b, &e);
    if (rc == 0)
        patch(&b, data, size);
    while (rc == 0 && at < b.n && job_get_file(&j, &b, &at) > 0)
        ;
    if (rc == 0 && j.files.n && job_sort_out(&j, &arena, &left_out, &focus, &e) == 0)
        for (size_t i = 0; i < j.files.n; i++)
            analyse(&j, &j.files.at[i]);
    arena_release(&arena);
    job_release(&j);
    bytes_release(&b);
    return 0;
}
