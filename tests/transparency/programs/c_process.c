/* c_process MODE: prints what a C program can see of its process (table.py compares it). */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *work(void *arg)
{
    return (char *)arg + 1;
}

static int threads(void)
{
    long sum = 0;
    for (int round = 0; round < 50; round++) {
        pthread_t t[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&t[i], NULL, work, NULL);
        for (int i = 0; i < 4; i++) {
            void *out;
            pthread_join(t[i], &out);
            sum += (long)out;
        }
    }
    printf("%ld\n", sum);
    return 0;
}

static int forks(int by_vfork)
{
    for (int i = 0; i < 3; i++) {
        fflush(stdout);
        pid_t pid = by_vfork ? vfork() : fork();
        if (pid == 0)
            _exit(i + 1);
        int status;
        waitpid(pid, &status, 0);
        printf("%d\n", WEXITSTATUS(status));
    }
    return 0;
}

static int listed(const char *folder)
{
    struct dirent *e;
    int n = 0;
    DIR *d = opendir(folder);
    while ((e = readdir(d)))
        n += e->d_name[0] != '.';
    closedir(d);
    printf("%s %d\n", folder, n);
    return 0;
}

static int signals(void)
{
    sigset_t blocked, pending;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    sigpending(&pending);
    for (int s = 1; s < 65; s++) {
        struct sigaction now;
        if (sigaction(s, NULL, &now) == 0)
            printf("%d %s %x %d %d\n", s,
                   now.sa_handler == SIG_DFL   ? "default"
                   : now.sa_handler == SIG_IGN ? "ignored"
                                               : "handled",
                   (unsigned)now.sa_flags, sigismember(&blocked, s), sigismember(&pending, s));
    }
    return 0;
}

static int limits(void)
{
    for (int r = 0; r < RLIM_NLIMITS; r++) {
        struct rlimit now;
        getrlimit(r, &now);
        printf("%d %lld %lld\n", r, (long long)now.rlim_cur, (long long)now.rlim_max);
    }
    printf("%d %d\n", getpriority(PRIO_PROCESS, 0), nice(0));
    return 0;
}

static int mapped(void)
{
    char line[4096];
    FILE *f = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, f))
        if (strstr(line, "r-xp") && strchr(line, '/'))
            printf("%s", strrchr(line, '/') + 1);
    fclose(f);
    return 0;
}

static int library(void)
{
    void *math = dlopen("libm.so.6", RTLD_NOW);
    double (*root)(double) = (double (*)(double))dlsym(math, "sqrt");
    printf("%g %d %p %s\n", root(2), dlopen("no-such.so", RTLD_NOW) == NULL,
           dlsym(RTLD_DEFAULT, "nothing_here"), dlerror() ? "said" : "");
    return dlclose(math);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(mode, "environment"))
        for (char **e = environ; *e; e++)
            if (strncmp(*e, "_=", 2))
                puts(*e);
    if (!strcmp(mode, "threads"))
        return threads();
    if (!strcmp(mode, "fork") || !strcmp(mode, "vfork"))
        return forks(mode[0] == 'v');
    if (!strcmp(mode, "exec"))
        execlp("printf", "printf", "%s|", "executed", "by", "another", NULL);
    if (!strcmp(mode, "descriptors"))
        return listed("/proc/self/fd") + listed("/proc/self/task");
    if (!strcmp(mode, "signals"))
        return signals();
    if (!strcmp(mode, "limits"))
        return limits();
    if (!strcmp(mode, "dlopen"))
        return library();
    if (!strcmp(mode, "maps"))
        return mapped();
    if (!strcmp(mode, "abort"))
        abort();
    if (!strcmp(mode, "segv"))
        raise(SIGSEGV);
    if (!strcmp(mode, "_exit"))
        _exit(9);
    if (!strcmp(mode, "closeall"))
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
    printf("%s\n", mode);
    return 6;
}
