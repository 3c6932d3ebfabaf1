/* try --patch and --fix: the patched program in a copy. The copy of the current folder is made of
 * links, but for the files that the patch names, so that the user's own stay as they are. */
#include "base/str.h"
#include "cli/try/try.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Links all that lies in the folder `from` into the new folder `to`. */
static int link_all(const char *from, const char *to, struct err *e)
{
    char source[PATH_MAX], target[PATH_MAX];
    DIR *all = mkdir(to, 0700) == 0 ? opendir(from) : NULL;
    if (!all)
        return err_set(e, "try: cannot copy %s to %s: %s", from, to, strerror(errno));
    int rc = 0;
    for (struct dirent *d; rc == 0 && (d = readdir(all));) {
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        size_t a = (size_t)snprintf(source, sizeof source, "%s/%s", from, d->d_name);
        size_t b = (size_t)snprintf(target, sizeof target, "%s/%s", to, d->d_name);
        if (a >= sizeof source || b >= sizeof target || symlink(source, target) < 0)
            rc = err_set(e, "try: cannot link %s: %s", source, strerror(errno));
    }
    closedir(all);
    return rc;
}

static int copy_file(const char *from, const char *to, struct err *e)
{
    char piece[1 << 14];
    struct stat st;
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = in >= 0 && fstat(in, &st) == 0
                  ? open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st.st_mode & 0777)
                  : -1;
    ssize_t n = out < 0 ? -1 : 1;
    while (n > 0 && (n = read(in, piece, sizeof piece)) > 0)
        if (write(out, piece, (size_t)n) != n)
            n = -1;
    int why = errno;
    if (in >= 0)
        close(in);
    if (out >= 0 && close(out) < 0)
        n = -1;
    return n < 0 ? err_set(e, "try: cannot copy %s: %s", from, strerror(why)) : 0;
}

/* Makes `name`, a path below both folders, a file of its own in the copy: the folders on its way
 * become folders of links. A file that does not exist yet is the patch's to make. */
static int own_file(const char *from, const char *to, const char *name, struct err *e)
{
    char source[PATH_MAX], target[PATH_MAX];
    struct stat st;
    for (size_t n = strcspn(name, "/");; n += 1 + strcspn(name + n + 1, "/")) {
        size_t a = (size_t)snprintf(source, sizeof source, "%s/%.*s", from, (int)n, name);
        size_t b = (size_t)snprintf(target, sizeof target, "%s/%.*s", to, (int)n, name);
        if (a >= sizeof source || b >= sizeof target)
            return err_set(e, "try: the patch names too long a path");
        bool linked = lstat(target, &st) == 0 && S_ISLNK(st.st_mode);
        if (linked && unlink(target) < 0)
            return err_set(e, "try: cannot replace %s: %s", target, strerror(errno));
        if (!name[n])
            return linked ? copy_file(source, target, e) : 0;
        if (linked && link_all(source, target, e) < 0)
            return -1;
    }
}

/* The path in a line "--- a/train.py" or "+++ b/train.py", in the line itself; NULL: none, or one
 * that leads out of the folder. */
static char *path_in(char *line)
{
    if (strncmp(line, "--- ", 4) != 0 && strncmp(line, "+++ ", 4) != 0)
        return NULL;
    char *path = line + 4;
    path[strcspn(path, "\t\r\n")] = 0;
    char *below = strchr(path, '/'); /* as patch -p1 has it */
    if (strcmp(path, "/dev/null") == 0 || !below || below == path || !below[1])
        return NULL;
    return below[1] == '/' || strstr(below, "/../") || strcmp(strrchr(path, '/'), "/..") == 0
               ? NULL
               : below + 1;
}

static int own_files(const char *patch, const char *from, const char *to, struct err *e)
{
    FILE *f = fopen(patch, "re");
    char *line = NULL;
    size_t room = 0, found = 0;
    int rc = f ? 0 : err_set(e, "try: cannot read %s: %s", patch, strerror(errno));
    while (rc == 0 && getline(&line, &room, f) >= 0) {
        const char *name = path_in(line);
        found += name != NULL;
        rc = name ? own_file(from, to, name, e) : 0;
    }
    if (rc == 0 && !found)
        rc = err_set(e, "try: %s is no unified diff with paths as git writes them", patch);
    free(line);
    if (f)
        fclose(f);
    return rc;
}

/* The program's own file must be no link either: Python looks for modules where the link leads. */
static int own_program(char **argv, const char *from, const char *to, struct err *e)
{
    struct stat st;
    for (char **w = argv; *w; w++)
        if (**w != '/' && !strstr(*w, "..") && stat(*w, &st) == 0 && S_ISREG(st.st_mode) &&
            own_file(from, to, *w + 2 * (strncmp(*w, "./", 2) == 0), e) < 0)
            return -1;
    return 0;
}

int trial_run_in(const char *folder, const char *program, char *const *words)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(folder) == 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
            execvp(program, words);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

char *trial_text(const char *path, struct err *e)
{
    FILE *f = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    bool read = f && getdelim(&text, &room, 0, f) >= 0; /* texts have no NUL */
    if (f)
        fclose(f);
    if (read)
        return text;
    free(text);
    err_set(e, "try: cannot read %s", path);
    return NULL;
}

int trial_patch(struct trial *t, const char *patch, struct err *e)
{
    char here[PATH_MAX], whole[PATH_MAX];
    const struct series *s = t->in;
    if (!getcwd(here, sizeof here) || !realpath(patch, whole))
        return err_set(e, "try: %s: %s", patch, strerror(errno));
    for (char **w = s->argv; *w; w++)
        if (strncmp(*w, here, strlen(here)) == 0 && (*w)[strlen(here)] == '/')
            return err_set(e, "try: name %s as a path from here: the copy has it, too", *w);
    snprintf(t->patched, sizeof t->patched, "%s/patched%zu", s->folder, s->count + 1);
    if (link_all(here, t->patched, e) < 0 || own_files(whole, here, t->patched, e) < 0 ||
        own_program(s->argv, here, t->patched, e) < 0)
        return -1;
    int status = trial_run_in(t->patched, "patch",
                              (char *[]){"patch", "-p1", "-s", "-f", "-i", whole, NULL});
    if (status == 127)
        status = trial_run_in(t->patched, "git", (char *[]){"git", "apply", whole, NULL});
    if (status == 127)
        return err_set(e, "try: needs patch or git");
    if (status)
        return err_set(e, "try: %s does not fit the files here", patch);
    const char *name = strrchr(patch, '/');
    struct tried *c = t->change;
    t->count = 1;
    snprintf(c->settings, sizeof c->settings, "%s", name ? name + 1 : patch);
    c->patch = true;
    c->diff = c->diff ? c->diff : trial_text(whole, e);
    return c->diff ? 0 : -1;
}

/* Everything but the output of a run that failed, unless the user stopped it. */
static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    if (at->level != 1 || !str_ends_with(path, ".log") || trial_interrupted())
        remove(path); /* the folder stays if it holds such an output */
    return 0;
}

void series_remove(const struct series *s)
{
    enum { OPEN = 16 };
    /* links are removed, not what they lead to */
    nftw(s->folder, remove_one, OPEN, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
