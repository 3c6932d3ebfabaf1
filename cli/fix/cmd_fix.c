/* fix: the advice as a diff of the user's Python files. Python's own parser finds the places, so
 * that a Python program (fix.py) makes the diff; it gets what `analyze --json` prints. */
#include "cli/common/command.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/rule_named.h"
#include "cli/load/confine.h"
#include "cli/load/load.h"
#include "cli/load/newest.h"
#include "cli/results/export_to.h"
#include "cli/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct load_how how;
static const char *rule_id, *output, *source;
static bool force;

static const struct option_spec options[] = {
    {"rule", 0, OPTION_STRING, &rule_id, "ID",
     "only this rule's advice; `gpuprof rules` lists all"},
    {"source", 0, OPTION_STRING, &source, "DIR", "folder of the program (default: this one)"},
    {"output", 'o', OPTION_STRING, &output, "FILE", "write the diff there instead of stdout"},
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists"},
    LOAD_STEP_KERNEL(how),
    LOAD_STEP_COUNT(how),
    LOAD_RANK(how),
    {0},
};

struct fixer {
    pid_t pid;
    FILE *in, *out; /* it reads all of the analysis, and then writes the diff */
};

/* Starts Python with the script. Before confine(), which forbids it. */
static int fixer_start(struct fixer *x, const char *script, struct err *e)
{
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
        return err_set(e, "fix: %s", strerror(errno));
    x->pid = fork();
    if (x->pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execlp("python3", "python3", "-B", script, source ? source : ".", rule_id ? rule_id : "",
               (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    x->in = fdopen(in[1], "w");
    x->out = fdopen(out[0], "r");
    return x->pid > 0 && x->in && x->out ? 0 : err_set(e, "fix: %s", strerror(errno));
}

/* Copies the diff to `to`. The exit status: 0 a diff, 1 nothing that can be changed, 2 failed. */
static int fixer_end(struct fixer *x, FILE *to)
{
    int status = 0;
    char piece[4096];
    fclose(x->in);
    for (size_t n; (n = fread(piece, 1, sizeof piece, x->out)) > 0;)
        fwrite(piece, 1, n, to);
    fclose(x->out);
    while (waitpid(x->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return warn("fix: needs python3, which is not in PATH"), 2;
    return WIFEXITED(status) && WEXITSTATUS(status) < 2 ? WEXITSTATUS(status) : 2;
}

static int write_analysis(const char *const *paths, size_t n, FILE *to, struct err *e)
{
    struct loaded l;
    progress_begin("analysing", paths[0]);
    int rc = load_predicted(paths, n, &how, load_history(NULL), &l, e);
    progress_end();
    if (rc)
        return -1;
    struct exported what = {.analysis = l.analysis};
    const struct exporter *x = export_format("json", &what, e);
    struct export_options o = load_options(&l, paths[0]);
    rc = x ? x->analysis(l.analysis, &o, to, e) : -1;
    load_release(&l);
    return rc;
}

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct output out;
    struct fixer x = {0};
    char script[4096];
    if (rule_id && !rule_named(rule_id))
        return 2;
    if (newest_if_none("fix", &argc, &argv))
        return 2;
    if (source && access(source, R_OK | X_OK) != 0)
        return usage_error("fix: --source %s: %s", source, strerror(errno));
    if (output_check(output, force, &e) ||
        run_file_script("fix/fix.py", script, sizeof script, &e) || fixer_start(&x, script, &e))
        return fail(&e);
    signal(SIGPIPE, SIG_IGN); /* Python may end early: its status tells */
    const char *const *paths = (const char *const *)argv;
    confine(&(struct confined){
        .inputs = paths, .count = (size_t)argc, .also = {load_history(NULL)}, .outputs = {output}});
    int bad = write_analysis(paths, (size_t)argc, x.in, &e) || output_open(&out, output, force, &e);
    if (bad)
        return fail(&e); /* Python ends with its input */
    int status = fixer_end(&x, out.f);
    if (status)
        return output_discard(&out), status;
    return output_commit(&out, &e) ? fail(&e) : 0;
}

const struct command cmd_fix = {
    .name = "fix",
    .usage = "[options] [FILE|TRACE...]",
    .help = "print the advice as a diff of the program's Python files",
    .details = "Without a file it takes the newest profile here. The diff goes to stdout, and\n"
               "`git apply` or `patch -p1` takes it; what was changed, and what is left to you\n"
               "and why, goes to stderr. The files themselves stay as they are. Advice that\n"
               "changes the training (precision, batch) needs --rule.\n\n"
               "  gpuprof fix train.gpuprof > faster.patch && git apply faster.patch\n"
               "  gpuprof fix --rule num-workers --source src train.gpuprof",
    .options = options,
    .run = run,
};
