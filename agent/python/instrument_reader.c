/* Lets the recorder read this Python process from outside (docs/lines.md), where the kernel would
 * refuse it: with kernel.yama.ptrace_scope 1 a process may be read by its ancestors alone, unless
 * it names another one. A program that names one later, for its own debugger, replaces ours. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/core/instrument.h"
#include "agent/python/hook.h"

static int recorder; /* 0: it needs no leave, or nothing is known of it */

static bool asks_for_leave(void)
{
    char scope = 0;
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, &scope, 1) == 1 && scope == '1';
    if (fd >= 0)
        close(fd);
    return is;
}

/* PID:INODE, the inode of its namespace of pids: in another one the number is another process. */
static int recorder_here(const char *told)
{
    char *end, space[64] = ""; /* pid:[INODE]; stat would need a newer C library */
    long pid = told ? strtol(told, &end, 10) : 0;
    if (pid <= 0 || *end != ':' || readlink("/proc/self/ns/pid", space, sizeof space - 1) < 6 ||
        strtoull(end + 1, NULL, 10) != strtoull(space + sizeof "pid:[" - 1, NULL, 10))
        return 0;
    return (int)pid;
}

/* Also of a forked child, which does not inherit the leave. */
static void let_read(void)
{
    if (recorder)
        prctl(PR_SET_PTRACER, (unsigned long)recorder, 0, 0, 0);
}

static char *load(int argc, char **argv)
{
    (void)argc, (void)argv;
    const char *told = agent_env("GPUPROF_RECORDER");
    if (told && hook_is_python() && asks_for_leave())
        recorder = recorder_here(told);
    let_read();
    return NULL;
}

const struct instrument instrument_reader = {.load = load, .forget = let_read};
