/* view: opens a trace in ui.perfetto.dev. The page fetches it from here, once, over loopback; the
 * trace goes nowhere else. */
#include "cli/command.h"
#include "cli/export_to.h"
#include "cli/load.h"
#include "cli/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool no_open;
static int timeout_s = 120;

static const struct option_spec options[] = {
    {"no-open", 0, OPTION_FLAG, &no_open, NULL, "print the address instead of opening a browser"},
    {"timeout", 0, OPTION_INT, &timeout_s, "S", "wait so long for the browser (default 120)"},
    LOAD_REDACT,
    {0},
};

static bool is_trace(const char *path)
{
    size_t n = strlen(path);
    return (n > 5 && !strcmp(path + n - 5, ".json")) ||
           (n > 8 && !strcmp(path + n - 8, ".json.gz"));
}

/* Starts the desktop's browser; its own output is not ours. */
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
        say("no browser could be started; open the address above");
}

static int serve(const char *path, const char *name)
{
    struct err e = ERR_INIT;
    struct server s;
    char url[256];
    if (server_open(&s, path, name, &e))
        return fail(&e);
    snprintf(url, sizeof url, "https://ui.perfetto.dev/#!/?url=http://127.0.0.1:%d/%s", SERVE_PORT,
             name);
    printf("%s\n", url);
    fflush(stdout);
    if (!no_open)
        open_browser(url);
    int rc = server_run(&s, timeout_s, &e);
    server_close(&s);
    return rc ? fail(&e) : 0;
}

/* A profile is exported into a file that has no name any more once it is served. */
static int export_and_serve(const char *path)
{
    struct err e = ERR_INIT;
    struct loaded l;
    const char *tmp = getenv("TMPDIR");
    char trace[4096];
    snprintf(trace, sizeof trace, "%s/gpuprof-view-%d.json.gz", tmp && *tmp ? tmp : "/tmp",
             (int)getpid());
    if (load_analysis(&path, 1, &l, &e))
        return fail(&e);
    struct exported what = {.analysis = l.analysis};
    struct export_options o = load_options(&l, path);
    int rc = export_to(exporter_find("chrome"), &what, &o, trace, false, &e);
    load_release(&l);
    if (rc)
        return fail(&e);
    int status = serve(trace, "trace.json.gz");
    unlink(trace);
    return status;
}

static int run(int argc, char **argv)
{
    if (argc != 1)
        return usage_error("view: name one profile or trace: gpuprof view X.json.gz");
    if (timeout_s < 1)
        return usage_error("view: --timeout wants seconds from 1 up");
    if (!is_trace(argv[0]))
        return export_and_serve(argv[0]);
    size_t n = strlen(argv[0]);
    return serve(argv[0], strcmp(argv[0] + n - 3, ".gz") == 0 ? "trace.json.gz" : "trace.json");
}

const struct command cmd_view = {
    .name = "view",
    .usage = "[--no-open] FILE|X.json[.gz]",
    .help = "open the trace in ui.perfetto.dev",
    .details =
        "Serves that one file on 127.0.0.1, once, to the page that the browser loads. The page\n"
        "works in the browser and uploads nothing, but loading it needs a network.",
    .options = options,
    .run = run,
};
