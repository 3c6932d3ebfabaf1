/* Processes in numbers. `many children N`: N processes at once, each marks ten ranges and waits
 * until all have. `many chain N`: one process that runs N programs, one by exec from the other,
 * each of which marks ten ranges. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

static void mark(void)
{
    for (int i = 0; i < 10; i++) {
        nvtxRangePushA("many");
        nvtxRangePop();
    }
}

static int children(int n)
{
    int ready[2], go[2], good = 0, status;
    char c;
    if (pipe(ready) != 0 || pipe(go) != 0)
        return 2;
    for (int i = 0; i < n; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return 2;
        if (pid > 0)
            continue;
        close(go[1]);
        mark();
        if (write(ready[1], "x", 1) != 1 || read(go[0], &c, 1) != 0)
            _exit(1);
        _exit(0);
    }
    for (int i = 0; i < n; i++)
        if (read(ready[0], &c, 1) != 1)
            return 2;
    sleep(1); /* the collector meets them all alive */
    close(go[1]);
    while (wait(&status) > 0)
        good += status == 0;
    printf("%d children\n", good);
    return good != n;
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 0;
    if (argc > 2 && strcmp(argv[1], "children") == 0)
        return children(n);
    mark();
    if (n <= 1) {
        printf("the last\n");
        return 0;
    }
    char left[16];
    snprintf(left, sizeof left, "%d", n - 1);
    execl("/proc/self/exe", argv[0], "chain", left, (char *)NULL);
    return 2;
}
