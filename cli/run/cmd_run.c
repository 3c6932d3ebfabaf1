/* run: records a program. Its output, status and signals are its own; gpuprof's own lines go to
 * stderr, each with the prefix "gpuprof: ". */
#include "cli/common/command.h"
#include "cli/common/files.h"
#include "cli/load/load.h"
#include "cli/common/output.h"
#include "cli/results/results.h"
#include "cli/run/run.h"
#include "cli/run/run_plan.h"
#include "cli/run/signals.h"

#include "analyzer/profile/place.h"
#include "base/size.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST_BYTES = 64 << 20, RECORD_SIGNAL = 7 /* kill -s RTMIN+7 PID */ };

static bool force, no_record, modules, memory, armed, light, full;
static const char *output, *device, *metrics;
static char metrics_path[PATH_MAX];
static double metrics_every;
static double delay, duration;
static const char *steps, *max_size, *every, *window, *range;
static struct run_plan plan;
static int64_t max_bytes;
static struct results_options results;

static const struct option_spec options[] = {
    {"output", 'o', OPTION_STRING, &output, "FILE", "the profile, or a folder DIR/ for a job's"},
    {"force", 'f', OPTION_FLAG, &force, NULL, "replace FILE if it exists; in CI always"},
    {"device", 0, OPTION_STRING, &device, "NAME", "auto, or virtual[:MODEL] to run without a GPU"},
    {"no-record", 0, OPTION_FLAG, &no_record, NULL, "choose the device but record nothing"},
    {"steps", 0, OPTION_STRING, &steps, "A:B", "keep the steps A to B, counted from 1"},
    {"delay", 0, OPTION_DOUBLE, &delay, "S", "discard the first S seconds, record for S"},
    {"duration", 0, OPTION_DOUBLE, &duration, "S", NULL},
    {"every", 0, OPTION_STRING, &every, "M", "of M steps (or a time as 60s) N (2s) in full"},
    {"window", 0, OPTION_STRING, &window, "N", NULL},
    {"range", 0, OPTION_STRING, &range, "WHAT", "cuda-profiler (from Start to Stop), none (steps)"},
    {"light", 0, OPTION_FLAG, &light, NULL, "few steps in full, of others their times: for weeks"},
    {"full", 0, OPTION_FLAG, &full, NULL, "all steps in full"},
    {"armed", 0, OPTION_FLAG, &armed, NULL, "record only when `gpuprof record` asks for it"},
    {"max-size", 0, OPTION_STRING, &max_size, "SIZE",
     "of the profile: 500M; default 4G, 0: no limit"},
    LOAD_STEP_KERNEL(results.how),
    LOAD_REDACT(results.how),
    {"modules", 0, OPTION_FLAG, &modules, NULL, "PyTorch: module calls; memory by line"},
    {"memory", 0, OPTION_FLAG, &memory, NULL, NULL},
    {"report", 0, OPTION_FLAG, &results.report, NULL, "write the HTML page beside the profile"},
    {"metrics", 0, OPTION_STRING, &metrics, "FILE[,S]", "write Prometheus metrics every S (15) s"},
    {"strict", 0, OPTION_FLAG, &results.strict, NULL,
     "exit with 125 if the profile or records are lost"},
    {0},
};

void recorder_says(const char *profile)
{
    say("profile: %s", profile);
}

/* Checks before anything is created that the agent is there, and that the outputs may be
 * written. */
static int check_can_record(char *agent, size_t n, const char *profile, int as, struct err *e)
{
    if (run_file_agent(agent, n, e) < 0 || run_file_preloadable(agent, e) < 0)
        return -1;
    if (armed || as & PLACE_SPARE)
        return 0;
    if (output_check(profile, force, e) < 0)
        return -1;
    return results.report ? results_check_page(profile, force, e) : 0;
}

/* Waits for the program's end. Requests that come meanwhile go to the recorder. */
static void wait_for_end(struct child *c, const struct recorder *r)
{
    for (bool told = !run_in_job(); !child_wait(c, -1);) {
        for (int n = signals_ours(); n > 0; n--)
            recorder_ask(r);
        if (!told && signals_asked() == SIGTERM) {
            recorder_expect_end(r);
            told = true;
        }
    }
}

/* What the profile says of the windows: nothing, unless gpuprof chose them. */
static const char *const way_name[] = {
    [WAY_ASKED] = NULL, [WAY_FULL] = NULL, [WAY_LIGHT] = "light", [WAY_STEADY] = "enough"};

static bool are_off(const char *variable)
{
    const char *value = getenv(variable);
    return value && strcmp(value, "0") == 0;
}

/* Runs the program under the agent. Returns the exit status. */
static int record(char **argv, const struct run_device *d, const char *profile, int as)
{
    struct err e = ERR_INIT;
    char agent[PATH_MAX];
    struct run_folders folders;
    struct record_options ro = {.metrics = {metrics ? metrics_path : NULL, metrics_every},
                                .output = profile,
                                .output_as = as,
                                .redact = results.how.redact,
                                .times = plan.times,
                                /* Cutting out the steps needs a copy. */
                                .max_bytes = steps ? max_bytes / 2 : max_bytes,
                                .armed = armed,
                                .way = way_name[plan.way],
                                .no_samples = are_off("GPUPROF_SAMPLES"),
                                .report = results.report,
                                .device_choice = device,
                                .no_gpu = d->no_gpu,
                                .step_kernel = results.how.step_kernel,
                                .virtual_nvml = d->is_virtual ? d->nvml : NULL,
                                .argv = argv};
    struct child c;
    struct recorder r;
    if (check_can_record(agent, sizeof agent, profile, as, &e) < 0 ||
        run_folders_make(&folders, profile, argv[0], &e) < 0) {
        fail(&e);
        return RUN_FAILED;
    }
    struct recorder_job job = {&ro, &results, &folders};
    if (d->is_virtual) /* for the gauges, which the recorder reads */
        setenv("GPUPROF_VGPU", d->model, 1);
    if (recorder_start(&r, &job, &e) < 0) {
        fail(&e);
        return RUN_FAILED;
    }
    const struct child_record by = {agent, folders.spools, &r};
    int status = child_start(&c, argv, d, &by, &e);
    if (status != 0) {
        fail(&e);
        recorder_discard(&r);
        return status;
    }
    if (armed)
        say("armed: `gpuprof record %d` records a part of this run", (int)getpid());
    wait_for_end(&c, &r);
    int lost = recorder_finish(&r, c.status, &e);
    bool left = lost != 0 && run_folder_holds_records(folders.spools);
    if (lost != 0)
        usage_error("the program ran to its end, but %s%s%s", e.text,
                    left ? "; to recover what it recorded: gpuprof import " : "",
                    left ? folders.spools : "");
    status = child_finish(&c);
    return lost != 0 && results.strict ? RUN_FAILED : status;
}

/* Where the metrics go: named like the profile, with the rank if there are several. */
static int choose_metrics(char **argv, struct err *e)
{
    char name[PATH_MAX];
    bool own_name;
    if (!metrics)
        return 0;
    if (metrics_parse(metrics, name, sizeof name, &metrics_every, e) < 0 ||
        run_file_expand(name, argv, metrics_path, sizeof metrics_path, &own_name, e) < 0)
        return -1;
    if (own_name)
        return err_set(e, "--metrics: %s is a folder; name a file in it", name);
    results.metrics = metrics_path;
    return 0;
}

/* The profile's name, and what to do if it exists. If the user gave the name, gpuprof refuses
 * before the program starts. It takes the next free number if it chose the name itself, in a job,
 * and in a folder that collects profiles. It also does so if another run is writing this name at
 * the moment, as runs that start together do: the program then runs anyway. */
static int choose_name(char **argv, char *name, size_t n, int *as, struct err *e)
{
    bool own_name = false;
    if (!output)
        run_file_output(argv, name, n);
    else if (run_file_expand(output, argv, name, n, &own_name, e) < 0)
        return -1;
    *as = (force && !own_name ? PLACE_REPLACE : 0) |
          (own_name || !output || run_in_job() ? PLACE_SPARE : PLACE_YIELD);
    return 0;
}

/* Says before the program starts what will not be recorded. */
static void say_what_is_lost(const struct run_device *d, const char *program)
{
    if (d->no_gpu && program_is_there(program)) { /* otherwise only that is reported */
        say("no NVIDIA GPU found: gpuprof records only the host side");
        say("(--device virtual:h200 rehearses on a virtual GPU)");
    }
    const char *says = program_says(program_kind(program));
    if (says)
        say("%s %s", program, says);
}

static int run(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct run_device d;
    char name[PATH_MAX];
    int as = PLACE_NEW;
    if (argc < 1)
        return usage_error("run: name the program: gpuprof run [options] -- PROGRAM ARGS...");
    struct run_wish wish = {
        delay,  duration,
        steps,  every,
        window, range,
        armed,  light,
        full,   .all = modules || results.how.step_kernel || (metrics && !light)};
    if (plan_make(&plan, &wish, &e) < 0 || run_environment_check(&e) < 0)
        return usage_error("run: %s", e.text);
    if (armed && no_record)
        return usage_error("run: --armed excludes --no-record");
    if (access("/proc/self/exe", F_OK) != 0)
        return usage_error(
            "run: /proc is not mounted here, and gpuprof finds its own files and the "
            "program's processes through it");
    if (device_choose(&d, device, &e) < 0)
        return usage_error("run: %s", e.text);
    force = force || in_ci();
    results.first_step = plan.first_step;
    results.last_step = plan.last_step;
    if (size_parse(max_size ? max_size : "4G", &max_bytes, &e) < 0)
        return usage_error("run: --max-size: %s", e.text);
    if (max_bytes > 0 && max_bytes < LEAST_BYTES)
        return usage_error("run: --max-size %s: a profile needs at least 64M", max_size);
    if (!no_record &&
        (choose_metrics(argv, &e) < 0 || choose_name(argv, name, sizeof name, &as, &e) < 0))
        return usage_error("run: %s", e.text);
    results.quiet = quiet_wanted();
    if (modules)
        setenv("GPUPROF_MODULES", "1", 1); /* for the hook in the program */
    if (memory)
        setenv("GPUPROF_MEMORY", "1", 1);
    if (plan.window[0])
        setenv("GPUPROF_WINDOW", plan.window, 1);
    else
        unsetenv("GPUPROF_WINDOW");
    files_remember();
    signals_keep();
    if (armed)
        signals_reserve(SIGRTMIN + RECORD_SIGNAL);
    if (no_record) {
        struct child c;
        int status = child_start(&c, argv, &d, NULL, &e);
        if (status != 0) {
            fail(&e);
            return status;
        }
        while (!child_wait(&c, -1))
            ;
        return child_finish(&c);
    }
    say_what_is_lost(&d, argv[0]);
    return record(argv, &d, name, as);
}

const struct command cmd_run = {
    .name = "run",
    .usage = "[options] [--] PROGRAM ARGS...",
    .help = "profile a program without changing it",
    .details = "Runs the program unchanged, records its GPU and host side into a profile, and\n"
               "prints on stderr why the training loop is slow and what to change first. Without\n"
               "-o, the profile of a Python program is SCRIPT.gpuprof. In FILE, %h is the host,\n"
               "%r the rank, %p the process, %q{NAME} a variable of the environment.\n\n"
               "  gpuprof run python train.py\n"
               "  gpuprof run -o base.gpuprof --report -- ./train --epochs 1\n"
               "  srun gpuprof run -o profiles/ -- python train.py\n"
               "  gpuprof run --device virtual:a100-80 -- build/bin/train_conv --steps 40\n\n"
               "The exit status is that of the program (gpuprof dies by the same signal); 125 if\n"
               "gpuprof failed before the program started, 126 if the system cannot run the\n"
               "program, 127 if it does not find it.",
    .options = options,
    .run = run,
    .takes_program = true,
    .keeps_status = true,
};
