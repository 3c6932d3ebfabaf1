/* Wraps the ways out of a process that run no atexit handler: they flush for a bounded time, seal
 * the spool, and leave as the program asked. abort and signals are not wrapped, because what is in
 * the spool survives them. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/agent.h"
#include "agent/core/resolve.h"

enum { EXIT_MS = 1000 };

static _Noreturn void leave(int status)
{
    agent_finish(EXIT_MS, false);
    for (;;)
        syscall(SYS_exit_group, status);
}

AGENT_EXPORT _Noreturn void _exit(int status)
{
    leave(status);
}

AGENT_EXPORT _Noreturn void _Exit(int status)
{
    leave(status);
}

AGENT_EXPORT _Noreturn void quick_exit(int status)
{
    agent_finish(EXIT_MS, false);
    void (*real)(int) = (void (*)(int))resolve_next("quick_exit");
    if (real)
        real(status);
    for (;;)
        syscall(SYS_exit_group, status);
}
