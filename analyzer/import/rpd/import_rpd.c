/* Reads databases of rocmProfileData (.rpd): the tables rocpd_op, rocpd_api and those
 * they refer to. Rows become events like those of a Kineto trace. rocprofv3 writes other
 * tables with similar names. */
#include "analyzer/import/import.h"
#include "analyzer/import/kineto/kineto.h"
#include "analyzer/profile/sql/sql.h"

#include "base/str.h"

#include <string.h>

static const char of_rocprofv3[] = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND "
                                   "name LIKE 'rocpd_kernel_dispatch_%'";

static bool sniff(const char *path, const void *head, size_t n)
{
    if (n < 16 || memcmp(head, "SQLite format 3", 16) != 0)
        return false;
    struct err e = ERR_INIT;
    struct sql *db = sql_open(path, SQL_READ, &e);
    bool known = db && ((sql_has_table(db, "rocpd_op") && sql_has_table(db, "rocpd_api")) ||
                        sql_value(db, of_rocprofv3, 0) > 0);
    sql_close(db);
    return known;
}

/* Sets the event's name to the text of a column. */
static int name_it(struct kineto *k, struct kineto_event *v, struct sql_stmt *s, int column)
{
    size_t n;
    const char *text = sql_text(s, column, &n);
    size_t shown = n < sizeof v->head - 1 ? n : sizeof v->head - 1;
    memcpy(v->head, text, shown);
    v->head[shown] = 0;
    v->name = k->out->intern(k->out->self, text, n);
    return v->name == STR_NONE ? err_set(k->e, "out of memory") : 0;
}

/* Clears the event and sets its times and correlation from columns 0 to 2. */
static void time_it(struct kineto *k, struct kineto_event *v, struct sql_stmt *s)
{
    kineto_event_clear(v);
    v->phase = 'X';
    v->ts_ns = sql_int(s, 0);
    v->has_ts = v->has_dur = true;
    if (__builtin_sub_overflow(sql_int(s, 1), v->ts_ns, &v->dur_ns))
        v->dur_ns = -1;
    v->correlation = sql_int(s, 2);
    k->events++;
}

static int put_op(struct kineto *k, struct sql_stmt *s)
{
    static const struct {
        const char *type;
        enum kineto_category category;
        const char *copy;
    } types[] = {{"KernelExecution", KINETO_KERNEL, ""},
                 {"CopyHostToDevice", KINETO_MEMCPY, "HtoD"},
                 {"CopyDeviceToHost", KINETO_MEMCPY, "DtoH"},
                 {"CopyDeviceToDevice", KINETO_MEMCPY, "DtoD"},
                 {"CopyDeviceToDeviceP2P", KINETO_MEMCPY, "PtoP"},
                 {"FillBuffer", KINETO_MEMSET, ""}};
    struct kineto_event v;
    size_t n;
    time_it(k, &v, s);
    v.category = KINETO_SKIP;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(sql_text(s, 6, &n), types[i].type) == 0) {
            v.category = (uint8_t)types[i].category;
            memcpy(v.copy, types[i].copy, strlen(types[i].copy) + 1);
        }
    v.device = sql_int(s, 3);
    v.stream = sql_int(s, 4);
    v.bytes = sql_is_null(s, 7) ? -1 : sql_int(s, 7);
    for (int i = 0; i < 3; i++) {
        v.block[i] = sql_int(s, 11 + i);
        int64_t threads = sql_int(s, 8 + i); /* HSA counts a grid in threads, not in blocks */
        v.grid[i] = v.block[i] > 0 ? threads / v.block[i] + (threads % v.block[i] != 0) : threads;
    }
    return name_it(k, &v, s, 5) < 0 ? -1 : kineto_put(k, &v);
}

static int put_api(struct kineto *k, struct sql_stmt *s)
{
    struct kineto_event v;
    size_t n;
    time_it(k, &v, s);
    const char *name = sql_text(s, 5, &n);
    bool marker = strcmp(name, "UserMarker") == 0;
    v.category = marker                         ? KINETO_ANNOTATION
                 : strncmp(name, "hip", 3) == 0 ? KINETO_RUNTIME
                                                : KINETO_SKIP;
    v.pid = sql_int(s, 3);
    v.tid = sql_int(s, 4);
    return name_it(k, &v, s, marker ? 6 : 5) < 0 ? -1 : kineto_put(k, &v);
}

static int each(struct kineto *k, struct sql *db, const char *query,
                int (*put)(struct kineto *, struct sql_stmt *))
{
    struct sql_stmt *s = sql_prepare(db, query, k->e);
    int rc = s ? 1 : -1;
    while (rc > 0 && (rc = sql_step(s, k->e)) > 0)
        rc = put(k, s) < 0 ? -1 : 1;
    sql_finalize(s);
    return rc;
}

static int read_database(const char *path, struct sink *out, struct err *e)
{
    static const char apis[] =
        "SELECT a.start, a.end, a.id, a.pid, a.tid, n.string, x.string FROM rocpd_api a JOIN "
        "rocpd_string n ON n.id = a.apiName_id LEFT JOIN rocpd_string x ON x.id = a.args_id";
    static const char ops[] =
        "SELECT o.start, o.end, coalesce(l.api_id, 0), o.gpuId, o.queueId, d.string, t.string, "
        "c.size, k.gridX, k.gridY, k.gridZ, k.workgroupX, k.workgroupY, k.workgroupZ FROM rocpd_op "
        "o LEFT JOIN rocpd_api_ops l ON l.op_id = o.id LEFT JOIN rocpd_string d ON d.id = "
        "o.description_id LEFT JOIN rocpd_string t ON t.id = o.opType_id LEFT JOIN rocpd_copyapi c "
        "ON c.api_ptr_id = l.api_id LEFT JOIN rocpd_kernelapi k ON k.api_ptr_id = l.api_id";
    struct kineto k = {.out = out, .e = e, .rank = -1, .world_size = -1, .hip = true};
    k.tool = "rocmProfileData";
    struct sql *db = sql_open(path, SQL_READ, e);
    if (!db)
        return -1;
    int rc = !sql_has_table(db, "rocpd_op")
                 ? err_set(e,
                           "%s: a database of rocprofv3, which gpuprof does not read: record with "
                           "rocprofv3 --output-format json, which it reads",
                           path)
                 : kineto_process_init(&k);
    if (rc == 0)
        rc = each(&k, db, apis, put_api);
    if (rc == 0)
        rc = each(&k, db, ops, put_op);
    if (rc == 0)
        rc = kineto_put_ends(&k);
    kineto_release(&k);
    sql_close(db);
    return rc;
}

const struct importer import_rpd = {
    .name = "rpd",
    .suffixes = ".rpd (rocmProfileData)",
    .priority = 40,
    .sniff = sniff,
    .read = read_database,
};
