/* Which folders gpuprof removes, and what in them. */
#include "tests/unit/test.h"
#include "analyzer/profile/spools_folder.h"

#include "tests/unit/store_file.h"

#include <fcntl.h>

static char folder[128];

static void make(const char *name)
{
    FILE *f;
    char file[256];
    snprintf(file, sizeof file, "%s/%s", folder, name);
    ck_assert_ptr_nonnull(f = fopen(file, "w"));
    fputs("precious", f);
    fclose(f);
}

static bool has(const char *name)
{
    char file[256];
    snprintf(file, sizeof file, "%s/%s", folder, name);
    return exists(file);
}

static void drop(const char *name)
{
    char file[256];
    snprintf(file, sizeof file, "%s/%s", folder, name);
    ck_assert_int_eq(unlink(file), 0);
}

static void make_ours(void)
{
    snprintf(folder, sizeof folder, "%s/" SPOOLS_FOLDER_TEMPLATE, dir);
    ck_assert_int_eq(spools_folder_make(folder), 0);
    ck_assert(spools_folder_is(folder + strlen(dir) + 1));
}

TEST_FIXTURE(setup, teardown)

TEST(test_own_files_go)
{
    static const char *const names[] = {"12-345.spool",
                                        "12-345-2.spool",
                                        "12-345.28.failed",
                                        "ask-000000000012.000000001.7",
                                        "ask-000000000012.000000001.7.stop",
                                        "new.7",
                                        "where",
                                        "where.new",
                                        "missing_call",
                                        "unreached",
                                        "kernel_times"};
    make_ours();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        make(names[i]);
    spools_folder_remove(folder);
    ck_assert(!exists(folder));
}

TEST(test_other_files_stay)
{
    make_ours();
    make("1-2.spool");
    make("notes.txt");
    spools_folder_remove(folder);
    ck_assert(has("notes.txt"));
    ck_assert(!has("1-2.spool"));
    drop("notes.txt");
    spools_folder_remove(folder); /* still ours */
    ck_assert(!exists(folder));
}

/* A user's folder of such a name, with files that could be ours. */
TEST(test_folder_of_a_user)
{
    char link[160];
    int fd;
    snprintf(folder, sizeof folder, "%s/.gpuprof-backup", dir);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    make("1-2.spool");
    spools_folder_remove(folder);
    ck_assert(has("1-2.spool"));
    ck_assert_int_ge(fd = open(folder, O_RDONLY | O_DIRECTORY), 0);
    ck_assert(!spools_folder_is_ours(fd));
    close(fd);
    drop("1-2.spool");
    rmdir(folder);

    make_ours();
    make("1-2.spool");
    snprintf(link, sizeof link, "%s/.gpuprof-linked", dir);
    ck_assert_int_eq(symlink(folder, link), 0);
    spools_folder_remove(link); /* a link is nobody's folder */
    ck_assert(has("1-2.spool"));
    unlink(link);
    if (geteuid() == 0) { /* another user's, as root sees it */
        ck_assert_int_eq(chown(folder, 65534, 65534), 0);
        spools_folder_remove(folder);
        ck_assert(has("1-2.spool"));
        ck_assert_int_eq(chown(folder, 0, 0), 0);
    }
    spools_folder_remove(folder);
    ck_assert(!exists(folder));
}
