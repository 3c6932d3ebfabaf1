#include "cli/run/run.h"

#include "cli/common/command.h"

#include "analyzer/profile/place.h"
#include "analyzer/profile/store.h"
#include "wire/spool_format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int place_beside(const char *relative, char *out, size_t n)
{
    char own[PATH_MAX], path[PATH_MAX * 2];
    ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);
    if (len <= 0)
        return -1;
    own[len] = 0;
    char *slash = strrchr(own, '/');
    if (slash)
        *slash = 0;
    snprintf(path, sizeof path, "%s/%s", own, relative);
    char *real = realpath(path, NULL);
    int rc = real && strlen(real) < n ? 0 : -1;
    if (rc == 0)
        strcpy(out, real);
    free(real);
    return rc;
}

int place_virtual_gpu(char *out, size_t n)
{
    if (place_beside("../lib/vgpu", out, n) == 0)
        return 0;
    return place_beside("../lib/gpuprof/vgpu", out, n);
}

int place_preloadable(const char *path, struct err *e)
{
    if (!strpbrk(path, " :"))
        return 0;
    return err_set(e,
                   "%s: the system cannot preload a library from a path with a space or a colon; "
                   "move gpuprof to another folder",
                   path);
}

int place_agent(char *out, size_t n, struct err *e)
{
    static const char *const places[] = {"../lib/libgpuprof_agent.so",
                                         "../lib/gpuprof/libgpuprof_agent.so",
                                         "../lib/x86_64-linux-gnu/gpuprof/libgpuprof_agent.so"};
    const char *set = getenv("GPUPROF_AGENT");
    if (set && *set) {
        if (access(set, R_OK) != 0 || strlen(set) >= n)
            return err_set(e, "GPUPROF_AGENT names an agent that does not exist: %s", set);
        strcpy(out, set);
        return 0;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (place_beside(places[i], out, n) == 0)
            return 0;
    return err_set(e, "libgpuprof_agent.so is not beside this program: build gpuprof with the CUDA "
                      "headers, or set GPUPROF_AGENT");
}

int place_python(char *out, size_t n)
{
    static const char *const places[] = {"../lib/python", "../lib/gpuprof/python",
                                         "../lib/x86_64-linux-gnu/gpuprof/python"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char inside[PATH_MAX];
        snprintf(inside, sizeof inside, "%s/sitecustomize.py", places[i]);
        if (place_beside(inside, out, n) == 0)
            return place_beside(places[i], out, n);
    }
    return -1;
}

/* ... and something was committed to it. */
static bool holds_profile(const char *folder)
{
    struct err e = ERR_INIT;
    struct store *s = NULL;
    char *partial = place_left(folder);
    bool any =
        partial && (store_open_left(&s, partial, &e) < 0 || s); /* import says what ails it */
    store_close(s);
    free(partial);
    return any;
}

bool place_holds_records(const char *folder)
{
    DIR *d = opendir(folder);
    bool any = false;
    for (struct dirent *f; d && !any && (f = readdir(d));) {
        const char *dot = strrchr(f->d_name, '.');
        any = dot && strcmp(dot, SPOOL_SUFFIX) == 0;
    }
    if (d)
        closedir(d);
    return any || holds_profile(folder);
}

/* A folder of spools is locked while somebody records into a profile from it. */
static int lock_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return -1;
}

int place_take_folder(const char *folder, struct err *e)
{
    char *real = realpath(folder, NULL);
    int fd = real ? lock_folder(real) : -1, why = errno;
    free(real);
    if (fd >= 0 || why != EWOULDBLOCK)
        return 0; /* where nothing can be locked nobody can tell */
    return err_set(e,
                   "%s: a gpuprof run still records into this folder; import it when the run has "
                   "ended and left it",
                   folder);
}

/* What a gpuprof that was killed left: an empty folder goes, of another one the user is told. */
static void query_at_left(const char *folder)
{
    struct stat st;
    int fd = lstat(folder, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
                     time(NULL) - st.st_mtime > 1 /* else it may not be locked yet */
                 ? lock_folder(folder)
                 : -1;
    if (fd < 0)
        return;
    if (place_holds_records(folder))
        say("%s contains what a killed gpuprof recorded: `gpuprof import %s -o FILE` "
            "makes a profile of them",
            folder, folder);
    else
        place_remove_recording(folder);
    close(fd);
}

static void query_for_left(const char *parent)
{
    char path[PATH_MAX * 2];
    DIR *d = opendir(parent);
    for (struct dirent *f; d && (f = readdir(d));)
        if (strncmp(f->d_name, ".gpuprof-", 9) == 0 && strlen(f->d_name) == 15 &&
            (size_t)snprintf(path, sizeof path, "%s/%s", parent, f->d_name) < sizeof path)
            query_at_left(path);
    if (d)
        closedir(d);
}

int place_spool_folder(const char *output, char *out, size_t n, struct err *e)
{
    const char *slash = strrchr(output, '/');
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - output + 1) : 2,
             slash ? output : "./");
    char *real = realpath(folder, NULL);
    if (!real)
        return err_set(e, "%s: no such folder for the profile", folder);
    query_for_left(real);
    int len = snprintf(out, n, "%s/.gpuprof-XXXXXX", real);
    free(real);
    if (len < 0 || (size_t)len >= n || !mkdtemp(out))
        return err_set(e, "%s: no permission to write the profile there", folder);
    lock_folder(out); /* until we and the recorder are gone */
    return 0;
}

void place_remove_recording(const char *folder)
{
    char *partial = place_left(folder);
    if (partial)
        place_remove_left(partial);
    free(partial);
    place_remove_folder(folder);
}

void place_remove_folder(const char *folder)
{
    DIR *d = opendir(folder);
    if (d) {
        for (struct dirent *f; (f = readdir(d));)
            if (strcmp(f->d_name, ".") != 0 && strcmp(f->d_name, "..") != 0)
                unlinkat(dirfd(d), f->d_name, 0);
        closedir(d);
    }
    rmdir(folder);
}
