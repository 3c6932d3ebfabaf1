/* Finds evaluations during the training, and whether the program trains at all. */
#include "analyzer/queries/training/eval.h"

#include "analyzer/queries/limits.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* True if s[0..n) is a word for an evaluation. */
static bool says_eval(const char *s, size_t n)
{
    static const char *const words[] = {"eval",  "evaluate",   "evaluation", "evaluating",
                                        "valid", "validation", "validate",   "val"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && strncasecmp(s, words[i], n) == 0)
            return true;
    return false;
}

/* True if a word of the range's name says evaluation. A word ends where letters end, or before a
 * capital that follows a small letter. Python frames and operators are not named by the user:
 * `torch/_dynamo/eval_frame.py(489): _fn` evaluates nothing. */
static bool evaluates(const char *name)
{
    if (strstr(name, ".py(") || strstr(name, "::") || name[0] == '<')
        return false;
    for (const char *s = name; *s;) {
        size_t n = 0;
        while (isalpha((unsigned char)s[n]) &&
               !(n > 0 && islower((unsigned char)s[n - 1]) && isupper((unsigned char)s[n])))
            n++;
        if (says_eval(s, n))
            return true;
        s += n ? n : 1;
    }
    return false;
}

/* Walks ranges and calls together: both are sorted by thread and start. */
const bool *query_evaluating(const struct facts *f, struct arena *arena, int64_t *ranges)
{
    const struct timeline *t = f->tl;
    bool *yes = arena_array(arena, t->api_count + 1, sizeof *yes);
    *ranges = 0;
    for (size_t i = 0; yes && i < t->thread_count; i++) {
        const struct thread *th = &t->threads[i];
        uint32_t next = th->first_range, end = th->first_range + th->ranges;
        int64_t until_ns = INT64_MIN;
        for (uint32_t c = th->first_api; c <= th->first_api + th->apis; c++) {
            bool over = c == th->first_api + th->apis; /* also visits ranges after the last call */
            for (; next < end && (over || t->ranges[next].start_ns <= t->apis[c].start_ns);
                 next++) {
                const struct range *r = &t->ranges[next];
                if (!evaluates(tl_text(t, r->name)))
                    continue;
                ++*ranges;
                until_ns = r->end_ns > until_ns ? r->end_ns : until_ns;
            }
            if (!over)
                yes[c] = t->apis[c].end_ns <= until_ns;
        }
    }
    return yes;
}

bool query_only_infers(const struct facts *f)
{
    static const char *const trains[] = {
        "ackward", "autograd::engine", "Optimizer.", "optimizer", "_bwd", "wgrad", "dgrad"};
    size_t operators = 0;
    for (uint32_t i = 0; i < f->tl->strings.n; i++) {
        const char *name = tl_text(f->tl, i);
        operators += strncmp(name, "aten::", 6) == 0;
        for (size_t k = 0; k < sizeof trains / sizeof *trains; k++)
            if (strstr(name, trains[k]))
                return false;
    }
    return operators >= QUERY_OPERATORS;
}
