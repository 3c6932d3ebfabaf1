/* bench_import TRACE.json[.gz]...: measures the stages of reading a trace. Each row adds one stage:
 * unpacking, reading JSON tokens, rows, timeline, analysis, predictions; the last row is the import
 * into a profile. All stages run in one call, so that the machine's speed cancels out. With --ranks
 * all files are the ranks of one recording; otherwise each file is measured by itself. Each figure
 * is the median of five runs, each in a process of its own; the memory is the process's peak. If
 * simdjson is installed, the time of zlib and simdjson's on-demand reader for the same files is the
 * yardstick: the aims are multiples of it, and the exit status is 1 if one is missed. */
#include "analyzer/advice/advice.h"
#include "analyzer/import/import.h"
#include "analyzer/profile/store.h"
#include "base/json_read.h"
#ifdef GPUPROF_PEER
#include "bench/import_peer.h"
#endif

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
            return err_set(e, "cannot open %s", in->paths[i]);
        gzbuffer(f, GZIP_BUFFER);
        int rc = read(f);
        gzclose(f);
        if (rc < 0)
            return err_set(e, "cannot read %s", in->paths[i]);
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

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#ifdef GPUPROF_PEER
static char *whole_text;
static size_t whole_n, whole_cap;

static int read_whole(gzFile f)
{
    int n;
    whole_n = 0;
    do {
        if (whole_cap - whole_n < 2 * (size_t)GZIP_BUFFER + peer_padding()) {
            whole_cap = whole_cap * 2 + 4 * (size_t)GZIP_BUFFER + peer_padding();
            whole_text = realloc(whole_text, whole_cap);
            if (!whole_text)
                return -1;
        }
        n = gzread(f, whole_text + whole_n, GZIP_BUFFER);
        whole_n += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    return n < 0 || peer_read(whole_text, whole_n) < 0 ? -1 : 0;
}

static int peer(const struct input *in, struct err *e)
{
    return each_file(in, read_whole, e);
}
#endif

enum depth { TIMELINE, ANALYSED, PREDICTED };

static int load(const struct input *in, enum depth depth, struct err *e)
{
    struct timeline *t = timeline_new(e);
    if (!t)
        return -1;
    struct sink sink = timeline_sink(t);
    int rc = import_paths(in->paths, in->n, &sink, e) < 0 || timeline_finish(t, e) < 0 ? -1 : 0;
    if (rc == 0 && depth >= ANALYSED) {
        struct advice *a = depth == PREDICTED ? advise_predicted(t, NULL, e) : advise(t, e);
        rc = a ? 0 : -1;
        advice_free(a);
    }
    timeline_free(t);
    return rc;
}

static int timeline_only(const struct input *in, struct err *e)
{
    return load(in, TIMELINE, e);
}

static int everything(const struct input *in, struct err *e)
{
    return load(in, ANALYSED, e);
}

static int predicted(const struct input *in, struct err *e)
{
    return load(in, PREDICTED, e);
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

/* Runs one stage once, in a process of its own. */
static int measure_once(stage *s, const struct input *in, struct cost *c)
{
    struct rusage used;
    int status;
    double start = now_s();
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
    *c = (struct cost){now_s() - start, used.ru_maxrss};
    return 0;
}

static int by_seconds(const void *a, const void *b)
{
    const struct cost *x = a, *y = b;
    return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

static const struct row {
    const char *what;
    stage *run;
    /* The most allowed, as multiples of the peer's time, for one trace and for several; 0: no
     * aim. */
    double times, of_ranks;
    long mib; /* the most memory allowed for one trace, in MiB; 0: no aim */
} rows[] = {
#ifdef GPUPROF_PEER
    {"zlib + simdjson on demand (peer)", peer, 0, 0, 0},
#endif
    {"unpack (zlib)", unpack, 0, 0, 0},
    {"+ read all tokens", tokenize, 0, 0, 0},
    {"import, rows dropped", rows_only, 0, 0, 0},
    {"+ timeline", timeline_only, 0, 0, 0},
    {"+ analysis", everything, 3, 2.5, 0},
    {"+ predictions = gpuprof analyze", predicted, 15, 0, 0},
    {"import into a profile", into_profile, 3.5, 0, 80},
};

/* Prints a row. Returns 1 if it misses an aim. */
static int tell(const struct row *r, const struct cost *c, double least_s, double peer_s, bool one)
{
    double mib = (double)c->peak_kib / 1024;
    double times = peer_s <= 0 ? 0 : one ? r->times : r->of_ranks;
    bool slow = times > 0 && c->seconds > times * peer_s;
    bool large = peer_s > 0 && one && r->mib && mib > (double)r->mib;
    printf("  %-34s %9.3f %9.3f ", r->what, c->seconds, least_s);
    if (peer_s > 0)
        printf("%9.2f", c->seconds / peer_s);
    else
        printf("%9s", "");
    printf(" %8.0f", mib);
    if (times > 0)
        printf("  at most %g x", times);
    if (peer_s > 0 && one && r->mib)
        printf(", %ld MiB", r->mib);
    printf("%s\n", slow || large ? "  MISSED" : "");
    fflush(stdout);
    return slow || large;
}

/* Returns 0, 1 if an aim is missed, -1 if a stage fails. */
static int measure(const char *title, const struct input *in)
{
    double peer_s = 0;
    int missed = 0;
    printf("%s\n  %-34s %9s %9s %9s %8s\n", title, "", "median s", "min s", "x peer", "MiB");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cost c[RUNS];
        for (int k = 0; k < RUNS; k++)
            if (measure_once(rows[i].run, in, &c[k]) < 0)
                return -1;
        qsort(c, RUNS, sizeof *c, by_seconds);
#ifdef GPUPROF_PEER
        if (rows[i].run == peer)
            peer_s = c[RUNS / 2].seconds;
#endif
        missed |= tell(&rows[i], &c[RUNS / 2], c[0].seconds, peer_s, in->n == 1);
    }
    return missed;
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
    int bad = 0;
    for (size_t i = 0; i < n && !together; i++) {
        const struct input one = {(const char *const *)&files[i], 1};
        bad |= measure(files[i], &one) != 0;
    }
    const struct input all = {(const char *const *)files, n};
    if (together)
        bad = measure("all files as ranks of one recording", &all) != 0;
    return bad;
}
