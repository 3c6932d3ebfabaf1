/* Fuzzes the adoption of a killed process's spool. The input is a list of patches to a valid spool:
 * four bytes of offset, one byte of length, and that many bytes. */
#include "tests/fuzz/fuzz.h"

#include "analyzer/advice/advice.h"
#include "analyzer/collector/collect.h"
#include "tests/unit/write_spool.h"

#include <sys/stat.h>

enum { DEAD = 2147483000, START = 1000000 }; /* a pid that the kernel never gives out */
static const int64_t epoch = 1700000000000000000;

static void fill(struct spool_writer *w)
{
    uint64_t at = 0;
    spool_anchor(w, START, epoch + START);
    spool_add_name(w, 0x1000, "_Z4gemmv");
    for (uint32_t i = 0; i < 6; i++) {
        int64_t t = epoch + START + 10000 * i;
        spool_api(w, 0, &at, 4, 211, t, t + 3000, 9, i + 1);
        spool_kernel(w, 0, &at, t + 4000, t + 9000, i + 1, 0x1000);
    }
    spool_state(w, 0, SPOOL_COMPLETE, at);
    spool_ring_open(w, 0, 9);
    uint32_t name = spool_text(w, "step");
    for (int i = 0; i < 6; i++)
        spool_range(w, 0, 9, name, START + 10000 * i, START + 10000 * (i + 1), 0);
    spool_meta(w, 0, "command", "./train");
    spool_ready(w);
}

static void patch(struct spool_writer *w, const uint8_t *data, size_t size)
{
    uint64_t bytes = w->h->file_bytes;
    while (size > 5) {
        uint32_t at;
        memcpy(&at, data, 4);
        size_t n = data[4] < size - 5 ? data[4] : size - 5;
        at %= (uint32_t)bytes;
        memcpy(w->map + at, data + 5, n < bytes - at ? n : bytes - at);
        data += 5 + n;
        size -= 5 + n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = ERR_INIT;
    char dir[64], path[96];
    snprintf(dir, sizeof dir, "/dev/shm/gpuprof-fuzz-spool-%d", getpid());
    snprintf(path, sizeof path, "%s/a.spool", dir);
    mkdir(dir, 0700);
    struct spool_writer w = spool_begin(path, DEAD, 1);
    uint64_t mapped = w.h->file_bytes;
    fill(&w);
    patch(&w, data, size);
    munmap(w.map, mapped);
    struct timeline *t = timeline_new(&e);
    struct collector *c = t ? collect_open(dir, START, timeline_sink(t), &e) : NULL;
    if (c && collect_drain(c, &e) >= 0 && collect_finish(c, &e) == 0 && timeline_finish(t, &e) == 0)
        advice_free(advise(t, &e));
    if (c)
        collect_close(c);
    timeline_free(t);
    unlink(path);
    rmdir(dir);
    return 0;
}
