/* The commit of the sources that the program runs from: what the CI service says, else that of the
 * repository around the working folder. Git itself is not needed. */
#include "cli/run/run.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHORTEST = 7, LONGEST = 64 };

static bool is_commit(const char *text)
{
    size_t n = strspn(text, "0123456789abcdef");
    return text[n] == 0 && n >= SHORTEST && n <= LONGEST;
}

/* Reads the first line of FOLDER/NAME, without its end. 0, or -1. */
static int first_line(const char *folder, const char *name, char *out, size_t n)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
        return -1;
    FILE *f = fopen(path, "re");
    char *line = f ? fgets(out, (int)n, f) : NULL;
    if (f)
        fclose(f);
    if (!line)
        return -1;
    out[strcspn(out, "\r\n")] = 0;
    return 0;
}

/* Finds a reference that `git gc` has packed. */
static int packed(const char *folder, const char *reference, char *out)
{
    char path[PATH_MAX], line[1024], commit[LONGEST + 1], name[900];
    if ((size_t)snprintf(path, sizeof path, "%s/packed-refs", folder) >= sizeof path)
        return -1;
    FILE *f = fopen(path, "re");
    int rc = -1;
    while (rc < 0 && f && fgets(line, sizeof line, f))
        if (sscanf(line, "%64s %899s", commit, name) == 2 && strcmp(name, reference) == 0 &&
            is_commit(commit)) {
            strcpy(out, commit);
            rc = 0;
        }
    if (f)
        fclose(f);
    return rc;
}

/* The folder of a repository's data: PATH/.git, or where a worktree's .git file points. */
static int data_folder(const char *path, char *out, size_t n)
{
    struct stat st;
    char line[PATH_MAX];
    if ((size_t)snprintf(out, n, "%s/.git", path) >= n || stat(out, &st) < 0)
        return -1;
    if (S_ISDIR(st.st_mode))
        return 0;
    if (first_line(path, ".git", line, sizeof line) < 0 || strncmp(line, "gitdir: ", 8) != 0)
        return -1;
    const char *at = line + 8;
    return (size_t)snprintf(out, n, "%s%s%s", *at == '/' ? "" : path, *at == '/' ? "" : "/", at) < n
               ? 0
               : -1;
}

static int of_repository(const char *data, char *out)
{
    char head[1024], common[PATH_MAX], word[1024], line[256];
    if (first_line(data, "HEAD", head, sizeof head) < 0)
        return -1;
    if (strncmp(head, "ref: ", 5) != 0) {
        if (!is_commit(head))
            return -1;
        strcpy(out, head);
        return 0;
    }
    snprintf(common, sizeof common, "%s", data);
    if (first_line(data, "commondir", word, sizeof word) == 0 &&
        (size_t)snprintf(common, sizeof common, "%s%s%s", *word == '/' ? "" : data,
                         *word == '/' ? "" : "/", word) >= sizeof common)
        return -1;
    if (first_line(common, head + 5, line, sizeof line) == 0 && is_commit(line)) {
        strcpy(out, line);
        return 0;
    }
    return packed(common, head + 5, out);
}

const char *run_commit(void)
{
    static const char *const names[] = {"GITHUB_SHA", "CI_COMMIT_SHA"};
    static char commit[LONGEST + 1];
    char path[PATH_MAX], data[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && is_commit(value))
            return value;
    }
    if (!getcwd(path, sizeof path))
        return NULL;
    while (*path) {
        if (data_folder(path, data, sizeof data) == 0)
            return of_repository(data, commit) == 0 ? commit : NULL;
        char *slash = strrchr(path, '/');
        if (!slash)
            break;
        *slash = 0;
    }
    return NULL;
}
