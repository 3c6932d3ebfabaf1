/* The parts of `gpuprof run`:
 *   run_files.c   where gpuprof's own libraries lie
 *   run_spools.c  the folders in which records lie while the program runs
 *   run_apart.c   a profile that grows on another disk than the one where it belongs
 *   run_name.c    the name of the profile
 *   run_device.c  which GPU: the real one or a virtual one
 *   run_program.c what kind of file the program is
 *   run_child.c   starts the program as if gpuprof were not there, and passes its end on
 *   signals.c     passes signals on (signals.h)
 *   run_plan.c    which windows of the run are recorded
 *   run_environment.c whether gpuprof knows what its variables are set to
 *   run_recorder.c the process that records
 *   run_record.c  reads spools while the program runs
 *   run_metrics.c metrics while the program runs
 *   run_asked.c   requests to a running gpuprof
 *   run_armed.c   windows on request, with a profile each
 *   run_host.c    facts about the host
 *   run_commit.c  the commit of the sources
 *   run_cgroup.c  limits of its control groups
 *   cmd_run.c     options and order */
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

/* A file relative to the folder of this program. -1: it does not exist. */
int run_file_beside(const char *relative, char *out, size_t n);
/* A Python script that a command runs: "fix/fix.py". -1 with *e set. */
int run_file_script(const char *name, char *out, size_t n, struct err *e);
int run_folder_virtual_gpu(char *out, size_t n); /* as built, or as installed; -1: neither exists */
/* The agent: $GPUPROF_AGENT, else the one beside this program. -1 with *e set. */
int run_file_agent(char *out, size_t n, struct err *e);
int run_file_preloadable(const char *path,
                         struct err *e); /* -1 with *e set: LD_PRELOAD would split the path */
/* The folder of the Python hook. -1: it does not exist; Python programs then run without the
 * hook. */
int run_folder_python(char *out, size_t n);
/* Default name of the profile: PROG.gpuprof, or PROG.rN.gpuprof under a launcher of ranks. PROG is
 * the script if argv starts an interpreter or a launcher. */
void run_file_output(char **argv, char *out, size_t n);
/* The name by -o: %r is the rank, %p the process, %h the host, %q{NAME} a variable of the
 * environment, %% a per cent sign. In a job of several ranks, a name without %r, %p and %q gets the
 * rank: NAME.rN.gpuprof. For a folder, which is created: a name in it, PROG.jJOB.HOST.rN.gpuprof;
 * then *own_name is set. */
int run_file_expand(const char *pattern, char **argv, char *out, size_t n, bool *own_name,
                    struct err *e);
/* -1 with *e set: one of gpuprof's variables has a value that it does not know. */
int run_environment_check(struct err *e);
bool run_in_job(void); /* a launcher of ranks has numbered this process */
bool run_folder_holds_records(const char *folder); /* of a run: spools, or the profile that grew */
/* Locks a folder of spools for this process. -1 with *e set: a run still records into it. */
int run_folder_take(const char *folder, struct err *e);
/* Folders of a run, both private, named .gpuprof-XXXXXX. They are the same folder, unless a disk of
 * this node is better for growing files: $SLURM_TMPDIR; and if the profile lies on a network file
 * system, $TMPDIR or /tmp. */
struct run_folders {
    char meeting[PATH_MAX]; /* beside the profile: gpuprofs of other nodes look for it there */
    char spools[PATH_MAX];
    /* Holds the spools' folder and the growing profile; "": beside the profile. */
    char disk[PATH_MAX];
};
/* Makes the folders for a profile `output` of `program`, and reports those that a killed gpuprof
 * has left there. -1 with *e set. */
int run_folders_make(struct run_folders *f, const char *output, const char *program, struct err *e);
void run_folders_remove(const struct run_folders *f);
void run_folder_remove_recording(const char *folder); /* ... with the profile that grew beside it */

/* Where a profile grows, and where it belongs. */
struct apart {
    char at[PATH_MAX]; /* where it grows until it is finished */
    int as;            /* enum place_as, for the name in `at` */
    bool is;           /* `at` is on another disk than the profile's name */
    struct moved moved;
};
int apart_begin(struct apart *a, const struct run_folders *f, const char *profile, int as,
                struct err *e);
const char *apart_name(const struct apart *a); /* as users see it */
/* Moves the finished profile to its name. -1 with *e set, which says where the profile is. */
int apart_end(struct apart *a, struct err *e);
void apart_release(struct apart *a);

/* ---- device ---- */

struct run_device {
    bool is_virtual;
    bool no_gpu;                 /* choice auto, and there seems to be no GPU */
    char model[256];             /* value of GPUPROF_VGPU */
    char library[PATH_MAX];      /* folder of the virtual GPU's libraries */
    char nvml[PATH_MAX];         /* the library among them that has the gauges */
    char preload[16 * PATH_MAX]; /* all of them, for LD_PRELOAD */
    /* The library that is preloaded first, for programs that would not load the others. */
    char reach[PATH_MAX];
};

/* choice: NULL, "auto", "virtual", "virtual:MODEL[,key=value...]". -1 with *e set. */
int device_choose(struct run_device *d, const char *choice, struct err *e);

/* ---- the program ---- */

struct child {
    pid_t pid;
    int status; /* from waitpid, once ended */
    bool ended;
};

enum program_kind {
    PROGRAM_PLAIN,      /* or a script, or an unknown kind */
    PROGRAM_STATIC,     /* linked statically: no loader that would preload the agent */
    PROGRAM_PRIVILEGED, /* set-user-ID or capabilities: its loader preloads nothing of gpuprof */
    PROGRAM_FOREIGN,    /* for another processor, or 32 bits */
    PROGRAM_MUSL,       /* uses another C library */
};
bool program_is_there(const char *name); /* an executable file, by its path or on the PATH */
enum program_kind program_kind(const char *name);
bool program_enters_container(const char *name); /* judged by the name of a container runtime */
/* What follows "NAME ..." in a note to the user; NULL: there is no note. */
const char *program_says(enum program_kind kind);
/* Why the system found no program of this name (ENOENT): it does not exist, or its interpreter does
 * not. */
const char *program_lacks(const char *name);
bool program_takes_agent(enum program_kind kind);

struct recorder;
/* What records the program, and where. */
struct child_record {
    const char *agent, *folder;
    const struct recorder *recorder;
};

/* Starts the program. record NULL: nothing is recorded. Returns 0, or the exit status (125-127)
 * with *e set; the recorder must then be told that no program started (recorder_discard). Call it
 * after signals_keep (signals.h), so that signals reach the program. */
int child_start(struct child *c, char **argv, const struct run_device *d,
                const struct child_record *record, struct err *e);
/* Waits up to timeout_ms (-1: for ever) for the program's end or another event. True: it has
 * ended. */
bool child_wait(struct child *c, int timeout_ms);
/* The program's own status. If a signal killed it, this process kills itself by the same one. */
int child_finish(const struct child *c);

/* ---- recording ---- */

struct metrics_options {
    const char *path; /* NULL: no metrics */
    double every_s;
};

struct record_options {
    struct metrics_options metrics;
    const char *output;
    int output_as; /* enum place_as: whether it may replace a file, or take another name */
    bool redact;   /* also leave out of the profile who ran it and where */
    struct collect_times times; /* all 0: the whole run */
    int64_t max_bytes;          /* of profile and spools; 0: no limit */
    bool armed;                 /* record only windows on request */
    const char
        *way; /* "light" or "enough": gpuprof chooses the windows; NULL: all, or the options */
    bool no_samples; /* do not sample Python's stacks */
    bool report;     /* for those windows: write the page beside each profile */
    const char *device_choice;
    bool no_gpu; /* as in struct run_device */
    /* Part of the name of a kernel that runs once in each step; every analysis of the profile uses
     * it. NULL: none. */
    const char *step_kernel;
    const char *virtual_nvml; /* NULL: the GPUs are real */
    char *const *argv;
};

/* ---- metrics while it runs (run_metrics.c) ---- */

/* Reads FILE or FILE,SECONDS. */
int metrics_parse(const char *text, char *path, size_t n, double *every_s, struct err *e);
struct metrics;
struct metrics *metrics_open(const struct metrics_options *o, struct sink inner, struct err *e);
struct sink metrics_sink(struct metrics *m); /* passes all rows on to the inner sink */
void metrics_tick(struct metrics *m, struct collector *c); /* writes the file if it is time */
/* For run --armed, where no profile of the whole run is made: call metrics_end_begin before the
 * collector writes what it has at the end, and metrics_end afterwards. */
void metrics_end_begin(struct metrics *m);
int metrics_end(struct metrics *m, struct collector *c, struct err *e);
void metrics_close(struct metrics *m);

struct recording;

/* at: where the profile grows; NULL with o->armed, since each window has its own profile. */
struct recording *record_open(const struct record_options *o, const struct run_folders *folders,
                              const struct apart *at, struct err *e);
/* Reads what the spools hold. A failure (a full disk) is remembered, and the program goes on. */
void record_drain(struct recording *r);
int record_pause_ms(const struct recording *r); /* until the next call of record_drain */
/* SIGKILL may come soon, and the program goes on: records no more of it, so that record_finish takes as short as it can. */
void record_hurry(struct recording *r);
/* ended: the program's status from waitpid; -1: unknown. 0: the profile is finished. */
int record_finish(struct recording *r, int ended, struct err *e);
/* Its name, which may differ from the wanted one. */
const char *record_profile(const struct recording *r);
void record_ask(struct recording *r); /* the signal that asks for a window has come */
void record_close(struct recording *r);

/* ---- the process that records ---- */

struct results_options;
struct recorder_job { /* must outlive the recorder */
    const struct record_options *record;
    const struct results_options *results;
    const struct run_folders *folders; /* the recorder removes them at the end */
};
struct recorder {
    pid_t pid;
    int line;
};
/* 0: the recorder is ready, and the program can start. -1 with *e set; the folder is then
 * removed. */
int recorder_start(struct recorder *r, const struct recorder_job *job, struct err *e);
/* Called in the program's process before it becomes the program. It tells the recorder the
 * program's pid, because gpuprof's own process may be killed at any moment. */
void recorder_follow(const struct recorder *r, pid_t program);
void recorder_ask(const struct recorder *r); /* the signal that asks for a window has come */
/* A batch system has asked the program to end, and will kill all processes if it does not. The
 * recorder finishes the profile before that. */
void recorder_expect_end(const struct recorder *r);
/* Call it when the program has ended, with its status from waitpid. Waits until the profile is
 * finished. -1 with *e set: the profile is lost. */
int recorder_finish(const struct recorder *r, int ended, struct err *e);
void recorder_discard(const struct recorder *r); /* no program was started */
void recorder_says(const char *profile);         /* prints where the profile is */

/* ---- host ---- */

/* The commit of the working folder's repository; NULL: unknown. */
const char *run_commit(void);

/* CPUs that the cgroup of this process and those above it grant (v2 or v1); 0: no limit. */
double host_cgroup_cpus(void);
double host_cgroup_memory(void); /* in bytes, in the same way */
struct collector;
/* For each cgroup: periods in which its CPU limit applied, and those in which it was used up. */
enum { HOST_GROUPS = 16 };
struct host_periods {
    size_t n;
    double periods[HOST_GROUPS], throttled[HOST_GROUPS];
    double idle_s,
        at_s; /* Idle time of the usable cores so far, in sum; and when it was read. -1: unknown. */
};
void host_cgroup_periods(struct host_periods *p);
/* Also reads how idle the cores are. Called before the program starts. */
void host_remember_periods(struct host_periods *p);
/* Writes cores, limits, kernel and processor into the profile. */
void host_put_facts(struct collector *c);
/* Writes the cgroup whose CPU limit stopped the program most since `before`; nothing without a
 * limit. */
void host_put_limited(struct collector *c, const struct host_periods *before);

#endif
