/* A Python program as a child process that runs until the test ends it, for tests that read it from
 * outside. */
#ifndef GPUPROF_TESTS_PYTHON_CHILD_H
#define GPUPROF_TESTS_PYTHON_CHILD_H

#include "tests/unit/test.h"
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct python_child {
    pid_t pid;
    char script[128];
    int says; /* the pipe with its output */
};

/* The i-th Python: "python3", then each of GPUPROF_TEST_PYTHONS; NULL: there are no more. */
static inline const char *python_number(int i)
{
    static char list[4096];
    const char *more = getenv("GPUPROF_TEST_PYTHONS");
    if (i == 0)
        return "python3";
    snprintf(list, sizeof list, "%s", more ? more : "");
    char *at = strtok(list, ":");
    while (at && --i > 0)
        at = strtok(NULL, ":");
    return at;
}

/* Starts the program and waits for the first line that it prints. False: this Python does not
 * exist. */
static inline bool python_start(struct python_child *c, const char *python, const char *text,
                                char *line, size_t size)
{
    int out[2];
    snprintf(c->script, sizeof c->script, "/tmp/gpuprof-\xc3\xa4\xe6\x97\xa5-%d.py", (int)getpid());
    FILE *f = fopen(c->script, "w");
    ck_assert(f && fputs(text, f) >= 0 && fclose(f) == 0 && pipe(out) == 0);
    c->pid = fork();
    if (c->pid == 0) {
        setpgid(0, 0);
        dup2(out[1], 1);
        execlp(python, python, c->script, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    c->says = out[0];
    FILE *said = fdopen(dup(out[0]), "r");
    bool ready = fgets(line, (int)size, said) != NULL;
    fclose(said);
    if (!ready)
        printf("skipped: no %s\n", python);
    return ready;
}

static inline void python_end(struct python_child *c)
{
    kill(-c->pid, SIGKILL);
    waitpid(c->pid, NULL, 0);
    close(c->says);
    unlink(c->script);
}

#endif
