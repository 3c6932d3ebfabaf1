/* Chooses the importer of a file by its first bytes, and pours several files (ranks) into one sink,
 * whose ids it shifts so that they do not collide. */
#include "analyzer/import/import.h"

#include "analyzer/profile/place.h"
#include "analyzer/profile/tables.h"
#include "base/plain.h"
#include "base/str.h"
#include "base/vec.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

extern const struct importer *const importers[];
extern const size_t importer_count;

enum { HEAD = 4096, MAX_FILES = 8192, MAX_LOOKED = 100000 };

#define XPLANE                                                                                     \
    "gpuprof reads XLA's profile as the trace that xprof makes of it (pip install xprof): "        \
    "python3 "                                                                                     \
    "-c \"from xprof.convert import raw_to_tool_data as r; open('trace.json', 'w').write("         \
    "r.xspace_to_tool_data(['FILE'], 'trace_viewer', {})[0])\""
#define PERFETTO                                                                                   \
    "a trace in Perfetto's format: analyze the profile that gpuprof exported it from, or read it " \
    "as JSON: export_chrome_trace('trace.json.gz') in PyTorch, rocprofv3 --output-format json, "   \
    "or Perfetto's converter: traceconv json FILE trace.json"
/* Formats that gpuprof cannot read itself, and how to convert them. */
static const struct {
    const char *suffix, *how;
} detours[] = {
    {".nsys-rep", "gpuprof reads an Nsight Systems report through its export: nsys export --type "
                  "sqlite REPORT"},
    {".qdrep", "gpuprof reads an Nsight Systems report through its export: nsys export --type "
               "sqlite REPORT"},
    {".parquet", "gpuprof reads Nsight's SQLite export, not its Parquet files: nsys export --type "
                 "sqlite REPORT.nsys-rep"},
    {".xplane.pb", XPLANE},
    {".xplane.pb.gz", XPLANE},
    {".pickle", "gpuprof reads no snapshot of PyTorch's memory: gpuprof run --memory CMD records "
                "what holds it"},
    {".pftrace", PERFETTO},
    {".pftrace.gz", PERFETTO},
    {".perfetto-trace", PERFETTO},
};

static const char *read_through(const char *path)
{
    for (size_t i = 0; i < sizeof detours / sizeof *detours; i++)
        if (str_ends_with(path, detours[i].suffix))
            return detours[i].how;
    return NULL;
}

static const struct importer *choose(const char *path, struct err *e)
{
    const char *how = read_through(path);
    if (how) {
        err_set(e, "%s: %s", path, how);
        return NULL;
    }
    if (place_unfinished(path, e) < 0)
        return NULL;
    gzFile f = gzdopen(plain_open(path), "rb"); /* gzread also reads files that are not
                                                   compressed */
    if (!f) {
        err_set(e, "%s: %s", path,
                errno == EINVAL ? "not a regular file"
                                : "no such file, or no permission to read it");
        return NULL;
    }
    char head[HEAD];
    int n = gzread(f, head, sizeof head);
    gzclose(f);
    if (n <= 0) {
        err_set(e, "%s: %s", path, n == 0 ? "empty file" : "cannot be read (damaged gzip?)");
        return NULL;
    }
    const struct importer *best = NULL;
    for (size_t i = 0; i < importer_count; i++)
        if ((!best || importers[i]->priority < best->priority) &&
            importers[i]->sniff(path, head, (size_t)n))
            best = importers[i];
    if (!best) {
        char known[256] = "";
        for (size_t i = 0; i < importer_count; i++) {
            strncat(known, i ? "; " : "", sizeof known - strlen(known) - 1);
            strncat(known, importers[i]->suffixes, sizeof known - strlen(known) - 1);
        }
        err_set(e, "%s: not a format that gpuprof reads (%s)", path, known);
    }
    return best;
}

/* ---- several files in one sink ---- */

/* A sink that adds an offset to each id, so that the ids of one file come after
 * those of the files before. */
struct shifted {
    struct sink *out;
    int64_t rank; /* rank number in the file's name, or -1 */
    int64_t base[ROW_KINDS], top[ROW_KINDS];
    struct VEC(int64_t) processes; /* processes that this file brought, by their shifted ids */
};

/* The table that a column refers to; ROW_KINDS: none, it is a plain number. */
static enum row_kind referenced(const char *column)
{
    static const struct {
        const char *column;
        enum row_kind kind;
    } known[] = {{"process", ROW_PROCESS},
                 {"thread", ROW_THREAD},
                 {"device", ROW_DEVICE},
                 {"kernel", ROW_KERNEL}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(column, known[i].column) == 0)
            return known[i].kind;
    return ROW_KINDS;
}

static uint32_t shifted_intern(void *self, const char *s, size_t n)
{
    struct shifted *x = self;
    return x->out->intern(x->out->self, s, n);
}

static int shifted_put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct shifted *x = self;
    const struct table *t = &tables[kind];
    int64_t copy[TABLE_MAX_ROW / sizeof(int64_t) + 1];
    memcpy(copy, row, t->row_size);
    for (size_t i = 0; i < t->count; i++) {
        if (t->columns[i].is_string)
            continue;
        char *member = (char *)copy + t->columns[i].offset;
        int64_t v;
        memcpy(&v, member, sizeof v);
        bool is_id = strcmp(t->columns[i].name, "id") == 0;
        /* `stream` refers to table stream, but in that table itself it is CUPTI's number */
        bool is_stream = strcmp(t->columns[i].name, "stream") == 0 && kind != ROW_STREAM;
        enum row_kind to = is_id ? kind : is_stream ? ROW_STREAM : referenced(t->columns[i].name);
        if (to == ROW_KINDS || v <= 0)
            continue;
        if (is_id && v > x->top[kind])
            x->top[kind] = v;
        int64_t *seen = is_id && kind == ROW_PROCESS ? vec_push(&x->processes) : NULL;
        if (is_id && kind == ROW_PROCESS && !seen)
            return err_no_memory(e);
        if (seen)
            *seen = v;
        if (__builtin_add_overflow(v, x->base[to], &v))
            return err_set(e, "an id of table %s is out of range", t->name);
        memcpy(member, &v, sizeof v);
    }
    /* a trace without ranks gets the one in its file's name */
    if (kind == ROW_PROCESS && ((struct row_process *)copy)->rank < 0)
        ((struct row_process *)copy)->rank = x->rank;
    return x->out->put(x->out->self, kind, copy, e);
}

/* The rank in a file's name: "rank3.json.gz" and "trace_rank-0.json" give 3 and 0; -1: none. */
static int64_t rank_in_name(const char *path)
{
    const char *name = strrchr(path, '/'), *found = NULL;
    for (const char *p = name ? name : path; (p = strcasestr(p, "rank")); found = p += 4)
        ;
    if (!found)
        return -1;
    found += strspn(found, "-_. =");
    return *found >= '0' && *found <= '9' && strspn(found, "0123456789") < 7 ? atoll(found) : -1;
}

/* Adds a meta row to each process of the file that says which file it came from. -1 with *e set. */
static int say_file(struct shifted *x, size_t file, struct err *e)
{
    char number[24];
    size_t n = (size_t)snprintf(number, sizeof number, "%zu", file);
    struct row_meta m = {.key = shifted_intern(x, IMPORT_FILE_KEY, sizeof IMPORT_FILE_KEY - 1),
                         .value = shifted_intern(x, number, n)};
    if (m.key == UINT32_MAX || m.value == UINT32_MAX)
        return err_set(e, "out of memory");
    for (size_t i = 0; i < x->processes.n; i++) {
        if (__builtin_add_overflow(x->top[ROW_META], 1, &m.id))
            return err_set(e, "an id of table %s is out of range", tables[ROW_META].name);
        m.process = x->processes.at[i];
        if (shifted_put(x, ROW_META, &m, e) < 0)
            return -1;
    }
    return 0;
}

static int read_file(const char *path, struct sink *out, struct err *e)
{
    const struct importer *importer = choose(path, e);
    return importer ? importer->read(path, out, e) : -1;
}

static int read_one(struct shifted *x, const struct import_source *from, size_t file, struct err *e)
{
    struct sink through = {
        .self = x, .intern = shifted_intern, .put = shifted_put, .epoch_ns = x->out->epoch_ns};
    x->rank = rank_in_name(from->path);
    x->processes.n = 0;
    if ((from->read ? from->read(from->self, &through, e) : read_file(from->path, &through, e)) < 0)
        return -1;
    x->out->epoch_ns = through.epoch_ns;
    if (say_file(x, file, e) < 0)
        return -1;
    for (int k = 0; k < ROW_KINDS; k++) {
        if (__builtin_add_overflow(x->base[k], x->top[k], &x->base[k]))
            return err_set(e, "an id of table %s is out of range", tables[k].name);
        x->top[k] = 0;
    }
    return 0;
}

int import_sources(const struct import_source *at, size_t n, struct sink *out, struct err *e)
{
    struct shifted x = {.out = out};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = read_one(&x, &at[i], i, e);
    vec_release(&x.processes);
    return rc < 0 ? -1 : 0;
}

static int read_all(char *const *paths, size_t n, struct sink *out, struct err *e)
{
    if (n == 1)
        return read_file(paths[0], out, e);
    struct import_source *from = calloc(n + 1, sizeof *from);
    for (size_t i = 0; from && i < n; i++)
        from[i].path = paths[i];
    int rc = from ? import_sources(from, n, out, e) : err_no_memory(e);
    free(from);
    return rc;
}

/* ---- folders ---- */

static int add(struct import_files *l, const char *folder, const char *name, struct err *e)
{
    if (l->n == MAX_FILES)
        return err_set(e, "gpuprof reads at most %d files", MAX_FILES);
    char **at = realloc(l->at, (l->n + 1) * sizeof *at);
    const char *slash = folder && !str_ends_with(folder, "/") ? "/" : "";
    size_t size = (folder ? strlen(folder) + 1 : 0) + strlen(name) + 1;
    char *path = malloc(size);
    if (at)
        l->at = at;
    if (!at || !path) {
        free(path);
        return err_set(e, "out of memory");
    }
    snprintf(path, size, "%s%s%s", folder ? folder : "", slash, name);
    l->at[l->n++] = path;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

static bool has_suffix(const char *name)
{
    static const char *const wanted[] = {".json",   ".json.gz",   ".gpuprof",
                                         ".sqlite", ".sqlite.gz", ".rpd"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (str_ends_with(name, wanted[i]))
            return true;
    return false;
}

/* False for a FIFO, a socket or a device: these are no recordings, whatever their names. */
static bool may_be_read(const char *path)
{
    struct stat st;
    return stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode);
}

/* Adds the traces and profiles in a folder and its subfolders. Skips hidden
 * folders and links to folders. */
static int add_files(struct import_files *l, const char *folder, int depth, struct err *e)
{
    enum { DEPTH = 16 };
    DIR *d = depth < DEPTH ? opendir(folder) : NULL;
    if (!d)
        return depth ? 0 : err_set(e, "cannot list %s", folder);
    int rc = 0;
    for (struct dirent *f; rc == 0 && (f = readdir(d));) {
        char path[PATH_MAX];
        struct stat st;
        int n = snprintf(path, sizeof path, "%s%s%s", folder, str_ends_with(folder, "/") ? "" : "/",
                         f->d_name);
        l->endless |= ++l->looked > MAX_LOOKED;
        if (l->endless)
            break;
        if (!l->other)
            l->other = read_through(f->d_name);
        if (has_suffix(f->d_name)) {
            rc = may_be_read(path) ? add(l, folder, f->d_name, e) : 0;
            continue;
        }
        if (f->d_name[0] != '.' && n > 0 && n < (int)sizeof path && lstat(path, &st) == 0 &&
            S_ISDIR(st.st_mode))
            rc = add_files(l, path, depth + 1, e);
    }
    closedir(d);
    return rc;
}

/* Adds the files in a folder, sorted by name with numbers in order (rank2 before rank10). */
static int add_folder(struct import_files *l, const char *folder, struct err *e)
{
    size_t first = l->n;
    int rc = add_files(l, folder, 0, e);
    if (l->endless)
        return err_set(e, "%s holds more than %d files: name the folder of the recordings", folder,
                       MAX_LOOKED);
    if (rc == 0 && l->n == first)
        rc = err_set(e, "%s: no trace or profile in this folder%s%s", folder, l->other ? ": " : "",
                     l->other ? l->other : "");
    if (rc == 0)
        qsort(l->at + first, l->n - first, sizeof *l->at, by_name);
    return rc;
}

int import_list(const char *const *paths, size_t n, struct import_files *l, struct err *e)
{
    int rc = 0;
    *l = (struct import_files){0};
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct stat st;
        bool folder = stat(paths[i], &st) == 0 && S_ISDIR(st.st_mode);
        rc = folder ? add_folder(l, paths[i], e) : add(l, NULL, paths[i], e);
    }
    bool endless = l->endless;
    if (rc < 0)
        import_list_release(l);
    l->endless = endless;
    return rc;
}

void import_list_release(struct import_files *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->at[i]);
    free(l->at);
    *l = (struct import_files){0};
}

int import_paths(const char *const *paths, size_t n, struct sink *out, struct err *e)
{
    struct import_files l;
    if (import_list(paths, n, &l, e) < 0)
        return -1;
    int rc = read_all(l.at, l.n, out, e);
    import_list_release(&l);
    return rc;
}
