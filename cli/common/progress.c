/* Shows progress. A thread writes the line, so readers of files need not know about it. */
#include "cli/common/progress.h"

#include "cli/common/command.h"
#include "report/terminal/terminal.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_S = 1 /* shorter work needs no line */, TEXT = 200 };

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool running, end;
    char text[TEXT];
} shown = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool wanted(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 && !in_ci() &&
           !quiet_wanted();
}

/* Writes the line every second until the end. It is cut at the terminal's width, since a longer one
 * could not be erased. */
static void *show(void *unused)
{
    struct timespec at;
    int seconds = 0, most = terminal_width() - 1;
    (void)unused;
    pthread_mutex_lock(&shown.lock);
    clock_gettime(CLOCK_MONOTONIC, &at);
    for (at.tv_sec += FIRST_S; !shown.end; at.tv_sec++) {
        while (!shown.end && pthread_cond_timedwait(&shown.over, &shown.lock, &at) == 0)
            ;
        seconds++;
        if (!shown.end) {
            char line[TEXT + 32];
            snprintf(line, sizeof line, "gpuprof: %s, %d s", shown.text, seconds);
            fprintf(stderr, "\r%.*s", most, line);
        }
    }
    if (seconds > 1)
        fputs("\r\033[K", stderr);
    pthread_mutex_unlock(&shown.lock);
    return NULL;
}

void progress_begin(const char *what, const char *name)
{
    pthread_condattr_t attr;
    if (shown.running || !wanted())
        return;
    snprintf(shown.text, sizeof shown.text, "%s %s", what, name);
    terminal_clean(shown.text);
    shown.end = false;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&shown.over, &attr);
    pthread_condattr_destroy(&attr);
    shown.running = pthread_create(&shown.thread, NULL, show, NULL) == 0;
}

void progress_end(void)
{
    if (!shown.running)
        return;
    pthread_mutex_lock(&shown.lock);
    shown.end = true;
    pthread_cond_signal(&shown.over);
    pthread_mutex_unlock(&shown.lock);
    pthread_join(shown.thread, NULL);
    pthread_cond_destroy(&shown.over);
    shown.running = false;
}
