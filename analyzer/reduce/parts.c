/* Files of a job as bytes, and parts of a job on disk. A worker stores what it made of its
 * files until the job is complete, so that a stopped job can be continued. A part that is
 * damaged, or made of other files, is made again. The file is compressed, and renamed into
 * place once it is complete. */
#include "analyzer/reduce/job.h"

#include "base/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define MAGIC "gpuprof part 1\n"
enum { PIECE = 1 << 16, MOST = 1 << 30 /* largest part in bytes, unpacked */ };

/* Writes the bytes compressed. The file is renamed to `path` when it is complete, so that no other
 * process reads an incomplete one. */
static int write_bytes(const struct bytes *b, const char *path, struct err *e)
{
    char temporary[4096];
    if ((size_t)snprintf(temporary, sizeof temporary, "%s.%ld.new", path, (long)getpid()) >=
        sizeof temporary)
        return err_set(e, "%s: the name is too long", path);
    gzFile f = gzopen(temporary, "wb1");
    bool good = f != NULL;
    for (size_t at = 0; good && at < b->n; at += PIECE) {
        unsigned n = (unsigned)(b->n - at < PIECE ? b->n - at : PIECE);
        good = gzwrite(f, b->at + at, n) == (int)n;
    }
    if (f && gzclose(f) != Z_OK)
        good = false;
    if (good && rename(temporary, path) == 0)
        return 0;
    remove(temporary);
    return err_set(e, "%s: cannot be written (disk full, or no permission?)", path);
}

static int put_string(struct bytes *b, const char *s)
{
    return bytes_put_text(b, s ? s : "", s ? strlen(s) : 0);
}

int job_put_file(const struct job *j, const struct job_file *f, struct bytes *b, struct err *e)
{
    struct bytes room = {0};
    const struct bytes *rows = job_rows(j, f, &room, e);
    int rc = rows ? 0 : -1;
    if (rows && (put_string(b, f->path) < 0 || put_string(b, f->wrong) < 0 ||
                 bytes_put_int(b, f->epoch_ns) < 0 || bytes_put_int(b, f->work_ns) < 0 ||
                 bytes_put_text(b, (const char *)rows->at, rows->n) < 0))
        rc = err_no_memory(e);
    bytes_release(&room);
    return rc;
}

int job_write(const struct job *j, const char *made_of, const char *path, struct err *e)
{
    struct bytes b = {0};
    int rc = bytes_put(&b, MAGIC, sizeof MAGIC - 1) < 0 || put_string(&b, made_of) < 0 ||
                     bytes_put_int(&b, (int64_t)j->files.n) < 0
                 ? err_no_memory(e)
                 : 0;
    for (size_t i = 0; rc == 0 && i < j->files.n; i++)
        rc = job_put_file(j, &j->files.at[i], &b, e);
    if (rc == 0)
        rc = write_bytes(&b, path, e);
    bytes_release(&b);
    return rc;
}

/* 1: all was read; 0: no file, or damaged; -1: out of memory. */
static int read_bytes(const char *path, struct bytes *b)
{
    static const size_t magic = sizeof MAGIC - 1;
    unsigned char piece[4096];
    gzFile f = gzdopen(plain_open(path), "rb");
    int n = 0, rc = f ? 1 : 0;
    while (rc > 0 && (n = gzread(f, piece, sizeof piece)) > 0)
        rc = bytes_put(b, piece, (size_t)n) < 0 ? -1 : b->n > MOST ? 0 : 1;
    if (f && gzclose(f) != Z_OK && rc > 0)
        rc = 0;
    if (rc > 0 && (n < 0 || b->n < magic || memcmp(b->at, MAGIC, magic) != 0))
        rc = 0;
    return rc;
}

static char *get_string(const struct bytes *b, size_t *at)
{
    const char *text;
    size_t n;
    return bytes_get_text(b, at, &text, &n) < 0 ? NULL : strndup(text, n);
}

int job_get_file(struct job *j, const struct bytes *b, size_t *at)
{
    const char *rows;
    size_t n;
    char *path = get_string(b, at), *wrong = path ? get_string(b, at) : NULL;
    struct job_file *f = wrong ? job_add(j, path) : NULL;
    int rc = !wrong ? 0 : !f ? -1 : 1;
    if (rc > 0 && *wrong && job_file_fails(f, wrong) < 0)
        rc = -1;
    if (rc > 0 && (bytes_get_int(b, at, &f->epoch_ns) < 0 ||
                   bytes_get_int(b, at, &f->work_ns) < 0 || bytes_get_text(b, at, &rows, &n) < 0))
        rc = 0;
    if (rc > 0 && bytes_put(&f->rows, rows, n) < 0)
        rc = -1;
    free(path);
    free(wrong);
    return rc;
}

int job_read(struct job *j, const char *made_of, const char *path, struct err *e)
{
    struct bytes b = {0};
    struct job part = {0};
    size_t at = sizeof MAGIC - 1;
    int64_t files = 0;
    int rc = read_bytes(path, &b);
    char *of = rc > 0 ? get_string(&b, &at) : NULL;
    if (rc > 0 && (!of || strcmp(of, made_of) != 0 || bytes_get_int(&b, &at, &files) < 0))
        rc = 0;
    for (int64_t i = 0; rc > 0 && i < files; i++)
        rc = job_get_file(&part, &b, &at);
    for (size_t i = 0; rc > 0 && i < part.files.n; i++) {
        struct job_file *f = vec_push(&j->files);
        if (f) {
            *f = part.files.at[i];
            part.files.at[i] = (struct job_file){0};
        } else
            rc = -1;
    }
    job_release(&part);
    bytes_release(&b);
    free(of);
    return rc < 0 ? err_no_memory(e) : rc;
}
