/* The text of the program's lines: only from its own files, as they were when the recording
 * began. */
#include "tests/unit/test.h"
#include "analyzer/collector/spool/sources.h"
#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[64], path[160];
static struct sources s;

static void setup(void)
{
    strcpy(folder, "/tmp/gpuprof-sources-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/train.py", folder);
}

static void teardown(void)
{
    sources_release(&s);
    unlink(path);
    rmdir(folder);
}

/* `age_s`: so long before the recording it was written. */
static void write_file(const char *text, int age_s)
{
    FILE *f = fopen(path, "w");
    ck_assert(fputs(text, f) >= 0 && fclose(f) == 0);
    struct timespec at = {time(NULL) - age_s, 0}, both[2] = {at, at};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, both, 0), 0);
    s = (struct sources){.start_ns = clock_monotonic_ns()};
}

static const char *line(int64_t number)
{
    static char out[32];
    return source_line(&s, path, number, out, sizeof out) ? out : NULL;
}

TEST_FIXTURE(setup, teardown)

TEST(lines_without_the_space_around_them)
{
    write_file("import torch\n\n\tloss.backward()  \r\nlast = '0123456789012345678901\xc3\xa4'",
               60);
    ck_assert_str_eq(line(1), "import torch");
    ck_assert_ptr_null(line(2));
    ck_assert_str_eq(line(3), "loss.backward()");
    ck_assert_str_eq(line(4), "last = '0123456789012345678901"); /* no half of a character */
    ck_assert(!line(5) && !line(0) && !line(-1));
}

TEST(a_file_that_was_written_since_says_nothing)
{
    write_file("import torch\n", -60);
    ck_assert_ptr_null(line(1));
}

TEST(other_files_are_not_opened)
{
    char out[32];
    write_file("import torch\n", 60);
    ck_assert(!source_line(&s, "/usr/lib/python3.11/os.py", 1, out, sizeof out));
    ck_assert(!source_line(&s, "<string>", 1, out, sizeof out));
    ck_assert(!source_line(&s, "train.py", 1, out, sizeof out));
    ck_assert_uint_eq(s.files.n, 0);
    ck_assert(!source_line(&s, folder, 1, out, sizeof out)); /* a folder has no lines */
}
