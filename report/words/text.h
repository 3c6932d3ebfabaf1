/* Words and numbers as people read them, the same in every output. Buffers belong to the caller:
 * each function fills `b` and returns it. */
#ifndef GPUPROF_REPORT_WORDS_TEXT_H
#define GPUPROF_REPORT_WORDS_TEXT_H

#include "report/export.h"

struct text {
    char s[192];
};

const char *text_time(struct text *b, int64_t ns);   /* length_words: "45.1 ms", "820 us" */
const char *text_ms(struct text *b, int64_t ns);     /* time_words: "45.1 ms", "0.820 ms" */
const char *text_bytes(struct text *b, int64_t n);   /* "1.5 MB" */
const char *text_change(struct text *b, int64_t ns); /* "+8.67 ms", "-8.62 ms" */
const char *text_count(struct text *b, int64_t n);   /* "12,345" */
const char *text_mean_count(struct text *b,
                            double v); /* a count per step: "1,460", "44.4", "0.07" */
const char *text_value(struct text *b, double v, const char *unit); /* evidence */
/* "up to 11.8 ms (26.2 %)" or "11.8 ms (26.2 %), 9.00 to 12.5 ms" */
const char *text_saving(struct text *b, const struct outcome *o, int64_t step_ns);
/* "lost time at most 33.9 ms (4 findings), cheaper computing 115 ms (3)", on one line; NULL where not
 * both groups have findings. */
const char *text_groups(struct text *b, const struct advice *a);
const char *text_between(struct text *b, int64_t low_ns, int64_t high_ns); /* "54.1 to 57.9 ms" */
/* "7.87 batches per second, 504 samples per second (batches of 64)"; NULL where nothing but the
 * time of a step says so (on a GPU). */
const char *text_rate(struct text *b, const struct advice *a);
/* How much of the time from the GPU's first work to its last all steps take; -1: not known. */
double text_covered_pct(const struct advice *a);
/* "the steps cover 3 % of the recording's 6.51 s; ..."; NULL where they cover half or more. */
const char *text_covers(struct text *b, const struct advice *a);
/* That recording Python's functions slowed the host that the GPU waits for; NULL: neither. */
const char *text_stacks(struct text *b, const struct advice *a);
/* That the program's own profiler ran, and which steps that takes out; NULL: none. */
const char *text_profiler(struct text *b, const struct advice *a);
/* Is it known where the time of a step goes? */
bool text_has_parts(const struct advice *a);
double percent_of(int64_t part, int64_t whole); /* 0 when whole is 0 */

const char *text_outcome_kind(const struct outcome *o); /* "upper-bound" or "predicted" */
const char *text_error_class(enum error_class c);
const char *
text_ledger_kind(const struct outcome *o); /* as docs/ledger.tsv counts it; NULL: a bound */
const char *text_gate_verdict(enum gate_verdict v); /* "pass", "slower", "inconclusive" */
/* The verdict on one check: "failed" of a program that did, with nothing measured. */
const char *text_check_verdict(const struct gate_check *c);
const char *text_step_source(enum step_source s);
const char *text_copy(struct text *b, const struct copy_total *c); /* "host to device, pageable" */

/* How the profiled program ended, where that was not well: "the program was killed by signal 11
 * (Segmentation fault)"; NULL where it ended well, or nobody recorded it. */
const char *text_ended(struct text *b, const struct advice *a);

/* The line that stands on top of everything that comes from the virtual GPU; NULL on a real one. */
const char *text_virtual(struct text *b, const struct advice *a);
const char *text_virtual_name(struct text *b, const char *device);
const char *text_device(const struct advice *a);
/* "thread 4242 train_conv (training)" */
const char *text_thread(struct text *b, const struct advice *a, uint32_t thread);

/* "0 records lost"; of a trace that others recorded, that it does not tell. */
const char *text_lost(struct text *b, const struct advice *a);
/* What recording cost the program's threads: "0.21 %"; "about 5 %" where CUPTI's part is in it,
 * which was measured on other machines; "not measured". */
const char *text_overhead(struct text *b, const struct advice *a);

/* How far the replay behind the predictions may be trusted: "6 steps replayed; one foretells
 * another within 1.5 % (p95 3.9 %); unexplained 0.1 % of the critical path"; NULL when nothing was
 * replayed. */
const char *text_replay(struct text *b, const struct whatif *w);

/* The savings of all findings together per step: they do not add up, so this is the sum of the
 * upper bounds, and never more than the step itself. */
int64_t stacked_saving_ns(const struct advice *a);
/* The findings that the options ask for: row i of them, NULL behind the last. */
const struct outcome *shown_finding(const struct advice *a, const struct export_options *o,
                                    size_t i);
/* What stands in the place of findings where there are none; `rule`: one rule was asked for. */
const char *text_no_findings(const struct advice *a, bool rule);
/* Outcome i of the analysis if it has that verdict and the options do not hide it. */
const struct outcome *shown_outcome(const struct advice *a, const struct export_options *o,
                                    size_t i, enum verdict v);

/* Rules that cannot tell because no GPU was at work. */
size_t count_about_gpu(const struct advice *a, const struct export_options *o);
/* Events of all kinds, and the collectives (recorded calls, else communication kernels). */
int64_t count_events(const struct timeline *t);
/* CUDA graphs recorded as one operation each, among the kernels. */
int64_t count_graphs(const struct timeline *t);
int64_t count_ops(const struct timeline *t, enum op_kind kind);
int64_t count_collectives(const struct timeline *t);

/* What the order of the findings follows, where a larger number stands below a smaller one; else
 * NULL. */
const char *text_order(struct text *b, const struct advice *a, const struct export_options *o);
/* The newest trial of this finding's advice that the profile holds, NULL. */
const struct kept_trial *shown_trial(const struct export_options *o, const struct outcome *x);
/* That past trials widened the interval, NULL when none did. */
const char *text_widened(struct text *b, const struct outcome *x);
/* Of what the interval of a prediction is made; NULL: it is a bound. text_interval.c */
const char *text_interval(struct text *b, const struct advice *a, const struct outcome *x);
/* How to try a finding without an edit; NULL: not at all, or not known of a program that somebody
 * else recorded. */
const char *text_setting(struct text *b, const struct advice *a, const struct outcome *x);
/* One sentence: verdict, measured saving with its interval, beside what was predicted; before it
 * the setting, where it is not the one that x (or NULL) advises. */
const char *text_trial(struct text *b, const struct outcome *x, const struct kept_trial *k);
/* The i-th newest of the trials that are shown with no finding; NULL: no more. */
const struct kept_trial *other_trial(const struct advice *a, const struct export_options *o,
                                     size_t i);

#endif
