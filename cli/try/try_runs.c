/* The reruns of a trial: whether the program applies a change, and how long its steps take
 * (try.h). */
#include "cli/try/try.h"

#include "base/settings.h"
#include "report/terminal/terminal.h"
#include "wire/fact_keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The last few lines of the log, joined into one. */
static void last_words(const char *log, char *text, size_t size)
{
    text[0] = '\0';
    FILE *f = fopen(log, "r");
    if (!f)
        return;
    if (fseek(f, -(long)(size - 1), SEEK_END) != 0)
        rewind(f);
    size_t n = fread(text, 1, size - 1, f);
    fclose(f);
    while (n && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    size_t lines = 0, from = n;
    while (from && (text[from - 1] != '\n' || ++lines < 3))
        from--;
    memmove(text, text + from, n - from + 1);
    for (char *p = text; (p = strchr(p, '\n'));)
        *p = '|';
}

/* True if a C program has reported that it applies the setting: by gpuprof_applied() of gpuprof.h,
 * or by an NVTX range of that name. */
static bool marked(const struct timeline *t, const char *setting)
{
    char start[144];
    int n = snprintf(start, sizeof start, "gpuprof.apply %s=", setting);
    for (size_t i = 0; i < t->range_count; i++)
        if (strncmp(tl_text(t, t->ranges[i].name), start, (size_t)n) == 0)
            return true;
    return false;
}

/* True if any process applied the setting. *refusal: the last refusal, or NULL. */
static bool obeyed(const struct timeline *t, const char *key, const char **refusal)
{
    bool any = marked(t, key + strlen(FACT_APPLY "."));
    *refusal = NULL;
    for (size_t i = 0; i < t->meta_count; i++) {
        const char *value = tl_text(t, t->metas[i].value);
        if (strcmp(tl_text(t, t->metas[i].key), key) != 0)
            continue;
        any = any || strncmp(value, "applied", 7) == 0;
        if (strncmp(value, "refused", 7) == 0)
            *refusal = value;
    }
    return any;
}

static void ask_program(struct tried *c, const struct timeline *tl)
{
    char key[128];
    const char *refusal, *rest = c->settings;
    bool all = true;
    for (struct setting_text s; !c->patch && settings_next(&rest, &s);) {
        snprintf(key, sizeof key, FACT_APPLY ".%.*s", (int)s.name_size, s.name);
        if (obeyed(tl, key, &refusal))
            continue;
        all = false;
        if (refusal && !c->refused) {
            snprintf(c->refusal, sizeof c->refusal, "%s: %s", key + strlen(FACT_APPLY "."),
                     refusal);
            terminal_clean(c->refusal);
        }
        if (!refusal)
            snprintf(c->silent, sizeof c->silent, "%.*s", (int)s.name_size, s.name);
        c->refused = c->refused || refusal;
    }
    c->acknowledged += all;
}

static int take_run(struct ab_arm *arm, struct ab_run r, struct err *e)
{
    if (r.count < 4) {
        free(r.ns);
        return err_set(e, "a rerun has fewer than 4 steady steps: run the program for longer");
    }
    arm->run[arm->count++] = r;
    return 0;
}

/* True if the step counts for the pace, as in struct steps. */
static bool in_pace(const struct step *s)
{
    return (s->used || s->slow) && s->length_ns > 0;
}

static int take_steps(struct ab_arm *arm, const struct advice *a, struct err *e)
{
    struct ab_run r = {calloc(a->facts->steps.count + 1, sizeof *r.ns), 0, 0};
    if (!r.ns)
        return err_set(e, "out of memory");
    for (size_t i = 0; i < a->facts->steps.count; i++)
        if (in_pace(&a->facts->steps.at[i]))
            r.ns[r.count++] = a->facts->steps.at[i].length_ns;
    return take_run(arm, r, e);
}

/* If only marks were recorded: takes the steps of the process that has most of them, without the
 * warm-up and without the last step, which ends with the program. */
static int take_marks(struct ab_arm *arm, const struct timeline *t, size_t warm, struct err *e)
{
    int64_t steps = 0, most = 0, process = -1;
    for (size_t i = 0; i < t->step_block_count; i++) {
        const struct row_step_block *b = &t->step_blocks[i];
        steps = i && t->step_blocks[i - 1].process == b->process ? steps + b->steps : b->steps;
        process = steps > most ? b->process : process;
        most = steps > most ? steps : most;
    }
    struct ab_run r = {calloc((size_t)most + 1, sizeof *r.ns), 0, 0};
    if (!r.ns)
        return err_set(e, "out of memory");
    size_t number = 0;
    for (size_t i = 0; i < t->step_block_count; i++) {
        const struct row_step_block *b = &t->step_blocks[i];
        for (int64_t k = 0; b->process == process && k < b->steps; k++)
            if (++number > warm && number < (size_t)most)
                r.ns[r.count++] = (b->end_ns - b->start_ns) / b->steps;
    }
    return take_run(arm, r, e);
}

/* The range, over the steady steps, of how long a step's first kernel waits for its turn. Marks
 * know the length of a run only up to this. */
static double host_leads(const struct advice *a)
{
    const struct timeline *t = a->facts->tl;
    int64_t *launched = calloc(a->facts->steps.count + 1, sizeof *launched);
    double least = INFINITY, most = 0;
    for (size_t pass = 0; launched && pass < 2; pass++)
        for (uint32_t i = 0; i < t->op_count; i++) {
            uint32_t k = a->facts->steps.op_step[i];
            if (k == TL_NONE || !in_pace(&a->facts->steps.at[k]) || t->ops[i].kind != OP_KERNEL ||
                t->ops[i].api == TL_NONE || tl_op_device(t, i) != a->facts->steps.device)
                continue;
            int64_t at = t->apis[t->ops[i].api].start_ns;
            if (pass == 0 && (!launched[k] || at < launched[k]))
                launched[k] = at;
            if (pass == 0 || at != launched[k])
                continue;
            least = fmin(least, (double)(t->ops[i].start_ns - at));
            most = fmax(most, (double)(t->ops[i].start_ns - at));
        }
    double range = launched ? fmax(0, most - least) : INFINITY;
    free(launched);
    return range;
}

/* Marks mislead if the host runs ahead of the GPU by varying amounts. A step that is marked late
 * because its batch came late does no harm, since the GPU waits for the batch too. */
bool trial_marks_tell(struct trial *t, const struct advice *a)
{
    enum { LEAST = 8 };
    int64_t marked = 0, paced = 0;
    size_t n = 0, first = a->facts->steps.count;
    for (size_t i = 0; i < a->facts->steps.count; i++) {
        const struct step *s = &a->facts->steps.at[i];
        if (!in_pace(s))
            continue;
        first = n++ ? first : i;
        marked += s->end_ns - s->start_ns;
        paced += s->length_ns;
    }
    t->warm = n && first > t->warm ? first : t->warm;
    return a->facts->steps.source != STEPS_NONE && !a->facts->steps.batches && n >= LEAST &&
           n + t->warm + 2 >= a->facts->steps.count &&
           (marked == paced || host_leads(a) < 0.005 * (double)paced);
}

/* Runs the program once more, and loads the recording. */
static int rerun(struct trial *t, struct tried *c, bool marks, struct loaded *l, struct err *e)
{
    char profile[PATH_MAX], log[PATH_MAX], words[400];
    const char *path[] = {profile};
    snprintf(profile, sizeof profile, "%s/again.gpuprof", t->in->folder);
    snprintf(log, sizeof log, "%s/%s.log", t->in->folder, c ? "with" : "without");
    int status = trial_record(t, profile, log, c, marks, e);
    if (status < 0 || trial_interrupted())
        return -1;
    if (status != 0) {
        last_words(log, words, sizeof words);
        bool goes_on = c && t->in->until;
        if (goes_on)
            unlink(log);
        if (c)
            c->failed = true;
        return err_set(e, "a rerun %s%s exited with status %d: %s%s%s%s",
                       c ? "with " : "without a change", c ? c->settings : "", status, words,
                       goes_on ? "" : " (its output: ", goes_on ? "" : log, goes_on ? "" : ")");
    }
    int rc = load_analysis(path, 1, &(struct load_how){0}, l, e);
    unlink(profile);
    unlink(log);
    return rc;
}

int trial_probe(struct trial *t, struct tried *c, struct err *e)
{
    struct loaded l;
    if (rerun(t, c, false, &l, e) < 0)
        return -1;
    ask_program(c, l.timeline);
    losses_add(&c->losses, l.timeline);
    t->marks = trial_marks_tell(t, l.analysis) && t->marks;
    c->obeys = c->acknowledged > 0;
    c->acknowledged = 0; /* from now on it counts timed reruns */
    load_release(&l);
    return 0;
}

int trial_again(struct trial *t, struct tried *c, struct err *e)
{
    struct loaded l;
    struct ab_arm *arm = c ? &c->arm : &t->without;
    if (rerun(t, c, t->marks, &l, e) < 0)
        return -1;
    losses_add(c ? &c->losses : &t->losses_without, l.timeline);
    if (c && !t->marks)
        ask_program(c, l.timeline);
    else if (c)
        c->acknowledged +=
            c->obeys; /* a rerun with only marks does not record the reply: use the probe's */
    int rc = t->marks ? take_marks(arm, l.timeline, t->warm, e) : take_steps(arm, l.analysis, e);
    load_release(&l);
    return rc;
}
