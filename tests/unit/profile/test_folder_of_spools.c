/* Which folders of spools gpuprof removes, and which files in them. */
#include "tests/unit/test.h"
#include "analyzer/profile/spools_folder.h"

#include "tests/unit/store_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

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

/* A child makes a folder and removes it, and is killed at its n-th stop: there is one before each
 * call to the system, and one behind it. False: it has come to its end before. */
static bool killed_at(int n)
{
    int status;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        snprintf(folder, sizeof folder, "%s/" SPOOLS_FOLDER_TEMPLATE, dir);
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0 || raise(SIGSTOP) != 0)
            _exit(77);
        if (spools_folder_make(folder) == 0)
            spools_folder_remove(folder);
        _exit(0);
    }
    for (int i = 0; waitpid(child, &status, 0) == child && WIFSTOPPED(status) && i < n; i++)
        ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    ck_assert_msg(!WIFEXITED(status) || WEXITSTATUS(status) == 0, "nothing may be traced here");
    if (!WIFSTOPPED(status))
        return false;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return true;
}

/* What a kill leaves is known to be ours by its mark or its name, whenever it comes. */
TEST(test_killed_at_any_call)
{
    int unmarked = 0, marked = 0;
    for (int n = 1; killed_at(n); n++) {
        DIR *d = opendir(dir);
        for (struct dirent *f; (f = readdir(d));) {
            if (f->d_name[0] == '.' && strspn(f->d_name, ".") == strlen(f->d_name))
                continue;
            snprintf(folder, sizeof folder, "%s/%.60s", dir, f->d_name);
            if (spools_folder_is_unmarked(f->d_name)) {
                spools_folder_remove_unmarked(folder);
                unmarked++;
            } else {
                spools_folder_remove(folder);
                marked++;
            }
            ck_assert_msg(!exists(folder), "stop %d: %s stays", n, folder);
        }
        closedir(d);
    }
    ck_assert_int_gt(unmarked, 0);
    ck_assert_int_gt(marked, 0);
}

/* Somebody has put something into a folder that had no mark yet. */
TEST(test_unmarked_with_files)
{
    snprintf(folder, sizeof folder, "%s/" SPOOLS_FOLDER_UNMARKED "abcdef", dir);
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    make("notes.txt");
    spools_folder_remove_unmarked(folder);
    ck_assert(has("notes.txt"));
    drop("notes.txt");
    spools_folder_remove_unmarked(folder);
    ck_assert(!exists(folder));
}
