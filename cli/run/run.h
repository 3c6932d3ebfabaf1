/* The parts of `gpuprof run`.
 *   run_files.c   where our own libraries lie
 *   run_spools.c  the folders in which the records lie while it runs
 *   run_apart.c   a profile that grows on another disk than the one where it belongs
 *   run_name.c    the name of the profile
 *   run_device.c  which GPU: the real one or a virtual one
 *   run_program.c what kind of file the program is
 *   run_child.c   starts the program as if we were not there, and passes its end on
 *   signals.c     passes signals on (signals.h)
 *   run_plan.c    which windows of the run are recorded
 *   run_recorder.c the process that records
 *   run_record.c  drains spools while it runs
 *   run_metrics.c metrics while it runs
 *   run_asked.c   what somebody asks of a run that goes on
 *   run_armed.c   windows that somebody asks for, a profile each
 *   run_host.c    facts about the host
 *   run_commit.c  the commit of the sources
 *   run_cgroup.c  limits of its control groups
 *   cmd_run.c     options and order
 */
#ifndef GPUPROF_CLI_RUN_RUN_H
#define GPUPROF_CLI_RUN_RUN_H

#include "analyzer/collector/collect.h"
#include "analyzer/profile/place.h"
#include "base/err.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RUN_FAILED = 125, RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127 };

/* ---- files and folders ---- */

/* A file relative to the folder of this program. 0, or -1 when it is not there. */
int run_file_beside(const char *relative, char *out, size_t n);
int run_folder_virtual_gpu(char *out,
                           size_t n); /* as built, or as installed; -1: neither is there */
/* The agent: $GPUPROF_AGENT, else beside us. -1 with *e set. */
int run_file_agent(char *out, size_t n, struct err *e);
int run_file_preloadable(const char *path,
                         struct err *e); /* -1 with *e set: LD_PRELOAD would split it */
/* The folder of the Python hook. -1 when it is not there: Python programs run without it. */
int run_folder_python(char *out, size_t n);
/* Default name of the profile: PROG.gpuprof, PROG.rN.gpuprof under a launcher of ranks; PROG is the
 * script where argv is an interpreter or a launcher. */
void run_file_output(char **argv, char *out, size_t n);
/* The name that -o gives: %r rank, %p process, %h host, %q{NAME} of the environment, %% itself. In
 * one of several ranks a name without %r, %p and %q gets the rank: NAME.rN.gpuprof. Of a folder,
 * which is made, a name in it, PROG.jJOB.HOST.rN.gpuprof: *own_name. */
int run_file_expand(const char *pattern, char **argv, char *out, size_t n, bool *own_name,
                    struct err *e);
bool run_in_job(void); /* a launcher of ranks has numbered this process */
bool run_folder_holds_records(const char *folder); /* of a run: spools, or the profile that grew */
/* Takes a folder of spools for this process. -1 with *e set: a run still records into it. */
int run_folder_take(const char *folder, struct err *e);
/* Folders of a run that goes on, both private, .gpuprof-XXXXXX. They are one unless a disk of this
 * node is better for what grows: $SLURM_TMPDIR, and where the profile lies on a network file system
 * $TMPDIR or /tmp. */
struct run_folders {
    char meeting[PATH_MAX]; /* beside the profile: gpuprofs of other nodes look there */
    char spools[PATH_MAX];
    char disk[PATH_MAX]; /* in which the spools' folder lies and the profile grows; "": beside */
};
/* Makes them for a profile `output` of `program`; tells of those that a killed gpuprof left there.
 * -1 with *e set. */
int run_folders_make(struct run_folders *f, const char *output, const char *program, struct err *e);
void run_folders_remove(const struct run_folders *f);
void run_folder_remove_recording(const char *folder); /* ... and the profile that grew beside it */

/* Where a profile grows, and where it belongs. */
struct apart {
    char at[PATH_MAX]; /* it grows there, and is finished there */
    int as;            /* enum place_as, for that name */
    bool is;           /* on another disk than its name */
    struct moved moved;
};
int apart_begin(struct apart *a, const struct run_folders *f, const char *profile, int as,
                struct err *e);
const char *apart_name(const struct apart *a); /* as users see it */
/* It is finished: it goes where it belongs. -1 with *e set: it is not there, and *e tells where. */
int apart_end(struct apart *a, struct err *e);
void apart_release(struct apart *a);

/* ---- device ---- */

struct run_device {
    bool is_virtual;
    bool no_gpu;                 /* auto, and none seems to be here */
    char model[256];             /* GPUPROF_VGPU's value */
    char library[PATH_MAX];      /* folder of the virtual GPU's libraries */
    char nvml[PATH_MAX];         /* of them: whom to ask about its gauges */
    char preload[16 * PATH_MAX]; /* all of them, for LD_PRELOAD */
    /* of them: preloaded first, for programs that would not load the others */
    char reach[PATH_MAX];
};

/* choice: NULL, "auto", "virtual", "virtual:MODEL[,key=value...]". -1 with *e set. */
int device_choose(struct run_device *d, const char *choice, struct err *e);

/* ---- the program ---- */

struct child {
    pid_t pid;
    int status; /* of waitpid, once ended */
    bool ended;
};

enum program_kind {
    PROGRAM_PLAIN,      /* or a script, or nothing that we know */
    PROGRAM_STATIC,     /* no loader that would preload */
    PROGRAM_PRIVILEGED, /* set-user-ID or capabilities: the loader preloads nothing of ours */
    PROGRAM_FOREIGN,    /* another processor, or 32 bits */
    PROGRAM_MUSL,       /* another C library */
};
bool program_is_there(const char *name); /* a file that may be run, with a slash or on the PATH */
enum program_kind program_kind(const char *name);
bool program_enters_container(const char *name); /* a runtime of containers, by its name */
/* What follows "NAME ..." in a note to the user; NULL: nothing to say. */
const char *program_says(enum program_kind kind);
/* Why the system found no program of this name (ENOENT): there is none, or what should interpret it is missing. */
const char *program_lacks(const char *name);
bool program_takes_agent(enum program_kind kind);

struct recorder;
/* Who records the program, and where. */
struct child_record {
    const char *agent, *folder;
    const struct recorder *recorder;
};

/* `record` NULL: nothing is recorded. Returns 0, or the status to leave with (125-127) after *e is
 * set; the recorder then has to be told that nothing started (recorder_discard). After signals_keep
 * (signals.h): they reach the program. */
int child_start(struct child *c, char **argv, const struct run_device *d,
                const struct child_record *record, struct err *e);
/* Waits up to timeout_ms (-1: for ever) for its end, or another piece of news. */
bool child_wait(struct child *c, int timeout_ms);
/* The program's own status; when it died by a signal this process dies by the same one. */
int child_finish(const struct child *c);

/* ---- recording ---- */

struct metrics_options {
    const char *path; /* NULL: none */
    double every_s;
};

struct record_options {
    struct metrics_options metrics;
    const char *output;
    int output_as; /* enum place_as: may it replace a file, may it take another name? */
    bool redact;   /* keep out of the profile what tells who ran it and where, too */
    struct collect_times times; /* all 0: the whole run */
    int64_t max_bytes;          /* of profile and spools; 0 = no limit */
    bool armed;                 /* windows that somebody asks for, and nothing else */
    bool no_samples;            /* of Python's stacks */
    bool report;                /* of those: write the page beside each */
    const char *device_choice;
    bool no_gpu;              /* as run_device's */
    const char *step_kernel;  /* part of the name of a kernel that runs once in each step, NULL:
                                 every analysis of the profile takes these steps */
    const char *virtual_nvml; /* NULL: the GPUs are real */
    char *const *argv;
};

/* ---- metrics while it runs (run_metrics.c) ---- */

/* FILE or FILE,SECONDS. */
int metrics_parse(const char *text, char *path, size_t n, double *every_s, struct err *e);
struct metrics;
struct metrics *metrics_open(const struct metrics_options *o, struct sink inner, struct err *e);
struct sink metrics_sink(struct metrics *m);               /* hands all rows on to the inner one */
void metrics_tick(struct metrics *m, struct collector *c); /* writes the file if it is time */
/* Where no profile of the whole run tells of its end (run --armed): metrics_end_begin before the
 * collector puts what it has at the end, metrics_end afterwards. */
void metrics_end_begin(struct metrics *m);
int metrics_end(struct metrics *m, struct collector *c, struct err *e);
void metrics_close(struct metrics *m);

struct recording;

/* at: where the profile grows. With o->armed NULL: each window has a profile of its own. */
struct recording *record_open(const struct record_options *o, const struct run_folders *folders,
                              const struct apart *at, struct err *e);
/* Takes what is there; a failure (a full disk) is remembered, the program goes on untouched. */
void record_drain(struct recording *r);
int record_pause_ms(const struct recording *r); /* until the next drain */
/* ended: waitpid's status of the program, -1 where it is not known. 0 when the profile is in place.
 */
int record_finish(struct recording *r, int ended, struct err *e);
const char *record_profile(const struct recording *r); /* its name, perhaps not the wanted one */
void record_ask(struct recording *r);                  /* the signal came that asks for a window */
void record_close(struct recording *r);

/* ---- the process that records ---- */

struct results_options;
struct recorder_job { /* outlives the recorder */
    const struct record_options *record;
    const struct results_options *results;
    const struct run_folders *folders; /* the recorder removes them at the end */
};
struct recorder {
    pid_t pid;
    int line;
};
/* 0: it is ready, the program can start. -1 with *e set; the folder is gone then. */
int recorder_start(struct recorder *r, const struct recorder_job *job, struct err *e);
/* Called in the program's process before it is the program: this process may be killed at any
 * moment, and the recorder must know whose records come all the same. */
void recorder_follow(const struct recorder *r, pid_t program);
void recorder_ask(const struct recorder *r); /* the signal came that asks for a window */
/* A batch system has asked the program to end, and will kill all of us if it does not: the profile
 * is finished before that. */
void recorder_expect_end(const struct recorder *r);
/* The program has ended, with waitpid's status: waits until the profile is in place, and says what
 * it says. -1 with *e set: it is lost. */
int recorder_finish(const struct recorder *r, int ended, struct err *e);
void recorder_discard(const struct recorder *r); /* there was no program */
void recorder_says(const char *profile);         /* where the profile is */

/* ---- host ---- */

/* The commit of the working folder's repository; NULL: not known. */
const char *run_commit(void);

/* CPUs that the cgroup of this process and those above it grant (v2 or v1), 0 = no limit. */
double host_cgroup_cpus(void);
double host_cgroup_memory(void); /* bytes, the same way */
struct collector;
/* Of each group: periods in which its CPU limit was enforced, and those in which it was used up. */
enum { HOST_GROUPS = 16 };
struct host_periods {
    size_t n;
    double periods[HOST_GROUPS], throttled[HOST_GROUPS];
    double idle_s,
        at_s; /* of the usable cores: idle so far, all together; and when; -1 = not known */
};
void host_cgroup_periods(struct host_periods *p);
/* The same, and how idle the cores are: before the program. */
void host_remember_periods(struct host_periods *p);
/* Cores, limits, kernel and processor, into the profile. */
void host_put_facts(struct collector *c);
/* Of the group whose CPU limit held the program most since `before`; nothing without a limit. */
void host_put_limited(struct collector *c, const struct host_periods *before);

#endif
