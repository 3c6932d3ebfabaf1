/* What the fuzz targets share: the input as a file, its import, the rows of a sound recording, and the
 * analysis of the result. */
#include "tests/fuzz/fuzz.h"

#include "analyzer/advice/advice.h"
#include "analyzer/import/import.h"
#include "analyzer/profile/store.h"
#include "report/export.h"
#include "tests/unit/memory_sink.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int fuzz_import(const struct importer *importer, const uint8_t *data, size_t size)
{
    struct err e = ERR_INIT;
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/gpuprof-fuzz-%d", getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return 0;
    struct timeline *t = write(fd, data, size) == (ssize_t)size ? timeline_new(&e) : NULL;
    if (t) {
        struct sink sink = timeline_sink(t);
        if (importer->read(path, &sink, &e) == 0 && timeline_finish(t, &e) == 0)
            advice_free(advise(t, &e));
        timeline_free(t);
    }
    close(fd);
    unlink(path);
    return 0;
}

const struct memory *fuzz_recording(void)
{
    static struct memory *seed;
    struct err e = ERR_INIT;
    if (seed)
        return seed;
    struct sink out;
    seed = memory_new(&out);
    struct store *s = store_open(FUZZ_SOURCE_DIR "/corpus_profile/windows.sqlite", 0, &e);
    if (!s || store_read(s, &out, &e) < 0) {
        fprintf(stderr, "%s\n", e.text);
        abort();
    }
    store_close(s);
    return seed;
}

/* One of them, told by the input: all together take ten times as long as the rest. */
static void write_one(struct advice *a, size_t which)
{
    struct export_options o = {
        .title = "fuzz", .source = "fuzz", .detail = DETAIL_ALL, .merged_ranks = true};
    const struct exporter *x = exporters[which % exporter_count];
    struct err e = ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    FILE *f = x->analysis ? open_memstream(&text, &n) : NULL;
    if (!f)
        return;
    x->analysis(a, &o, f, &e);
    fclose(f);
    free(text);
}

void fuzz_answer(struct timeline *t, bool predicted, size_t which)
{
    struct err e = ERR_INIT;
    struct advice *a = NULL;
    if (timeline_finish(t, &e) == 0)
        a = predicted ? advise_predicted(t, NULL, &e) : advise(t, &e);
    if (!a)
        return;
    write_one(a, which);
    advice_free(a);
}
