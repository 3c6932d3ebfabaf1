#include "cli/load.h"

#include "analyzer/advice/past.h"
#include "analyzer/import/import.h"
#include "analyzer/profile/redact.h"
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool load_redact;

/* All texts pass the sink that hides secrets: of a profile or trace that others made, too. */
static int read_into(struct timeline *t, const char *const *paths, size_t n, struct err *e)
{
    struct redact *r = redact_open(timeline_sink(t), load_redact, e);
    if (!r)
        return -1;
    struct sink sink = redact_sink(r);
    int rc = import_paths(paths, n, &sink, e);
    redact_close(r);
    return rc;
}

int load_analysis(const char *const *paths, size_t n, struct loaded *l, struct err *e)
{
    *l = (struct loaded){0};
    l->timeline = timeline_new(e);
    if (!l->timeline)
        return -1;
    if (read_into(l->timeline, paths, n, e) || timeline_finish(l->timeline, e))
        goto release;
    l->analysis = advise(l->timeline, e);
    if (l->analysis) {
        l->trial_count = trials_read(paths[0], l->trials, TRIALS_SHOWN);
        return 0;
    }
release:
    load_release(l);
    return -1;
}

const char *load_history(void)
{
    const char *path = getenv("GPUPROF_HISTORY");
    return path && *path ? path : NULL;
}

static int learn(struct loaded *l, struct err *e)
{
    size_t n = 0;
    struct past_trial *history = NULL;
    if (load_history() && !(history = history_read(load_history(), &n, e)) && *e->text)
        return -1;
    int rc = advice_learn(l->analysis, history, n, l->trials, l->trial_count, e);
    free(history);
    return rc;
}

int load_predicted(const char *const *paths, size_t n, struct loaded *l, struct err *e)
{
    if (load_analysis(paths, n, l, e))
        return -1;
    if (learn(l, e) == 0 && advice_predict(l->analysis, e) == 0)
        return 0;
    load_release(l);
    return -1;
}

void load_release(struct loaded *l)
{
    if (l->analysis)
        advice_free(l->analysis);
    if (l->timeline)
        timeline_free(l->timeline);
    *l = (struct loaded){0};
}

const char *load_virtual(const struct loaded *l)
{
    const struct advice *a = l->analysis;
    return facts_virtual(a->facts) ? tl_text(a->facts->tl, a->facts->device->name) : NULL;
}

const char *load_shown(const char *path)
{
    const char *slash = strrchr(path, '/');
    return load_redact && slash ? slash + 1 : path;
}

struct export_options load_options(const struct loaded *l, const char *path)
{
    const char *command = timeline_meta(l->timeline, "command");
    const char *slash = strrchr(path, '/');
    return (struct export_options){
        .title = command && *command ? command
                 : slash             ? slash + 1
                                     : path,
        .source = load_shown(path),
        .virtual_gpu = load_virtual(l),
        .trials = l->trials,
        .trial_count = l->trial_count,
        .color = color_wanted(STDOUT_FILENO),
        .width = terminal_width(),
    };
}
