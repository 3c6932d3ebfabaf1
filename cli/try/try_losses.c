/* Says whether a change alters what the program computes (try.h). */
#include "cli/try/try.h"

#include "report/json/json_tree.h"

#include <math.h>
#include <stdio.h>

/* By hand: losses that differ by more from run to run hide what a change does. */
#define LOUD 0.01

const char *trial_losses_text(const struct trial *t, const struct losses_result *r,
                              char text[TRY_TEXT])
{
    size_t n = r->compared;
    if (r->verdict == LOSSES_UNKNOWN)
        snprintf(text, TRY_TEXT, "not compared: %s",
                 *t->gpu ? "the virtual GPU computes no values"
                         : "the hook saw no loss at a backward pass of PyTorch");
    else if (r->verdict == LOSSES_EQUAL)
        snprintf(text, TRY_TEXT, "the first %zu are equal to the bit in all runs", n);
    else if (r->verdict == LOSSES_WITHIN)
        snprintf(
            text, TRY_TEXT,
            "the first %zu differ by no more than those of runs without the change (%.2g %%)%s", n,
            100 * r->noise, r->noise > LOUD ? "; with fixed seeds they would tell more" : "");
    else {
        int digits = r->apart < 1e-6 ? 17 : 7; /* enough to see the difference */
        int used = snprintf(text, TRY_TEXT, "changed: number %zu is %.*g instead of %.*g (%.2g %%)",
                            r->worst + 1, digits, r->with, digits, r->without, 100 * r->apart);
        if (r->without_runs > 1)
            snprintf(text + used, TRY_TEXT - (size_t)used,
                     "; those of runs without the change differ by %.2g %% at most",
                     100 * r->noise);
    }
    return text;
}

static void share_json(struct json_tree *j, const char *key, bool known, double share)
{
    if (known && isfinite(share))
        tree_num(j, key, 100 * share, 9);
    else
        tree_null(j, key);
}

void trial_losses_json(struct json_tree *j, const struct losses_result *r)
{
    tree_begin(j, "losses", '{');
    tree_str(j, "verdict", losses_verdict_text[r->verdict]);
    tree_int(j, "compared", (int64_t)r->compared);
    share_json(j, "differ_pct", r->verdict != LOSSES_UNKNOWN, r->apart);
    share_json(j, "without_change_differ_pct", r->verdict != LOSSES_UNKNOWN, r->noise);
    tree_end(j);
}
