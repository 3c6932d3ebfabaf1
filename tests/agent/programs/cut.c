/* Marks ten ranges, gives the collector time to read them, truncates the spool and ends without
 * touching it again. Prints `cut BYTES`. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

int main(int argc, char **argv)
{
    const char *dir = getenv("GPUPROF_DIR");
    for (int i = 0; i < 10; i++) {
        nvtxRangePushA("before");
        nvtxRangePop();
    }
    DIR *d = dir ? opendir(dir) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (!strstr(e->d_name, ".spool"))
            continue;
        usleep(500000);
        printf("%s\n", truncate(path, argc > 1 ? atol(argv[1]) : 0) == 0 ? "cut" : "not cut");
    }
    fflush(stdout);
    usleep(500000); /* the collector looks again while this lives */
    syscall(SYS_exit_group, 0);
}
