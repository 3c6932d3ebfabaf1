/* Asks the kernel about a process: whether it runs, and where its main thread is. */
#include "analyzer/collector/stuck.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t read_proc(int pid, const char *name, char *text, size_t n)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, text, n - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = 0;
    return strlen(text);
}

char stuck_state_of(int pid)
{
    char text[512];
    read_proc(pid, "stat", text, sizeof text);
    const char *end = strrchr(text, ')');
    return (char)(end && end[1] == ' ' ? end[2] : 0);
}

bool stuck_is_stopped(int pid)
{
    char state = stuck_state_of(pid);
    return state == 'T' || state == 't';
}

static const char *call_name(long number)
{
    static const struct {
        long number;
        const char *name;
    } calls[] = {{SYS_futex, "futex: a lock, or another thread"},
                 {SYS_read, "read"},
                 {SYS_recvfrom, "recvfrom: the network"},
                 {SYS_recvmsg, "recvmsg: the network"},
                 {SYS_ppoll, "ppoll"},
                 {SYS_epoll_pwait, "epoll_wait"},
                 {SYS_ioctl, "ioctl: a driver"},
                 {SYS_nanosleep, "nanosleep"},
                 {SYS_clock_nanosleep, "clock_nanosleep"},
                 {SYS_wait4, "wait4: a child process"},
                 {SYS_waitid, "waitid: a child process"},
                 {SYS_sched_yield, "sched_yield: it spins"},
#ifdef SYS_poll
                 {SYS_poll, "poll"},
                 {SYS_select, "select"},
                 {SYS_epoll_wait, "epoll_wait"},
#endif
                 {SYS_pselect6, "select"},
                 {SYS_write, "write"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i].number == number)
            return calls[i].name;
    return NULL;
}

void stuck_where(int pid, char *out, size_t n)
{
    char text[256], *end;
    char state = stuck_state_of(pid);
    if (state == 'T') {
        snprintf(out, n, "a signal has stopped it (kill -CONT %d lets it go on)", pid);
    } else if (state == 't') {
        snprintf(out, n, "a debugger holds it");
    } else if (state == 'R') {
        snprintf(out, n, "its main thread runs");
    } else {
        read_proc(pid, "syscall", text, sizeof text);
        long number = strtol(text, &end, 10);
        const char *name = end != text ? call_name(number) : NULL;
        if (!name && read_proc(pid, "wchan", text, sizeof text) && strcmp(text, "0") != 0)
            name = text;
        snprintf(out, n, "its main thread %s%s%s%s",
                 state == 'D' ? "waits for the disk or a driver" : "waits",
                 name ? " in the kernel (" : "", name ? name : "", name ? ")" : "");
    }
}
