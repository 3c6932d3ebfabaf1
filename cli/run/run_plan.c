/* Turns options into the windows that agent and collector record. */
#include "cli/run/run_plan.h"

#include "cli/run/limits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Reads a number, at least 1, that ends at `end`. An empty text gives `none`. */
static int parse_number(const char *text, const char *end, int64_t none, int64_t *value)
{
    char *stop;
    *value = none;
    if (text == end)
        return 0;
    errno = 0;
    *value = strtoll(text, &stop, 10);
    return *text >= '0' && *text <= '9' && stop == end && !errno && *value >= 1 ? 0 : -1;
}

static int parse_steps(const char *text, int64_t *first, int64_t *last, struct err *e)
{
    const char *colon = strchr(text, ':'), *end = text + strlen(text);
    if (!colon || end - text == 1 || parse_number(text, colon, 1, first) < 0 ||
        parse_number(colon + 1, end, INT64_MAX, last) < 0 || *last < *first)
        return err_set(e, "--steps needs A:B, A: or :B, counted from 1, not '%s'", text);
    return 0;
}

/* Reads "500", or "60s" and "1.5s" as nanoseconds. */
static int parse_amount(const char *text, int64_t *value, bool *is_time)
{
    char *stop;
    *is_time = *text && text[strlen(text) - 1] == 's';
    if (!*is_time)
        return parse_number(text, text + strlen(text), 0, value) < 0 || *value == 0 ? -1 : 0;
    double s = strtod(text, &stop);
    if (stop == text || strcmp(stop, "s") != 0 || !(s > 0 && s < 1e8))
        return -1;
    *value = (int64_t)(s * 1e9);
    return 0;
}

static int plan_windows(struct run_plan *p, const struct run_wish *w, struct err *e)
{
    int64_t every, window;
    bool every_time, window_time;
    if (!w->every || !w->window)
        return err_set(e, "--every and --window need each other: --every 1000 --window 20");
    if (parse_amount(w->every, &every, &every_time) < 0 ||
        parse_amount(w->window, &window, &window_time) < 0 || every_time != window_time)
        return err_set(e, "--every and --window need steps (1000 and 20) or seconds (60s and 2s)");
    if (window >= every || (!every_time && window + 1 >= every))
        return err_set(e, "--window %s leaves no pause in --every %s", w->window, w->every);
    if (every_time) {
        p->times.every_ns = every;
        p->times.window_ns = window;
    } else {
        snprintf(p->window, sizeof p->window, "every=%" PRId64 ",window=%" PRId64, every, window);
    }
    return 0;
}

/* Chooses between all, little, and all until enough is known. Options that choose windows decide
 * otherwise. */
static int plan_way(struct run_plan *p, const struct run_wish *w, struct err *e)
{
    bool chosen = p->window[0] || p->times.delay_ns || p->times.duration_ns || p->times.every_ns;
    if (w->light && w->full)
        return err_set(e, "--light and --full exclude each other");
    if (w->light && chosen)
        return err_set(
            e, "--light excludes --armed, --delay, --duration, --steps, --every and --range");
    if (w->light && w->all)
        return err_set(e, "--light excludes --step-kernel and --modules");
    p->way = w->light ? WAY_LIGHT : chosen ? WAY_ASKED : w->full || w->all ? WAY_FULL : WAY_STEADY;
    if (p->way == WAY_LIGHT)
        snprintf(p->window, sizeof p->window, "light=%d:0:%d:%d:%d:%d", RUN_LIGHT_STEPS,
                 RUN_LIGHT_STEPS, RUN_LIGHT_PAUSE, RUN_LIGHT_PAUSE_MS, RUN_LIGHT_PAUSE);
    else if (p->way == WAY_STEADY)
        snprintf(p->window, sizeof p->window, "steady=%d:%d:%d:%d:%d:%d", RUN_ENOUGH_STEPS,
                 RUN_ENOUGH_MS, RUN_WINDOW, RUN_PAUSE, RUN_PAUSE_MS, RUN_WAKE);
    return 0;
}

int plan_make(struct run_plan *p, const struct run_wish *w, struct err *e)
{
    *p = (struct run_plan){.first_step = 0};
    if (!(w->delay_s >= 0 && w->duration_s >= 0 && w->delay_s < 1e8 && w->duration_s < 1e8))
        return err_set(e, "--delay and --duration need seconds, at least 0");
    p->times.delay_ns = (int64_t)(w->delay_s * 1e9);
    p->times.duration_ns = (int64_t)(w->duration_s * 1e9);
    if (w->armed &&
        (w->delay_s > 0 || w->duration_s > 0 || w->steps || w->every || w->window || w->range))
        return err_set(e, "--armed excludes --delay, --duration, --steps, --every and --range");
    if (w->armed)
        strcpy(p->window, "asked");
    if ((w->steps != NULL) + (w->every || w->window) + (w->range != NULL) > 1)
        return err_set(e, "--steps, --every and --range exclude one another");
    if (w->steps) {
        if (parse_steps(w->steps, &p->first_step, &p->last_step, e) < 0)
            return -1;
        snprintf(p->window, sizeof p->window, "steps=%" PRId64 ":%" PRId64, p->first_step,
                 p->last_step == INT64_MAX ? 0 : p->last_step);
    }
    if (w->range) {
        bool none = strcmp(w->range, "none") == 0;
        if (!none && strcmp(w->range, "cuda-profiler") != 0 &&
            strcasecmp(w->range, "cudaProfilerApi") != 0)
            return err_set(e, "--range accepts cuda-profiler and none, not '%s'", w->range);
        strcpy(p->window, none ? "closed" : "profiler");
    }
    if ((w->every || w->window) && plan_windows(p, w, e) < 0)
        return -1;
    return plan_way(p, w, e);
}
