/* Makes the parts of a reduction, one per process, and keeps them on disk, so that a later call
 * goes on after a failure. */
#include "cli/reduce/reduce.h"

#include "cli/common/command.h"
#include "cli/load/load.h"
#include "cli/load/many.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PART "part-"

/* True for a part: by its name, and by being compressed; or for an unfinished part. */
static bool is_part(int folder, const char *name)
{
    unsigned char head[2] = {0};
    char more[8] = "", new[8] = "";
    unsigned part, by;
    int words = sscanf(name, PART "%5u%1s%u%7s", &part, more, &by, new);
    if (words == 4)
        return *more == '.' && strcmp(new, ".new") == 0;
    int fd = words == 1 ? openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    bool is = fd >= 0 && read(fd, head, 2) == 2 && head[0] == 0x1f && head[1] == 0x8b;
    if (fd >= 0)
        close(fd);
    return is;
}

/* True if the folder belongs to this user, holds only parts, and is no link that another user made:
 * its files are read and removed. */
static bool is_of_parts(const char *folder)
{
    struct stat st;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    bool good = d && fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 022);
    for (struct dirent *f; good && (f = readdir(d));)
        good =
            strcmp(f->d_name, ".") == 0 || strcmp(f->d_name, "..") == 0 || is_part(fd, f->d_name);
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    return good;
}

int parts_open(struct parts *p, const struct import_files *files, const char *output, int workers,
               bool redact, struct err *e)
{
    *p = (struct parts){.files = files,
                        .n = (files->n + PART_FILES - 1) / PART_FILES,
                        .workers = workers,
                        .redact = redact};
    if (asprintf(&p->folder, "%s.parts", output) < 0) {
        p->folder = NULL;
        return err_no_memory(e);
    }
    if (mkdir(p->folder, 0700) == 0)
        return 0;
    if (errno != EEXIST)
        err_set(e, "%s: cannot make this folder: %s", p->folder, strerror(errno));
    else if (is_of_parts(p->folder))
        return 0;
    else
        err_set(e, "%s is not gpuprof's folder: name another output, or remove it", p->folder);
    parts_close(p); /* the folder stays */
    return -1;
}

void parts_close(struct parts *p)
{
    free(p->folder);
    p->folder = NULL;
}

static char *part_path(const struct parts *p, size_t part)
{
    char *path;
    return asprintf(&path, "%s/" PART "%05zu", p->folder, part) < 0 ? NULL : path;
}

/* What a part is made from: its files as they are now, and whether they are redacted. A part of
 * other files is made again. */
static char *made_of(const struct parts *p, size_t part, struct arena *arena)
{
    char *text = arena_printf(arena, GPUPROF_VERSION "%s\n", p->redact ? " redacted" : "");
    for (size_t i = part * PART_FILES; text && i < p->files->n && i < (part + 1) * PART_FILES;
         i++) {
        struct stat st = {0};
        if (stat(p->files->at[i], &st) < 0)
            st.st_size = -1;
        text =
            arena_printf(arena, "%s%s %lld %lld.%09ld\n", text, p->files->at[i],
                         (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    }
    return text;
}

static int make_part(const struct parts *p, size_t part, struct err *e)
{
    struct arena arena = ARENA_INIT;
    struct job job = {.redact = p->redact};
    char *path = part_path(p, part), *of = made_of(p, part, &arena);
    int there = path && of ? job_read(&job, of, path, e) : err_no_memory(e), rc = there;
    for (size_t i = part * PART_FILES; rc == 0 && i < p->files->n && i < (part + 1) * PART_FILES;
         i++)
        rc = many_add(&job, p->files->at[i], e);
    if (rc == 0)
        rc = job_write(&job, of, path, e);
    job_release(&job);
    arena_release(&arena);
    free(path);
    return rc < 0 ? -1 : 0;
}

/* Makes one part after another until none is left. */
static int work(const struct parts *p, atomic_size_t *next)
{
    struct err e = ERR_INIT;
    for (size_t part; (part = atomic_fetch_add(next, 1)) < p->n;)
        if (make_part(p, part, &e) < 0)
            return fail(&e);
    return 0;
}

int parts_make(const struct parts *p, struct err *e)
{
    int started = 0, failed = 0, status;
    atomic_size_t *next =
        mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (next == MAP_FAILED)
        return err_no_memory(e);
    atomic_init(next, 0);
    fflush(NULL);
    for (; started < p->workers && (size_t)started < p->n; started++) {
        pid_t pid = fork();
        if (pid == 0) {
            /* Without the parent no process would merge the parts. */
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            _exit(work(p, next));
        }
        if (pid < 0)
            break;
    }
    if (started == 0) /* no process could be started: this one does the work */
        failed = work(p, next) != 0;
    for (int i = 0; i < started; i++)
        while (wait(&status) < 0 && errno == EINTR)
            ;
    munmap(next, sizeof *next);
    return failed ? err_set(e, "stopped; call it again to go on") : 0;
}

int parts_merge(const struct parts *p, struct job *j, struct err *e)
{
    int rc = 1;
    for (size_t part = 0; rc > 0 && part < p->n; part++) {
        struct arena arena = ARENA_INIT;
        char *path = part_path(p, part), *of = made_of(p, part, &arena);
        rc = path && of ? job_read(j, of, path, e) : err_no_memory(e);
        job_spill(j);
        if (rc == 0)
            err_set(e, "%s was not made: call it again to go on", path);
        free(path);
        arena_release(&arena);
    }
    return rc > 0 ? 0 : -1;
}

void parts_remove(const struct parts *p)
{
    DIR *d = p->folder ? opendir(p->folder) : NULL;
    if (!d)
        return;
    for (struct dirent *f; (f = readdir(d));)
        if (strncmp(f->d_name, PART, sizeof PART - 1) == 0)
            unlinkat(dirfd(d), f->d_name, 0);
    closedir(d);
    rmdir(p->folder);
}
