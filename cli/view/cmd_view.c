/* view: opens a trace in ui.perfetto.dev. The page fetches the trace from this process, once, over
 * loopback; the trace goes nowhere else. */
#include "cli/common/command.h"
#include "cli/results/export_to.h"
#include "cli/lint/lint.h"
#include "cli/load/load.h"
#include "cli/load/newest.h"
#include "cli/view/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static bool no_open;
static struct load_how how;
static int timeout_s = 120;

static const struct option_spec options[] = {
    {"no-open", 0, OPTION_FLAG, &no_open, NULL, "print the address, open no browser"},
    {"timeout", 0, OPTION_INT, &timeout_s, "S", "seconds to wait for the browser (default 120)"},
    LOAD_REDACT(how),
    {0},
};

static bool is_trace(const char *path)
{
    size_t n = strlen(path);
    return (n > 5 && !strcmp(path + n - 5, ".json")) ||
           (n > 8 && !strcmp(path + n - 8, ".json.gz"));
}

/* Starts the desktop's browser, without its output. */
static void open_browser(const char *url)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(127);
        execlp("xdg-open", "xdg-open", url, (char *)NULL);
        execlp("open", "open", url, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        say("cannot start a browser; open the address above");
}

/* Serves `file`, and closes it. */
static int serve(int file, const char *name)
{
    struct err e = ERR_INIT;
    struct server s;
    char url[256];
    if (server_open(&s, file, name, &e))
        return fail(&e);
    snprintf(url, sizeof url, "https://ui.perfetto.dev/#!/?url=http://127.0.0.1:%d%s", SERVE_PORT,
             s.path);
    printf("%s\n", url);
    fflush(stdout);
    if (!no_open)
        open_browser(url);
    int rc = server_run(&s, timeout_s, &e);
    server_close(&s);
    return rc ? fail(&e) : 0;
}

/* Exports a profile into memory, so that no file is left, however this process ends. */
static int export_and_serve(const char *path)
{
    struct err e = ERR_INIT;
    struct loaded l;
    if (load_analysis(&path, 1, &how, &l, &e))
        return fail(&e);
    struct exported what = {.analysis = l.analysis};
    struct export_options o = load_options(&l, path);
    int file = memfd_create("gpuprof-view", MFD_CLOEXEC);
    int rc = file < 0 ? err_set(&e, "no memory for the trace: %s", strerror(errno))
                      : export_to_fd(exporter_find("chrome"), &what, &o, file, &e);
    load_release(&l);
    if (rc == 0)
        return serve(file, "trace.json.gz");
    if (file >= 0)
        close(file);
    return fail(&e);
}

/* Warns about a damaged trace: viewers show only what comes before the damage, or nothing, without
 * saying so. */
static void warn_if_damaged(const char *path)
{
    struct err e = ERR_INIT;
    struct lint l = {0};
    if (lint_read(&l, path, &e))
        warn("%s; the viewer may show a part of it or nothing", e.text);
    lint_release(&l);
}

static int serve_file(const char *path)
{
    size_t n = strlen(path);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return usage_error("cannot read %s: %s", path, strerror(errno));
    warn_if_damaged(path);
    return serve(file, strcmp(path + n - 3, ".gz") == 0 ? "trace.json.gz" : "trace.json");
}

static int run(int argc, char **argv)
{
    if (newest_if_none("view", &argc, &argv))
        return 2;
    if (argc != 1)
        return usage_error("view: name one profile or trace: gpuprof view X.json.gz");
    if (timeout_s < 1)
        return usage_error("view: --timeout needs seconds, at least 1");
    return is_trace(argv[0]) ? serve_file(argv[0]) : export_and_serve(argv[0]);
}

const struct command cmd_view = {
    .name = "view",
    .usage = "[--no-open] [FILE|X.json[.gz]]",
    .help = "open the trace in ui.perfetto.dev",
    .details = "Serves this one file on 127.0.0.1, once, to the page that the browser loads,\n"
               "under an address that nobody else can guess. The page runs in the browser and\n"
               "uploads nothing, but loading it needs a network.",
    .options = options,
    .run = run,
};
