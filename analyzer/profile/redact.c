/* A sink that removes secrets from the texts of rows before it passes them on. */
#include "analyzer/profile/redact.h"

#include "analyzer/profile/tables.h"
#include "base/identity.h"
#include "base/secrets/secrets.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* How a text is treated, depending on its column. */
enum treatment {
    TREAT_NAME,    /* names of kernels, calls, ranges */
    TREAT_FACT,    /* command lines, facts, warnings */
    TREAT_COMMAND, /* with `all`: only the program's name is kept */
    TREAT_HIDE,    /* the whole text is removed */
    TREATMENTS
};

enum { NOT_YET = UINT32_MAX - 1, MOST_TEXTS = 3 }; /* MOST_TEXTS: most text columns of a table */

struct redact {
    struct sink inner;
    bool all;
    struct str_table texts;       /* the original texts; their ids are those that importers see */
    uint32_t *handed[TREATMENTS]; /* by id: the inner sink's id, or NOT_YET */
    uint32_t cap;
    struct {
        uint8_t n, column[MOST_TEXTS];
    } of_kind[ROW_KINDS]; /* by kind of row: its columns that contain texts */
};

static void find_columns(struct redact *r)
{
    for (int k = 0; k < ROW_KINDS; k++)
        for (size_t i = 0; i < tables[k].count; i++)
            if (tables[k].columns[i].is_string && r->of_kind[k].n < MOST_TEXTS)
                r->of_kind[k].column[r->of_kind[k].n++] = (uint8_t)i;
}

struct redact *redact_open(struct sink inner, bool all, struct err *e)
{
    struct redact *r = calloc(1, sizeof *r);
    if (!r || str_table_init(&r->texts) < 0) {
        free(r);
        err_set(e, "out of memory");
        return NULL;
    }
    r->inner = inner;
    r->all = all;
    find_columns(r);
    return r;
}

void redact_close(struct redact *r)
{
    if (!r)
        return;
    str_table_release(&r->texts);
    for (int i = 0; i < TREATMENTS; i++)
        free(r->handed[i]);
    free(r);
}

static int grow(struct redact *r)
{
    uint32_t cap = r->cap ? r->cap : 256;
    while (cap < r->texts.n)
        cap *= 2;
    for (int i = 0; i < TREATMENTS; i++) {
        uint32_t *ids = realloc(r->handed[i], cap * sizeof *ids);
        if (!ids)
            return -1;
        r->handed[i] = ids;
        for (uint32_t k = r->cap; k < cap; k++)
            ids[k] = NOT_YET;
    }
    r->cap = cap;
    return 0;
}

static uint32_t intern(void *self, const char *s, size_t n)
{
    struct redact *r = self;
    uint32_t id = str_intern(&r->texts, s, n);
    return id == STR_NONE || id < r->cap || grow(r) == 0 ? id : STR_NONE;
}

static uint32_t hand_on(struct redact *r, const char *s, size_t n)
{
    return r->inner.intern(r->inner.self, s, n);
}

/* Passes on the text without secrets; with `all` also without folders and names. Returns
 * its id in the inner sink. */
static uint32_t hand_on_clean(struct redact *r, const char *s, size_t n, enum secrets_in in)
{
    char *clean = NULL, *known = NULL;
    int found = secrets_hide(s, n, in, &clean, &n);
    if (found > 0)
        s = clean;
    if (found >= 0 && r->all && (found = identity_hide(s, n, &known, &n)) > 0)
        s = known;
    uint32_t id = found < 0 ? STR_NONE : hand_on(r, s, n);
    free(clean);
    free(known);
    return id;
}

static uint32_t treat(struct redact *r, uint32_t id, enum treatment how)
{
    const char *s = r->texts.text[id];
    size_t n = r->texts.length[id];
    char program[256];
    switch (how) {
    case TREAT_HIDE:
        return hand_on(r, SECRETS_MARK, sizeof SECRETS_MARK - 1);
    case TREAT_COMMAND:
        identity_program(s, program, sizeof program);
        return hand_on_clean(r, program, strlen(program), SECRETS_COMMAND);
    default:
        return hand_on_clean(r, s, n, how == TREAT_NAME ? SECRETS_NAME : SECRETS_COMMAND);
    }
}

/* Replaces *id by the inner sink's id of the treated text. 0 stays 0, and an invalid id
 * becomes 0. -1: out of memory. */
static int map(struct redact *r, uint32_t *id, enum treatment how)
{
    if (*id == 0 || *id >= r->texts.n) {
        *id = 0;
        return 0;
    }
    uint32_t *known = &r->handed[how][*id];
    if (*known == NOT_YET && (*known = treat(r, *id, how)) == STR_NONE) {
        *known = NOT_YET;
        return -1;
    }
    *id = *known;
    return 0;
}

static bool is(const struct redact *r, uint32_t id, const char *text)
{
    return strcmp(str_text(&r->texts, id), text) == 0;
}

static enum treatment of_meta(const struct redact *r, const struct row_meta *m)
{
    const char *key = str_text(&r->texts, m->key);
    enum secrets_name kind = SECRETS_NONE;
    if (strncmp(key, "env.", 4) == 0)
        kind = secrets_name_of(key + 4, strlen(key + 4));
    if (kind != SECRETS_NONE)
        return TREAT_HIDE;
    if (r->all && (is(r, m->key, "job") || is(r, m->key, "commit")))
        return TREAT_HIDE;
    return r->all && is(r, m->key, "command") ? TREAT_COMMAND : TREAT_FACT;
}

static enum treatment treatment_of(const struct redact *r, enum row_kind kind, const void *row,
                                   const char *column)
{
    switch (kind) {
    case ROW_META:
        return strcmp(column, "value") == 0 ? of_meta(r, row) : TREAT_NAME;
    case ROW_PROCESS:
        return !r->all ? TREAT_FACT : strcmp(column, "host") == 0 ? TREAT_HIDE : TREAT_COMMAND;
    case ROW_DEVICE:
        return r->all && strcmp(column, "uuid") == 0 ? TREAT_HIDE : TREAT_NAME;
    case ROW_HEALTH:
        return strcmp(column, "text") == 0 ? TREAT_FACT : TREAT_NAME;
    case ROW_STACK:
        return strcmp(column, "source") != 0 ? TREAT_NAME : r->all ? TREAT_HIDE : TREAT_FACT;
    case ROW_THREAD:
        return TREAT_FACT;
    default:
        return TREAT_NAME;
    }
}

static int put(void *self, enum row_kind kind, const void *row, struct err *e)
{
    struct redact *r = self;
    const struct table *t = &tables[kind];
    int64_t copy[TABLE_MAX_ROW / sizeof(int64_t) + 1];
    if (r->of_kind[kind].n == 0)
        return r->inner.put(r->inner.self, kind, row, e);
    memcpy(copy, row, t->row_size);
    for (size_t i = 0; i < r->of_kind[kind].n; i++) {
        const struct column *c = &t->columns[r->of_kind[kind].column[i]];
        char *member = (char *)copy + c->offset;
        uint32_t id;
        memcpy(&id, member, sizeof id);
        if (map(r, &id, treatment_of(r, kind, row, c->name)) < 0)
            return err_set(e, "out of memory");
        memcpy(member, &id, sizeof id);
    }
    return r->inner.put(r->inner.self, kind, copy, e);
}

struct sink redact_sink(struct redact *r)
{
    return (struct sink){.self = r, .intern = intern, .put = put, .epoch_ns = r->inner.epoch_ns};
}

const char *redact_path(const char *path, bool all)
{
    const char *slash = strrchr(path, '/');
    return all && slash ? slash + 1 : path;
}
