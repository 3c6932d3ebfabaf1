/* Tells whether only the agent's own threads are left. If main leaves by pthread_exit, the process
 * ends with its last thread, and the agent's thread must not keep it alive. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/core/agent.h"
#include "agent/core/old_names.h"

OLD_NUMBER(strtol);

/* True for a thread of the agent, and for one of the virtual GPU, whose threads are named
 * "vgpu". */
static bool is_ours(const char *thread)
{
    char path[64], name[16];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, name, sizeof name) : 0;
    if (fd >= 0)
        close(fd);
    return n <= 0 || (n == 8 && memcmp(name, "gpuprof\n", 8) == 0) ||
           (n == 5 && memcmp(name, "vgpu\n", 5) == 0);
}

/* Opens no file while main runs: until its thread has left, /proc shows its program. */
bool agent_alone(void)
{
    char path[64], target;
    snprintf(path, sizeof path, "/proc/self/task/%d/exe", agent.pid);
    bool left = readlink(path, &target, 1) < 0 && errno == ENOENT;
    DIR *threads = left ? opendir("/proc/self/task") : NULL;
    bool alone = threads;
    for (struct dirent *d; alone && (d = readdir(threads));)
        alone = d->d_name[0] == '.' || atoi(d->d_name) == agent.pid || is_ours(d->d_name);
    if (threads)
        closedir(threads);
    return alone;
}
