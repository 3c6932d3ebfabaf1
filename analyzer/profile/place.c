/* Creates the file in which a profile is written, and renames it when it is complete. */
#include "analyzer/profile/place.h"

#include "analyzer/profile/place_private.h"
#include "base/mode.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char suffix[] = PLACE_SUFFIX;
enum {
    TURN_TRIES = 300 /* waits of 10 ms */,
    MOST_NAMES = 100000,
    TAGS = 100 /* attempts with different random letters */
};

/* Refuses, before anything is recorded, what place_put could not or must not
 * replace. -1 with *e set. */
static int check_place(const char *path, bool force, struct err *e)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return 0;
    if (S_ISDIR(st.st_mode))
        return err_set(e, "%s is a folder; name a file in it", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, "%s is not a regular file: a profile cannot replace it", path);
    return force ? 0 : err_set(e, "%s exists already; -f replaces it", path);
}

static int make_tagged(char *name, const char *tag)
{
    memcpy(name + strlen(name) - (sizeof suffix - 1) - PLACE_UNIQUE, tag, PLACE_UNIQUE);
    return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode_of_output());
}

/* Creates the file with random letters. mkostemps is not used, because it sets the mode 0600
 * whatever the umask is. -1 with errno set. */
static int make_with_random_tag(char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    unsigned char random[PLACE_UNIQUE];
    char tag[PLACE_UNIQUE];
    int fd = -1;
    for (int i = 0; fd < 0 && i < TAGS; i++) {
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
            return -1;
        for (size_t k = 0; k < sizeof tag; k++)
            tag[k] = letters[random[k] % (sizeof letters - 1)];
        fd = make_tagged(name, tag);
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    return fd;
}

static int make_file(struct place *p, const char *tag, struct err *e)
{
    struct stat st;
    if (asprintf(&p->partial, "%s.XXXXXX%s", p->path, suffix) < 0) {
        p->partial = NULL;
        return err_set(e, "out of memory");
    }
    int fd = tag && strlen(tag) == PLACE_UNIQUE ? make_tagged(p->partial, tag)
                                                : make_with_random_tag(p->partial);
    if (fd < 0 || fstat(fd, &st) != 0) {
        err_set(e, "%s: cannot be created: %s", p->path, strerror(errno));
        if (fd >= 0)
            close(fd);
        free(p->partial);
        p->partial = NULL;
        return -1;
    }
    p->device = st.st_dev;
    p->inode = st.st_ino;
    close(fd);
    return 0;
}

/* Locks the folder, so that no other gpuprof starts to write in it meanwhile. True: locked. After
 * TURN_TRIES it goes on without the lock, because another program may hold it forever; p->turn is
 * -1 with *e set if the folder cannot be opened. */
static bool lock_folder(struct place *p, struct err *e)
{
    char *folder = place_folder(p->path);
    p->turn = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (p->turn < 0)
        err_set(e, "%s: cannot be created: %s", p->path, strerror(errno));
    free(folder);
    int rc = -1;
    for (int i = 0; p->turn >= 0 && rc < 0 && i < TURN_TRIES; i++) {
        rc = flock(p->turn, LOCK_EX | LOCK_NB);
        if (rc < 0 && errno != EWOULDBLOCK && errno != EINTR)
            break;
        if (rc < 0)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return rc == 0;
}

/* The name number `number`: PATH, then PATH.2.gpuprof and so on; malloc'ed, NULL: out of memory. */
static char *numbered(const char *path, int number)
{
    static const char ending[] = ".gpuprof";
    size_t n = strlen(path), end = sizeof ending - 1;
    bool has = n > end && strcmp(path + n - end, ending) == 0;
    char *name = NULL;
    if (number < 2)
        return strdup(path);
    if (asprintf(&name, "%.*s.%d%s", (int)(n - (has ? end : 0)), path, number, has ? ending : "") <
        0)
        return NULL;
    return name;
}

/* Checks whether p->path can be used. -1 with *e set: it cannot; *taken: because a file has that
 * name, or another process writes to it. */
static int try_name(struct place *p, bool alone, bool *taken, struct err *e)
{
    const char *slash = strrchr(p->path, '/');
    struct stat st;
    *taken = lstat(p->path, &st) == 0 && S_ISREG(st.st_mode);
    p->written = false;
    if (check_place(p->path, p->as & PLACE_REPLACE, e) < 0)
        return -1;
    pid_t other = place_look_for_others(p->turn, slash ? slash + 1 : p->path, alone);
    *taken = p->written = other != 0;
    return !other ? 0
                  : err_set(e,
                            "%s is being written by another gpuprof (process %d); name another "
                            "with -o",
                            p->path, (int)other);
}

/* Sets p->path to the first usable name. -1 with *e set. */
static int choose_name(struct place *p, const char *path, bool alone, struct err *e)
{
    bool taken = true;
    for (int number = 1; taken && number < MOST_NAMES; number++) {
        free(p->path);
        if (!(p->path = numbered(path, number)))
            return err_set(e, "out of memory");
        if (try_name(p, alone, &taken, e) == 0)
            return 0;
        if (taken && p->as & PLACE_YIELD && p->written)
            p->as = PLACE_SPARE; /* from here on no existing file is replaced */
        if (!(p->as & PLACE_SPARE))
            return -1;
    }
    return -1;
}

int place_make(struct place *p, const char *path, int as, const char *tag, struct err *e)
{
    *p = (struct place){.as = as, .turn = -1};
    if (!(as & PLACE_SPARE) && check_place(path, as & PLACE_REPLACE, e) < 0)
        return -1;
    if (!(p->path = strdup(path)))
        return err_set(e, "out of memory");
    bool alone = lock_folder(p, e);
    if (p->turn >= 0 && choose_name(p, path, alone, e) == 0 && make_file(p, tag, e) == 0)
        return 0;
    place_release(p);
    return -1;
}

void place_taken(struct place *p)
{
    if (p->turn >= 0)
        close(p->turn);
    p->turn = -1;
}

void place_close(struct place *p)
{
    struct err ignored = ERR_INIT;
    if (p->turn < 0)
        lock_folder(p, &ignored);
}

/* True if p->partial is still the file that this process created. */
static bool is_ours(const struct place *p)
{
    struct stat st;
    return p->partial && lstat(p->partial, &st) == 0 && st.st_dev == p->device &&
           st.st_ino == p->inode;
}

/* Renames unless `to` exists. 0, or -1 with errno set. Uses the system call, because the C library
 * has it only since 2.28. On file systems without RENAME_NOREPLACE a link does the same. */
static int rename_to_new(const char *from, const char *to)
{
    if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    return link(from, to) == 0 ? unlink(from) : -1;
}

/* Another process took the name meanwhile: uses the next free one. 0, or -1 with errno set. */
static int rename_to_spare(struct place *p)
{
    int rc = -1;
    for (int number = 2; rc < 0 && number < MOST_NAMES; number++) {
        char *name = numbered(p->path, number);
        rc = name ? rename_to_new(p->partial, name) : -1;
        if (rc == 0) {
            free(p->path);
            p->path = name;
            return 0;
        }
        free(name);
        if (errno != EEXIST)
            return -1;
    }
    return rc;
}

static int put(struct place *p, struct err *e)
{
    if (!is_ours(p))
        return err_set(e, "%s: another program removed the unfinished file", p->path);
    struct stat st;
    bool there = lstat(p->path, &st) == 0, replace = p->as & PLACE_REPLACE;
    if (replace || !there)
        place_remove_siblings(p->path);
    place_remove_siblings(p->partial);
    int rc = replace ? rename(p->partial, p->path) : rename_to_new(p->partial, p->path);
    if (rc < 0 && errno == EEXIST && p->as & PLACE_SPARE)
        rc = rename_to_spare(p);
    if (rc < 0) {
        if (errno != EEXIST)
            return err_set(e, "%s: cannot move the finished file there: %s", p->path,
                           strerror(errno));
        err_set(e, "another program created %s meanwhile; the new profile is %s", p->path,
                p->partial);
    }
    free(p->partial);
    p->partial = NULL; /* it is in place, or complete under its temporary name; in both cases
                          place_release must keep it */
    return rc;
}

int place_put(struct place *p, struct err *e)
{
    int rc = put(p, e);
    place_taken(p);
    return rc;
}

void place_release(struct place *p)
{
    if (!p->path)
        return;
    place_taken(p);
    if (is_ours(p)) {
        place_remove_siblings(p->partial);
        unlink(p->partial);
    }
    free(p->partial);
    free(p->path);
    *p = (struct place){.turn = -1};
}
