/* bench_import TRACE.json[.gz]...: what each stage of reading traces costs, one more stage a row,
 * all in one run, so that a machine's speed cancels out: unpacking, reading JSON tokens, the rows,
 * the timeline, the analysis; and the import into a profile. With --ranks all files are the ranks
 * of one recording, else each is measured by itself. Each figure is the median of five processes of
 * their own; the memory is their peak. */
#include "analyzer/analyze/analysis.h"
#include "analyzer/base/json_read.h"
#include "analyzer/import/import.h"
#include "analyzer/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { RUNS = 5, MAX_TOKEN = 64 << 20, GZIP_BUFFER = 256 << 10 };

struct input {
    const char *const *paths;
    size_t n;
};

typedef int stage(const struct input *in, struct err *e);

static ssize_t fill(void *ctx, void *buf, size_t n)
{
    return gzread(ctx, buf, (unsigned)(n > 1 << 20 ? 1 << 20 : n));
}

static int each_file(const struct input *in, int (*read)(gzFile f), struct err *e)
{
    for (size_t i = 0; i < in->n; i++) {
        gzFile f = gzopen(in->paths[i], "rb");
        if (!f)
            return err_set(e, "%s: cannot be opened", in->paths[i]);
        gzbuffer(f, GZIP_BUFFER);
        int rc = read(f);
        gzclose(f);
        if (rc < 0)
            return err_set(e, "%s: cannot be read", in->paths[i]);
    }
    return 0;
}

static int drain(gzFile f)
{
    static char buf[GZIP_BUFFER];
    int n;
    while ((n = gzread(f, buf, sizeof buf)) > 0)
        ;
    return n;
}

static int tokens(gzFile f)
{
    struct json_reader r;
    enum json_token t;
    if (json_read_open(&r, fill, f, MAX_TOKEN) < 0)
        return -1;
    while ((t = json_next(&r)) > JSON_END)
        ;
    json_read_close(&r);
    return t == JSON_END ? 0 : -1;
}

static int unpack(const struct input *in, struct err *e)
{
    return each_file(in, drain, e);
}

static int tokenize(const struct input *in, struct err *e)
{
    return each_file(in, tokens, e);
}

static uint32_t no_intern(void *self, const char *s, size_t n)
{
    (void)self;
    (void)s;
    (void)n;
    return 1;
}

static int no_put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    (void)self;
    (void)kind;
    (void)row;
    (void)e;
    return 0;
}

static int rows_only(const struct input *in, struct err *e)
{
    struct sink nowhere = {.intern = no_intern, .put = no_put};
    return import_paths(in->paths, in->n, &nowhere, e);
}

static int load(const struct input *in, bool analysed, struct err *e)
{
    struct timeline *t = timeline_new(e);
    if (!t)
        return -1;
    struct sink sink = timeline_sink(t);
    int rc = import_paths(in->paths, in->n, &sink, e) < 0 || timeline_finish(t, e) < 0 ? -1 : 0;
    if (rc == 0 && analysed) {
        struct analysis *a = analyze(t, e);
        rc = a ? 0 : -1;
        analysis_free(a);
    }
    timeline_free(t);
    return rc;
}

static int timeline_only(const struct input *in, struct err *e)
{
    return load(in, false, e);
}

static int everything(const struct input *in, struct err *e)
{
    return load(in, true, e);
}

static int into_profile(const struct input *in, struct err *e)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/bench-import-%d.gpuprof", (int)getpid());
    struct store *s = store_create(path, 1, e);
    if (!s)
        return -1;
    struct sink sink = store_sink(s);
    int rc = import_paths(in->paths, in->n, &sink, e) < 0 || store_finish(s, e) < 0 ? -1 : 0;
    store_close(s);
    unlink(path);
    return rc;
}

struct cost {
    double seconds;
    long peak_kib;
};

/* In a process of its own. */
static int measure_once(stage *s, const struct input *in, struct cost *c)
{
    struct timespec a, b;
    struct rusage used;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &a);
    pid_t pid = fork();
    if (pid == 0) {
        struct err e = ERR_INIT;
        int rc = s(in, &e);
        if (rc < 0)
            fprintf(stderr, "bench_import: %s\n", e.text);
        _exit(rc < 0);
    }
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status != 0)
        return -1;
    clock_gettime(CLOCK_MONOTONIC, &b);
    *c = (struct cost){(double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9,
                       used.ru_maxrss};
    return 0;
}

static int by_seconds(const void *a, const void *b)
{
    const struct cost *x = a, *y = b;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

static int measure(const char *title, const struct input *in)
{
    static const struct {
        const char *what;
        stage *run;
    } stages[] = {{"unpack (zlib)", unpack},
                  {"+ read all tokens", tokenize},
                  {"import, rows dropped", rows_only},
                  {"+ timeline", timeline_only},
                  {"+ analysis = gpuprof analyze", everything},
                  {"import into a profile", into_profile}};
    double base = 0;
    printf("%s\n  %-32s %9s %9s %9s %8s\n", title, "", "median s", "min s", "x tokens", "MiB");
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        struct cost c[RUNS];
        for (int k = 0; k < RUNS; k++)
            if (measure_once(stages[i].run, in, &c[k]) < 0)
                return -1;
        qsort(c, RUNS, sizeof *c, by_seconds);
        double median = c[RUNS / 2].seconds;
        if (stages[i].run == tokenize)
            base = median;
        printf("  %-32s %9.3f %9.3f ", stages[i].what, median, c[0].seconds);
        if (base > 0)
            printf("%9.2f", median / base);
        else
            printf("%9s", "");
        printf(" %8.0f\n", (double)c[RUNS / 2].peak_kib / 1024);
        fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv)
{
    bool together = argc > 1 && strcmp(argv[1], "--ranks") == 0;
    char **files = argv + 1 + together;
    size_t n = (size_t)(argc - 1 - together);
    if (n == 0) {
        fprintf(stderr, "bench_import: name traces: bench_import [--ranks] TRACE.json[.gz]...\n");
        return 2;
    }
    for (size_t i = 0; i < n && !together; i++) {
        const struct input one = {(const char *const *)&files[i], 1};
        if (measure(files[i], &one) < 0)
            return 1;
    }
    const struct input all = {(const char *const *)files, n};
    return together && measure("all files as ranks of one recording", &all) < 0 ? 1 : 0;
}
