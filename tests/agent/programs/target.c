/* A program that ends, forks, execs and misbehaves in the ways that programs do.
 * tests/agent/transparent.sh runs it with and without the agent and compares its output. It does
 * not use CUDA; if GPUPROF_TEST_MARKS is set, it makes NVTX ranges, so that the agent is active. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "agent/gpuprof.h"

static int marks;

static void work(const char *name)
{
    if (!marks)
        return;
    for (int i = 0; i < 100; i++) {
        errno = 7;
        nvtxRangePushA(name);
        gpuprof_step_begin();
        gpuprof_step_end();
        nvtxRangePop();
        if (errno != 7)
            printf("errno was changed\n");
    }
}

static int wait_for(pid_t pid)
{
    int status;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void *thread(void *arg)
{
    work("thread");
    return arg;
}

static int threads(void)
{
    pthread_t t[64];
    for (int i = 0; i < 64; i++)
        pthread_create(&t[i], NULL, thread, NULL);
    for (int i = 0; i < 64; i++)
        pthread_join(t[i], NULL);
    printf("joined\n");
    return 3;
}

static int forks(void)
{
    for (int i = 0; i < 4; i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            work("child");
            printf("child %d\n", i);
            fflush(stdout);
            if (i == 0)
                exit(10);
            if (i == 1)
                _exit(11);
            if (i == 2)
                abort();
            raise(SIGKILL);
        }
        printf("ended %d\n", wait_for(pid));
    }
    return 4;
}

static int vforks(void)
{
    pid_t pid = vfork();
    if (pid == 0)
        _exit(12);
    work("after");
    printf("ended %d\n", wait_for(pid));
    return 5;
}

static int execs(char **argv)
{
    char *args[] = {argv[0], "exit", NULL};
    fflush(stdout);
    execv(argv[0], args);
    return 99;
}

static int close_all(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    work("closed");
    int fd = open("/dev/null", O_RDONLY);
    printf("next descriptor %d\n", fd);
    return 6;
}

static int go_away(void)
{
    if (chdir("/") != 0 || (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0))
        return 98;
    work("elsewhere");
    pthread_t t;
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    printf("gone\n");
    return 7;
}

static int limited(void)
{
    struct rlimit files = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &files); /* a file beyond this kills by SIGXFSZ */
    work("limited");
    printf("alive\n");
    return 8;
}

static void on_signal(int n)
{
    work("handler");
    _exit(20 + n % 10);
}

static int handled(void)
{
    signal(SIGSEGV, on_signal);
    raise(SIGSEGV);
    return 97;
}

static void quick(void)
{
    printf("quick\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    marks = getenv("GPUPROF_TEST_MARKS") != NULL;
    printf("%s %d\n", mode, nvtxRangePushA("outer"));
    nvtxRangePop();
    work("main");
    fprintf(stderr, "to stderr\n");
    if (strcmp(mode, "exit") == 0)
        exit(2);
    if (strcmp(mode, "threads") == 0)
        return threads();
    if (strcmp(mode, "fork") == 0)
        return forks();
    if (strcmp(mode, "vfork") == 0)
        return vforks();
    if (strcmp(mode, "exec") == 0)
        return execs(argv);
    if (strcmp(mode, "closefds") == 0)
        return close_all();
    if (strcmp(mode, "away") == 0)
        return go_away();
    if (strcmp(mode, "limit") == 0)
        return limited();
    if (strcmp(mode, "handler") == 0)
        return handled();
    fflush(stdout);
    if (strcmp(mode, "_exit") == 0)
        _exit(9);
    if (strcmp(mode, "quick_exit") == 0) {
        at_quick_exit(quick);
        quick_exit(13);
    }
    if (strcmp(mode, "abort") == 0)
        abort();
    if (strcmp(mode, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(mode, "kill") == 0)
        raise(SIGKILL);
    return 96;
}
