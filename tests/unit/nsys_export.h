/* Makes exports of Nsight Systems and reads them into memory, for the tests of that importer. */
#ifndef GPUPROF_TESTS_NSYS_EXPORT_H
#define GPUPROF_TESTS_NSYS_EXPORT_H

#include "tests/unit/test.h"
#include "analyzer/import/import.h"
#include "analyzer/profile/sql/sql.h"
#include "tests/unit/memory_sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern const struct importer import_nsys;

/* pid 66 and tid 67 of host 1 (fields: 8 bits host, 8 virtual machine, 24 pid, 24 tid) */
#define PID "0x0101000042000000"
#define TID "0x0101000042000043"

static char dir[64], path[128];
static struct memory *m;
static struct sink out;

static inline void setup(void)
{
    strcpy(dir, "/tmp/gpuprof-nsys-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/x.sqlite", dir);
    m = memory_new(&out);
}

static inline void teardown(void)
{
    memory_free(m);
    unlink(path);
    ck_assert_int_eq(rmdir(dir), 0);
}

static inline void build(const char *statements)
{
    struct err e = ERR_INIT;
    struct sql *db = sql_open(path, SQL_CREATE, &e);
    ck_assert_msg(db && sql_exec(db, statements, &e) == 0, "%s", e.text);
    sql_close(db);
}

static inline void read_it(void)
{
    struct err e = ERR_INIT;
    ck_assert_msg(import_nsys.read(path, &out, &e) == 0, "%s", e.text);
}

#endif
