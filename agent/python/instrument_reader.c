/* Lets the recorder read this Python process from outside (docs/lines.md) where the kernel would
 * refuse it. With kernel.yama.ptrace_scope 1 only a process's ancestors may read it, and one other
 * process that it names. If the program later names another one, for its own debugger, that one
 * takes the recorder's place. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/core/instrument.h"
#include "agent/core/old_names.h"
#include "agent/python/hook.h"

OLD_NUMBER(strtol);
OLD_NUMBER(strtoull);

static int recorder; /* its pid; 0: it needs no permission, or its pid is unknown */

static bool asks_for_leave(void)
{
    char scope = 0;
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, &scope, 1) == 1 && scope == '1';
    if (fd >= 0)
        close(fd);
    return is;
}

/* The recorder's pid from PID:INODE, or 0. INODE identifies the namespace of pids: in another
 * namespace the number would be another process. */
static int recorder_here(const char *told)
{
    char *end, space[64] = ""; /* pid:[INODE]; stat would need a newer C library */
    long pid = told ? strtol(told, &end, 10) : 0;
    if (pid <= 0 || *end != ':' || readlink("/proc/self/ns/pid", space, sizeof space - 1) < 6 ||
        strtoull(end + 1, NULL, 10) != strtoull(space + sizeof "pid:[" - 1, NULL, 10))
        return 0;
    return (int)pid;
}

/* Gives the permission. A forked child calls it too, because it does not inherit it. */
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
