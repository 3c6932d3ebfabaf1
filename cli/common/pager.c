/* Shows output through a pager (pager.h). */
#include "cli/common/pager.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* True if the first word of the command is a program that can be run. */
static bool installed(const char *command)
{
    const char *path = getenv("PATH");
    size_t n = strcspn(command, " ");
    char file[PATH_MAX];
    if (memchr(command, '/', n)) {
        snprintf(file, sizeof file, "%.*s", (int)n, command);
        return access(file, X_OK) == 0;
    }
    for (const char *p = path; p && *p; p += strcspn(p, ":"), p += *p == ':') {
        snprintf(file, sizeof file, "%.*s/%.*s", (int)strcspn(p, ":"), p, (int)n, command);
        if (access(file, X_OK) == 0)
            return true;
    }
    return false;
}

static const char *wanted(void)
{
    const char *own = getenv("GPUPROF_PAGER"), *all = getenv("PAGER"), *term = getenv("TERM");
    const char *command = own ? own : all ? all : "less";
    bool none = !*command || strcmp(command, "cat") == 0;
    return none || !term || strcmp(term, "dumb") == 0 || !installed(command) ? NULL : command;
}

void pager_open(struct pager *p)
{
    const char *command = wanted();
    int ends[2];
    *p = (struct pager){0};
    if (!command || fflush(stdout) || pipe2(ends, O_CLOEXEC) < 0)
        return;
    setenv("LESS", "FRX", 0);
    int terminal = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    pid_t pid = terminal < 0 ? -1 : fork();
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (pid > 0) {
        dup2(ends[1], STDOUT_FILENO);
        *p = (struct pager){pid, terminal};
    } else if (terminal >= 0)
        close(terminal);
    close(ends[0]);
    close(ends[1]);
}

void pager_close(struct pager *p)
{
    if (!p->pid)
        return;
    fflush(stdout);
    dup2(p->terminal, STDOUT_FILENO); /* closes the pager's input */
    close(p->terminal);
    waitpid(p->pid, NULL, 0);
    *p = (struct pager){0};
}
