/* Puts notes on what an Nsight Systems export lacks: in gpuprof's words, and in Nsight's own. */
#include "analyzer/import/nsys/nsys.h"

#include "base/str.h"

#include <string.h>

static int put_note(struct nsys *n, int64_t severity, const char *code, uint32_t text,
                    int64_t value)
{
    struct row_health h = {++n->ids[ROW_HEALTH], 1, severity, nsys_intern(n, code), text, value};
    if (h.code == STR_NONE || text == STR_NONE)
        return err_set(n->e, "out of memory");
    return n->out->put(n->out->self, ROW_HEALTH, &h, n->e);
}

enum {
    TEXT_MOST = 300,
    NOTES_MOST = 8,
    ERROR = 3 /* value in ENUM_DIAGNOSTIC_SEVERITY_LEVEL; 2 is a warning */
};

/* True if the message concerns records of the GPU. Nsight also asks whether the program uses OpenGL
 * or NVTX; those messages do not matter. */
static bool about_cuda(const char *text, size_t size)
{
    static const char asks[] = "Does the process use";
    bool cuda = false;
    for (size_t i = 0; i < size; i++) {
        if (size - i >= sizeof asks - 1 && memcmp(text + i, asks, sizeof asks - 1) == 0)
            return false;
        cuda |= size - i >= 4 && memcmp(text + i, "CUDA", 4) == 0;
        cuda |= size - i >= 5 && memcmp(text + i, "CUPTI", 5) == 0;
    }
    return cuda;
}

/* Puts Nsight's warnings and errors about CUDA, the first line of each. Causes come
 * before their consequences. */
static int put_diagnostics(struct nsys *n)
{
    static const char *const columns[] = {"severity", "text", NULL};
    static const char where[] = "severity IN (2, 3) ORDER BY text NOT LIKE '%not supported%', "
                                "severity DESC, timestamp";
    uint32_t seen[NOTES_MOST];
    int count = 0, rc = 1;
    if (!sql_has_table(n->db, "DIAGNOSTIC_EVENT") ||
        !sql_has_column(n->db, "DIAGNOSTIC_EVENT", "severity") ||
        !sql_has_column(n->db, "DIAGNOSTIC_EVENT", "text") ||
        !sql_has_column(n->db, "DIAGNOSTIC_EVENT", "timestamp"))
        return 0;
    struct sql_stmt *q = nsys_open_where(n, "DIAGNOSTIC_EVENT", columns, where);
    if (!q)
        return -1;
    while (count < NOTES_MOST && (rc = sql_step(q, n->e)) == 1) {
        size_t size, length;
        const char *text = sql_text(q, 1, &size);
        for (length = 0; length < size && length < TEXT_MOST && text[length] != '\n'; length++)
            ;
        if (!about_cuda(text, length))
            continue;
        uint32_t id = n->out->intern(n->out->self, text, length);
        bool known = false;
        for (int i = 0; i < count; i++)
            known |= seen[i] == id;
        if (known)
            continue;
        seen[count++] = id;
        if ((rc = put_note(n, sql_int(q, 0) == ERROR ? 2 : 1, "cupti-diagnostic", id, 0)) < 0)
            break;
    }
    sql_finalize(q);
    return rc < 0 ? -1 : 0;
}

int nsys_put_notes(struct nsys *n)
{
    if (n->graph_whole &&
        put_note(n, 1, "graphs-opaque",
                 nsys_intern(n, "Nsight Systems traced each CUDA graph as a whole and did not "
                                "record its kernels (nsys profile --cuda-graph-trace=node)"),
                 0) < 0)
        return -1;
    if (n->bad &&
        put_note(n, 1, "bad-events", nsys_intern(n, "records without usable times were left out"),
                 n->bad) < 0)
        return -1;
    return put_diagnostics(n);
}
