/* Finds the run that a process belongs to. The program and its children have the folder in their
 * environment. gpuprof itself does not, but its child has. */
#include "cli/record/record.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENVIRONMENT_BYTES = 1 << 21 };

/* GPUPROF_DIR in the environment of a process. NULL: it has none, or this user may not read it. */
static char *folder_of(pid_t pid)
{
    static const char name[] = "GPUPROF_DIR=";
    char path[64], *found = NULL, *text = malloc(ENVIRONMENT_BYTES + 1);
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int fd = text ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    size_t used = 0;
    ssize_t n = fd >= 0 ? 1 : 0;
    while (n > 0 && used < ENVIRONMENT_BYTES) {
        n = read(fd, text + used, ENVIRONMENT_BYTES - used);
        used += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        close(fd);
    if (text)
        text[used] = 0;
    for (size_t at = 0; at < used && !found; at += strlen(text + at) + 1)
        if (strncmp(text + at, name, sizeof name - 1) == 0)
            found = strdup(text + at + sizeof name - 1);
    free(text);
    return found;
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[512] = "";
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    const char *end = strrchr(text, ')');
    return end && sscanf(end + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static char *folder_of_child(pid_t pid)
{
    DIR *d = opendir("/proc");
    char *found = NULL;
    for (struct dirent *f; d && !found && (f = readdir(d));) {
        pid_t child = isdigit((unsigned char)f->d_name[0]) ? atoi(f->d_name) : 0;
        if (child && parent_of(child) == pid)
            found = folder_of(child);
    }
    if (d)
        closedir(d);
    return found;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folder's name for this process: the other one may live in a container. */
static int reach(pid_t pid, const char *folder, char *out, size_t n)
{
    if ((size_t)snprintf(out, n, "%s", folder) < n && is_folder(out))
        return 0;
    return (size_t)snprintf(out, n, "/proc/%d/root%s", (int)pid, folder) < n && is_folder(out) ? 0
                                                                                               : -1;
}

int record_find(pid_t pid, char *folder, size_t n, struct err *e)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (access(path, F_OK) != 0)
        return err_set(e, "there is no process %d", (int)pid);
    char *known = folder_of(pid);
    if (!known)
        known = folder_of_child(pid);
    int rc = known ? reach(pid, known, folder, n) : -1;
    if (rc < 0)
        err_set(e,
                "process %d is not one that gpuprof run records for you: start the program with "
                "gpuprof run --armed",
                (int)pid);
    free(known);
    return rc;
}
