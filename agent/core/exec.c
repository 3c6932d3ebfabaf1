/* Wraps the exec calls. exec discards the process's memory, and in it the names of the kernels that
 * the program launched just before, so the instruments read these names first. The process may also
 * go on, since exec can fail. In a forked child, where few functions may be called, the wrappers
 * only make the call. */
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/instrument.h"
#include "agent/core/resolve.h"

extern char **environ;

typedef int exec_call(const char *path, char *const argv[], char *const envp[]);
static struct {
    exec_call *execve, *execvpe;
    int (*fexecve)(int fd, char *const argv[], char *const envp[]);
} next; /* found while the process has one thread: a forked child may not ask ld.so */

void exec_load(void)
{
    next.execve = (exec_call *)resolve_next("execve");
    next.execvpe = (exec_call *)resolve_next("execvpe");
    next.fexecve = (int (*)(int, char *const[], char *const[]))resolve_next("fexecve");
}

static void read_names(void)
{
    int saved = errno;
    if (agent.page && agent_recording() && (int)syscall(SYS_getpid) == agent.pid)
        instruments_replaced();
    errno = saved;
}

AGENT_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    read_names();
    return next.execve ? next.execve(path, argv, envp) : (int)syscall(SYS_execve, path, argv, envp);
}

AGENT_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    read_names();
    if (!next.execvpe) /* called before our constructor */
        exec_load();
    errno = ENOSYS;
    return next.execvpe ? next.execvpe(file, argv, envp) : -1;
}

AGENT_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    read_names();
    if (!next.fexecve)
        exec_load();
    errno = ENOSYS;
    return next.fexecve ? next.fexecve(fd, argv, envp) : -1;
}

AGENT_EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

AGENT_EXPORT int execvp(const char *file, char *const argv[])
{
    return execvpe(file, argv, environ);
}

/* Collects the arguments of a call whose list ends with NULL into `argv`. They lie on the stack,
 * since this may be a forked child, which must not allocate. */
#define WORDS(first, call)                                                                         \
    va_list all;                                                                                   \
    size_t n = 1;                                                                                  \
    va_start(all, first);                                                                          \
    while (va_arg(all, char *))                                                                    \
        n++;                                                                                       \
    va_end(all);                                                                                   \
    char **argv = __builtin_alloca((n + 1) * sizeof *argv);                                        \
    argv[0] = (char *)(uintptr_t)first;                                                            \
    va_start(all, first);                                                                          \
    for (size_t i = 1; i <= n; i++)                                                                \
        argv[i] = va_arg(all, char *);                                                             \
    call;                                                                                          \
    va_end(all)

AGENT_EXPORT int execl(const char *path, const char *first, ...)
{
    WORDS(first, int rc = execve(path, argv, environ));
    return rc;
}

AGENT_EXPORT int execlp(const char *file, const char *first, ...)
{
    WORDS(first, int rc = execvpe(file, argv, environ));
    return rc;
}

AGENT_EXPORT int execle(const char *path, const char *first, ...)
{
    WORDS(first, int rc = execve(path, argv, va_arg(all, char **)));
    return rc;
}
