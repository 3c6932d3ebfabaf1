/* Where the records of a run lie while the program runs: a private folder beside the profile, or
 * one on a disk of this node. */
#include "cli/run/run.h"

#include "cli/common/command.h"

#include "analyzer/profile/place.h"
#include "analyzer/profile/spools_folder.h"
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
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* True if an unfinished profile with committed rows belongs to this folder. */
static bool holds_profile(const char *folder)
{
    struct err e = ERR_INIT;
    struct store *s = NULL;
    char *partial = place_left(folder);
    bool any =
        /* True also after an error, which import reports. */
        partial && (store_open_left(&s, partial, &e) < 0 || s);
    store_close(s);
    free(partial);
    return any;
}

bool run_folder_holds_records(const char *folder)
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

/* Locks a folder of spools: its lock is held while a recorder reads from it. */
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

int run_folder_take(const char *folder, struct err *e)
{
    char *real = realpath(folder, NULL);
    int fd = real ? lock_folder(real) : -1, why = errno;
    free(real);
    if (fd >= 0 || why != EWOULDBLOCK)
        return 0; /* without locks nobody can know whether a run records into it */
    return err_set(e,
                   "%s: a gpuprof run still records into this folder; import it when the run has "
                   "ended and left it",
                   folder);
}

/* A younger one may be about to be marked and locked. */
static bool is_old(const char *folder)
{
    struct stat st;
    return lstat(folder, &st) == 0 && time(NULL) - st.st_mtime > 1;
}

/* Deals with a folder that a killed gpuprof left. One without records is removed; the user is told
 * of one with records. A folder that only has such a name belongs to the user. */
static void tidy_left(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return;
    bool left = spools_folder_is_ours(fd) && is_old(folder) && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (left && run_folder_holds_records(folder))
        say("%s contains what a killed gpuprof recorded: %s`gpuprof import %s -o FILE` makes a "
            "profile of it",
            folder, collect_live(folder) ? "once its program has ended, " : "", folder);
    else if (left)
        run_folder_remove_recording(folder);
    close(fd);
}

static void look_for_left(const char *parent)
{
    char path[PATH_MAX * 2];
    DIR *d = opendir(parent);
    for (struct dirent *f; d && (f = readdir(d));) {
        bool unmarked = spools_folder_is_unmarked(f->d_name);
        if ((!unmarked && !spools_folder_is(f->d_name)) ||
            (size_t)snprintf(path, sizeof path, "%s/%s", parent, f->d_name) >= sizeof path)
            continue;
        if (!unmarked)
            tidy_left(path);
        else if (is_old(path))
            spools_folder_remove_unmarked(path);
    }
    if (d)
        closedir(d);
}

/* True for file systems that several nodes share, and for FUSE. A file mapped by two processes is
 * slow there, and SQLite's locks may be missing. The numbers are those of statfs(2), and of GNU
 * stat. */
static bool is_network(const char *folder)
{
    static const unsigned kinds[] = {
        0x6969,     0x517b,     0xff534d42, 0xfe534d42, /* NFS, SMB */
        0x0bd00bd0, 0x47504653, 0x19830326, 0x00c36400, /* Lustre, GPFS, BeeGFS, Ceph */
        0xaad7aaea, 0x20030528, 0x18031977, 0x013111a8, /* PanFS, OrangeFS, Weka, Ibrix */
        0x5346414f, 0x6b414653, 0x01021997, 0x65735546, /* AFS, 9P, FUSE */
    };
    struct statfs st;
    if (statfs(folder, &st) != 0)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((unsigned)st.f_type == kinds[i])
            return true;
    return false;
}

enum { LEAST_ROOM = 1 << 30 }; /* in bytes: what a run of minutes records */

static bool can_grow_in(const char *folder)
{
    struct statvfs st;
    return folder && folder[0] == '/' && access(folder, W_OK | X_OK) == 0 && !is_network(folder) &&
           statvfs(folder, &st) == 0 && st.f_bavail * st.f_frsize >= LEAST_ROOM;
}

/* The disk of this node on which the recording grows; NULL: it grows beside the profile.
 * SLURM_TMPDIR, a job's own folder, is meant for that. */
static const char *disk_of_node(const char *beside)
{
    const char *given[] = {getenv("SLURM_TMPDIR"), getenv("TMPDIR"), "/tmp"};
    for (size_t i = is_network(beside) ? 3 : 1, k = 0; k < i; k++)
        if (can_grow_in(given[k]))
            return given[k];
    return NULL;
}

static int make_folder(const char *parent, char *out, struct err *e)
{
    look_for_left(parent);
    int len = snprintf(out, PATH_MAX, "%s/" SPOOLS_FOLDER_TEMPLATE, parent);
    if (len < 0 || len >= PATH_MAX || spools_folder_make(out) < 0)
        return err_set(e, "%s: no permission to write the profile there", parent);
    lock_folder(out); /* held until this process and the recorder have ended */
    return 0;
}

int run_folders_make(struct run_folders *f, const char *output, const char *program, struct err *e)
{
    const char *slash = strrchr(output, '/');
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - output + 1) : 2,
             slash ? output : "./");
    char *beside = realpath(folder, NULL);
    /* a container sees the user's own folders, but seldom that disk */
    const char *named = beside && !program_enters_container(program) ? disk_of_node(beside) : NULL;
    char *disk = named ? realpath(named, NULL) : NULL;
    int rc = beside ? make_folder(beside, f->meeting, e)
                    : err_set(e, "%s: no such folder for the profile", folder);
    f->disk[0] = 0;
    memcpy(f->spools, f->meeting, sizeof f->spools);
    if (rc == 0 && disk && strcmp(disk, beside) != 0) {
        snprintf(f->disk, sizeof f->disk, "%s", disk);
        rc = make_folder(disk, f->spools, e);
        if (rc < 0)
            spools_folder_remove(f->meeting);
    }
    free(beside);
    free(disk);
    return rc;
}

void run_folders_remove(const struct run_folders *f)
{
    spools_folder_remove(f->spools);
    if (f->disk[0])
        spools_folder_remove(f->meeting);
}

void run_folder_remove_recording(const char *folder)
{
    char *partial = place_left(folder);
    if (partial)
        place_remove_left(partial);
    free(partial);
    spools_folder_remove(folder);
}
