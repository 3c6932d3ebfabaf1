/* Reads the state of a thread from /proc/PID/task/TID: see proc.h. */
#include "analyzer/sampler/proc.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_file(pid_t pid, pid_t tid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool proc_open(struct proc_thread *t, pid_t pid, pid_t tid)
{
    t->schedstat = open_file(pid, tid, "schedstat"); /* not every kernel has it */
    t->stat = open_file(pid, tid, "stat");
    if (t->stat >= 0)
        return true;
    proc_close(t);
    return false;
}

void proc_close(struct proc_thread *t)
{
    if (t->schedstat >= 0)
        close(t->schedstat);
    if (t->stat >= 0)
        close(t->stat);
    t->stat = t->schedstat = -1;
}

static bool read_whole(int fd, char *text, size_t size)
{
    ssize_t n = fd >= 0 ? pread(fd, text, size - 1, 0) : -1;
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

bool proc_look(const struct proc_thread *t, struct proc_look *look)
{
    char text[1024], *end;
    *look = (struct proc_look){.turns = -1};
    if (t->schedstat >= 0) {
        if (!read_whole(t->schedstat, text, sizeof text))
            return false;
        look->cpu_ns = strtoll(text, &end, 10);
        look->queue_ns = strtoll(end, &end, 10);
        look->turns = strtoll(end, NULL, 10);
    }
    if (!read_whole(t->stat, text, sizeof text))
        return false;
    const char *name = strrchr(text, ')'); /* the name may contain spaces */
    look->state = name && name[1] == ' ' ? name[2] : 0;
    return look->state && look->state != 'Z' && look->state != 'X';
}

const char *proc_call(pid_t pid, pid_t tid)
{
    static const struct {
        long number;
        const char *name;
    } calls[] = {
        {SYS_futex, "futex"},         {SYS_clock_nanosleep, "nanosleep"},
        {SYS_nanosleep, "nanosleep"}, {SYS_wait4, "wait4"},
        {SYS_waitid, "wait4"},        {SYS_read, "read"},
        {SYS_readv, "read"},          {SYS_pread64, "read"},
        {SYS_write, "write"},         {SYS_writev, "write"},
        {SYS_pwrite64, "write"},      {SYS_fsync, "fsync"},
        {SYS_fdatasync, "fsync"},     {SYS_ppoll, "poll"},
        {SYS_pselect6, "poll"},       {SYS_epoll_pwait, "poll"},
#ifdef SYS_poll
        {SYS_poll, "poll"},           {SYS_select, "poll"},
        {SYS_epoll_wait, "poll"},
#endif
        {SYS_recvfrom, "recv"},       {SYS_recvmsg, "recv"},
        {SYS_connect, "connect"},     {SYS_accept4, "accept"},
        {SYS_ioctl, "ioctl"},         {SYS_openat, "open"},
        {SYS_flock, "flock"},         {SYS_execve, "exec"},
        {SYS_clone, "clone"},         {SYS_sched_yield, "sched_yield"},
    };
    char text[256], *end;
    int fd = open_file(pid, tid, "syscall");
    bool any = read_whole(fd, text, sizeof text);
    if (fd >= 0)
        close(fd);
    long number = any ? strtol(text, &end, 10) : 0;
    for (size_t i = 0; any && end != text && i < sizeof calls / sizeof *calls; i++)
        if (calls[i].number == number)
            return calls[i].name;
    return "";
}
