/* A stream that a thread of its own passes on (output_behind.h). */
#include "cli/common/output_behind.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { HALF = 512 << 10, STREAM_BUFFER = 64 << 10 };

struct behind {
    struct behind_to to;
    pthread_t thread;
    bool started, alone; /* alone: no thread could be created */
    char *filling;       /* belongs to the writer */
    size_t filled;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The rest needs the lock. */
    char *passing; /* belongs to the thread while passing_n > 0 */
    size_t passing_n;
    bool over;
    int why; /* errno of the first failure; 0: none */
};

static void *pass_on(void *arg)
{
    struct behind *b = arg;
    pthread_mutex_lock(&b->lock);
    for (;;) {
        while (!b->passing_n && !b->over)
            pthread_cond_wait(&b->changed, &b->lock);
        if (!b->passing_n)
            break;
        int why = b->why;
        if (!why) {
            pthread_mutex_unlock(&b->lock);
            errno = 0;
            if (b->to.write(b->to.to, b->passing, b->passing_n))
                why = errno ? errno : EIO;
            pthread_mutex_lock(&b->lock);
        }
        b->why = why;
        b->passing_n = 0;
        pthread_cond_signal(&b->changed);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

/* Starts the thread. It blocks all signals: they are for the thread that writes. */
static void start(struct behind *b)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    b->started = (b->passing = malloc(HALF)) && !pthread_create(&b->thread, NULL, pass_on, b);
    b->alone = !b->started;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int write_here(struct behind *b)
{
    if (!b->why && b->filled && b->to.write(b->to.to, b->filling, b->filled))
        b->why = errno ? errno : EIO;
    b->filled = 0;
    return b->why;
}

/* Gives the filled half to the thread. Returns the errno of an earlier failure, or 0. */
static int hand_over(struct behind *b)
{
    if (!b->started && !b->alone)
        start(b);
    if (b->alone)
        return write_here(b);
    pthread_mutex_lock(&b->lock);
    while (b->passing_n)
        pthread_cond_wait(&b->changed, &b->lock);
    int why = b->why;
    char *swap = b->passing;
    b->passing = b->filling;
    b->passing_n = b->filled;
    b->filling = swap;
    b->filled = 0;
    pthread_cond_signal(&b->changed);
    pthread_mutex_unlock(&b->lock);
    return why;
}

static ssize_t behind_write(void *cookie, const char *data, size_t n)
{
    struct behind *b = cookie;
    for (size_t at = 0; at < n;) {
        size_t room = HALF - b->filled, take = n - at < room ? n - at : room;
        memcpy(b->filling + b->filled, data + at, take);
        b->filled += take;
        at += take;
        int why = b->filled == HALF ? hand_over(b) : 0;
        if (why) {
            errno = why;
            return 0;
        }
    }
    return (ssize_t)n;
}

static void release(struct behind *b)
{
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->changed);
    free(b->filling);
    free(b->passing);
    free(b);
}

static int behind_close(void *cookie)
{
    struct behind *b = cookie;
    if (b->started) {
        hand_over(b);
        pthread_mutex_lock(&b->lock);
        b->over = true;
        pthread_cond_signal(&b->changed);
        pthread_mutex_unlock(&b->lock);
        pthread_join(b->thread, NULL);
    } else {
        write_here(b);
    }
    int why = b->why;
    if (b->to.close(b->to.to) && !why)
        why = errno ? errno : EIO;
    release(b);
    errno = why;
    return why ? -1 : 0;
}

FILE *behind_open(struct behind_to to)
{
    struct behind *b = calloc(1, sizeof *b);
    if (!b)
        return NULL;
    b->to = to;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    b->filling = malloc(HALF);
    FILE *f =
        b->filling
            ? fopencookie(b, "w",
                          (cookie_io_functions_t){.write = behind_write, .close = behind_close})
            : NULL;
    if (f)
        setvbuf(f, NULL, _IOFBF, STREAM_BUFFER);
    else
        release(b);
    return f;
}
