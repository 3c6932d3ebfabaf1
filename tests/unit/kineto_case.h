/* Traces in Kineto's format that tests write as text, and what the importer makes of them. In the
 * text ' stands for ". */
#ifndef GPUPROF_TESTS_KINETO_CASE_H
#define GPUPROF_TESTS_KINETO_CASE_H

#include "analyzer/import/import.h"
#include "tests/unit/memory_sink.h"
#include "tests/unit/test.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

extern const struct importer import_kineto;

static inline void kineto_free(void *m)
{
    memory_free(m);
}

/* Imports `text`. The rows live until the test ends; *rc receives the importer's result. */
static inline struct memory *kineto_try(const char *text, int *rc, struct err *e)
{
    struct sink sink;
    struct memory *m = memory_new(&sink);
    char path[] = "/tmp/gpuprof-kineto-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    ck_assert_ptr_nonnull(f);
    for (; *text; text++)
        fputc(*text == '\'' ? '"' : *text, f);
    fclose(f);
    *rc = import_kineto.read(path, &sink, e);
    unlink(path);
    test_later(kineto_free, m);
    return m;
}

/* Imports a text that must be readable; it is formatted as by printf. */
__attribute__((format(printf, 1, 2))) static inline struct memory *kineto(const char *format, ...)
{
    static char text[1 << 17];
    struct err e = ERR_INIT;
    va_list args;
    int rc;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ck_assert_int_lt(n, (int)sizeof text);
    struct memory *m = kineto_try(text, &rc, &e);
    ck_assert_msg(rc == 0, "%s", e.text);
    return m;
}

/* The last row of a kind: LAST(m, kernel, KERNEL). */
#define LAST(m, type, kind) MEMORY_ROW(m, type, ROW_##kind, (m)->count[ROW_##kind] - 1)

#endif
