/* The name of the profile: by -o, or the program's; in a job, with what distinguishes its
 * processes. */
#include "cli/run/run.h"

#include "wire/launcher.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char suffix[] = ".gpuprof";

static const char *from_environment(const char *name)
{
    return getenv(name);
}

static struct launched launched(void)
{
    return launcher_find(from_environment);
}

/* True if this process is one of several ranks, or may be. */
static bool among_ranks(const struct launched *l)
{
    return l->rank && (!l->world_size || atoi(l->world_size) > 1);
}

bool run_in_job(void)
{
    return launched().rank != NULL;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* True for programs that start another script: their own name tells nothing. */
static bool is_launcher(const char *program)
{
    static const char *const names[] = {"torchrun", "accelerate", "deepspeed", "horovodrun",
                                        "mpirun",   "mpiexec",    "srun",      "env",
                                        "uv",       "nice",       "numactl",   "taskset"};
    if (strncmp(program, "python", 6) == 0)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(program, names[i]) == 0)
            return true;
    return false;
}

/* Finds the name of a program: "train" for `torchrun --nproc-per-node 4 dir/train.py` and for
 * `python -m package.train`; the program's own name if no script is named. Returns its length. */
static int name_of(char **argv, const char **name)
{
    *name = base_name(argv[0]);
    bool launches = is_launcher(*name), modules = false;
    for (int i = 0; launches && argv[i]; i++) {
        const char *word = base_name(argv[i]), *dot = strrchr(word, '.');
        if (dot && dot > word && strcmp(dot, ".py") == 0 && !strchr(word, '=')) {
            *name = word;
            return (int)(dot - word);
        }
        modules |= strncmp(word, "python", 6) == 0 || strcmp(word, "torchrun") == 0;
        if (modules && strcmp(argv[i], "-m") == 0 && argv[i + 1] && argv[i + 1][0] != '-') {
            dot = strrchr(argv[i + 1], '.');
            *name = dot && dot[1] ? dot + 1 : argv[i + 1];
            break;
        }
        if (modules &&
            /* The program is given as text: its arguments are no scripts. */
            strcmp(argv[i], "-c") == 0)
            break;
    }
    return (int)strcspn(*name, "/");
}

/* PROGRAM.gpuprof; PROGRAM.r3.gpuprof under a launcher. */
void run_file_output(char **argv, char *out, size_t n)
{
    const char *name;
    struct launched l = launched();
    int length = name_of(argv, &name);
    snprintf(out, n, "%.*s%s%s%s", length, name, l.rank ? ".r" : "", l.rank ? l.rank : "", suffix);
}

/* The text for `%X...` at `at`; *used: length of that pattern. NULL: it is no pattern. */
static const char *expansion(const char *at, char *buffer, size_t size, size_t *used)
{
    *used = 2;
    buffer[0] = 0;
    switch (at[1]) {
    case '%':
        return "%";
    case 'r':
        return launched().rank ? launched().rank : "0";
    case 'p':
        snprintf(buffer, size, "%d", (int)getpid());
        return buffer;
    case 'h':
        return gethostname(buffer, size - 1) == 0 ? buffer : "localhost";
    case 'q': { /* %q{NAME}: a variable of the environment */
        size_t length = at[2] == '{' ? strcspn(at + 3, "}") : 0;
        if (!length || at[3 + length] != '}' || length >= size)
            return NULL;
        snprintf(buffer, size, "%.*s", (int)length, at + 3);
        *used = length + 4;
        const char *value = getenv(buffer);
        return value ? value : "";
    }
    default:
        return NULL;
    }
}

/* Adds the rank: with one name for all ranks, only one profile would remain. */
static int add_rank(const struct launched *l, char *out, size_t n, struct err *e)
{
    static const char *const endings[] = {suffix, ".prom"};
    size_t length = strlen(out), end = 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (length > strlen(endings[i]) &&
            strcmp(out + length - strlen(endings[i]), endings[i]) == 0)
            end = i + 1;
    const char *ending = end ? endings[end - 1] : "";
    char *at = out + length - strlen(ending);
    size_t room = n - (size_t)(at - out);
    if ((size_t)snprintf(at, room, ".r%s%s", l->rank, ending) >= room)
        return err_set(e, "-o: the name is too long");
    return 0;
}

/* Appends `before` and the text from `from` up to any of `ends`, with characters that a file name
 * may hold, and no dots. */
static void add_word(char *out, size_t n, const char *before, const char *from, const char *ends)
{
    enum { MOST = 64 };
    size_t length = strlen(out), most = strcspn(from, ends);
    if (!most)
        return;
    length += (size_t)snprintf(out + length, n - length, "%s", before);
    for (size_t i = 0; i < most && i < MOST && length + 1 < n; i++) {
        bool plain = isalnum((unsigned char)from[i]) || from[i] == '-' || from[i] == '_';
        out[length++] = plain ? from[i] : '-';
    }
    out[length < n ? length : n - 1] = 0;
}

/* PROGRAM.jJOB.HOST.rN.gpuprof; unknown parts are left out. */
static int name_in_folder(char **argv, char *out, size_t n, struct err *e)
{
    const char *name;
    struct launched l = launched();
    char host[256] = "", word[NAME_MAX];
    int length = name_of(argv, &name);
    snprintf(word, sizeof word, "%.*s", length, name);
    size_t slashed = strlen(out);
    if (slashed + 1 < n && out[slashed - 1] != '/')
        strcat(out, "/");
    add_word(out, n, "", word, "");
    if (l.job)
        add_word(out, n, ".j", l.job, "");
    if (gethostname(host, sizeof host - 1) == 0)
        add_word(out, n, ".", host, ".");
    if (l.rank)
        add_word(out, n, ".r", l.rank, "");
    size_t used = strlen(out);
    return (size_t)snprintf(out + used, n - used, "%s", suffix) < n - used
               ? 0
               : err_set(e, "-o: the name is too long");
}

/* Makes a folder and those above it. Other processes of the job may do the same at this moment. */
static int make_folder(char *path, struct err *e)
{
    struct stat st;
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = 0;
        mkdir(path, 0777); /* a failure shows when the last folder is made */
        *at = '/';
    }
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    mkdir(path, 0777);
    int why = errno;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode)
               ? 0
               : err_set(e, "%s: cannot make this folder: %s", path, strerror(why));
}

static bool names_folder(const char *path)
{
    struct stat st;
    size_t n = strlen(path);
    return n && (path[n - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode)));
}

/* True if the pattern itself distinguishes the processes of a machine. */
static bool tells_apart(const char *pattern)
{
    for (const char *at = strchr(pattern, '%'); at; at = strchr(at, '%')) {
        if (strchr("rp", at[1]) || (at[1] == 'q' && at[2] == '{'))
            return at[1] != 0;
        at += 1 + (at[1] != 0);
    }
    return false;
}

int run_file_expand(const char *pattern, char **argv, char *out, size_t n, bool *own_name,
                    struct err *e)
{
    char buffer[256];
    size_t length = 0, used;
    struct launched l = launched();
    out[0] = 0;
    for (const char *at = pattern; *at; at += used) {
        const char *text = *at == '%' ? expansion(at, buffer, sizeof buffer, &used) : NULL;
        if (!text) {
            used = 1;
            snprintf(buffer, sizeof buffer, "%c", *at);
            text = buffer;
        }
        length += (size_t)snprintf(out + length, n - length, "%s", text);
        if (length >= n)
            return err_set(e, "-o: the name is too long");
    }
    *own_name = names_folder(out);
    if (*own_name)
        return make_folder(out, e) < 0 ? -1 : name_in_folder(argv, out, n, e);
    return tells_apart(pattern) || !among_ranks(&l) ? 0 : add_rank(&l, out, n, e);
}
