/* Words and numbers as people read them, the same in every output. The caller owns the buffer: each
 * function fills `b` and returns it. */
#ifndef GPUPROF_REPORT_WORDS_TEXT_H
#define GPUPROF_REPORT_WORDS_TEXT_H

#include "report/export.h"

struct text {
    char s[256];
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
const char *text_saving(struct text *b, const struct facts *f, const struct outcome *o);
/* "lost time at most 33.9 ms (4 findings), cheaper computing 115 ms (3)"; NULL unless both groups
 * have findings. */
const char *text_groups(struct text *b, const struct advice *a);
const char *text_between(struct text *b, int64_t low_ns, int64_t high_ns); /* "54.1 to 57.9 ms" */
/* "31.2 % of the peak of A100 (312 TFLOP/s in 16 bits): ..."; NULL: the sizes of less than
 * half of the work are known, or no peak. */
const char *text_hardware(struct text *b, const struct advice *a);
/* "15.6 GB of 17.2 GB at the peak: weights 340 MB, ...; batches up to about 183 fit ..."; NULL: the
 * allocator's numbers were not recorded. */
const char *text_memory(struct text *b, const struct advice *a);
/* True if the kinds of memory are known of the highest peak: they are noted in the first 30 steps. */
bool text_memory_has_kinds(const struct facts *f);
/* The same from pieces of memory that were recorded one by one; NULL: none were. */
const char *text_pieces(struct text *b, const struct facts *f);
/* "failed; the GPU's memory had no room for 377 MB in layers.3 (Block) at model.py:12: ..."; NULL: no
 * allocation failed. The program may have caught that error, and failed of another. */
const char *text_out_of_memory(struct text *b, const struct advice *a);
/* "7.87 batches per second, 504 samples per second (batches of 64)"; NULL if only the step time is
 * known (on a GPU). */
const char *text_rate(struct text *b, const struct advice *a);
/* Share of the time from the GPU's first work to its last that all steps together take; -1:
 * unknown. */
double text_covered_pct(const struct advice *a);
/* "the steps cover 3 % of the recording's 6.51 s; ..."; NULL if they cover half or more. */
const char *text_covers(struct text *b, const struct advice *a);
/* Says that recording Python's functions slowed the host, for which the GPU waits; NULL: it did
 * not. */
const char *text_stacks(struct text *b, const struct advice *a);
/* Says that the program's own profiler ran, and which steps are left out for that; NULL: it did
 * not. */
const char *text_profiler(struct text *b, const struct advice *a);
/* True if the parts of the step are known. */
bool text_has_parts(const struct advice *a);
double percent_of(int64_t part, int64_t whole); /* 0 if whole is 0 */

const char *text_outcome_kind(const struct outcome *o); /* "upper-bound" or "predicted" */
const char *text_error_class(enum error_class c);
const char *
text_ledger_kind(const struct outcome *o); /* as docs/ledger.tsv names it; NULL: it is a bound */
const char *text_gate_verdict(enum gate_verdict v); /* "pass", "slower", "inconclusive" */
/* The verdict on one check: "failed" if the program failed and nothing was measured. */
const char *text_check_verdict(const struct gate_check *c);
const char *text_step_source(enum step_source s);
const char *text_copy(struct text *b, const struct copy_total *c); /* "host to device, pageable" */

/* How the profiled program ended, if it failed: "the program was killed by signal 11 (Segmentation
 * fault)"; NULL: it succeeded, or that was not recorded. */
const char *text_ended(struct text *b, const struct advice *a);

/* The line on top of every output about a virtual GPU; NULL: a real one. */
const char *text_virtual(struct text *b, const struct advice *a);
const char *text_virtual_name(struct text *b, const char *device);
const char *text_device(const struct advice *a);
/* "thread 4242 train_conv (training)" */
const char *text_thread(struct text *b, const struct advice *a, uint32_t thread);

/* "0 records lost"; for another tool's trace, that it does not say so. */
const char *text_lost(struct text *b, const struct advice *a);
/* What recording cost the program's threads: "0.21 %"; "about 5 %" with CUPTI's part, which is
 * estimated from other machines; "not measured". */
const char *text_overhead(struct text *b, const struct advice *a);

/* How reliable the replay behind the predictions is: "6 steps replayed; steps predict each other
 * within 1.5 % (p95 3.9 %); 0.1 % of the critical path unexplained"; NULL if nothing was
 * replayed. */
const char *text_replay(struct text *b, const struct whatif *w);

/* Savings of all findings together, per step, and never more than the step. If findings were
 * replayed together, the sum of what each adds; else the sum of bounds and predictions, without
 * changes of the training. */
int64_t stacked_saving_ns(const struct advice *a);
/* Row i of the findings that the options want; NULL behind the last. */
const struct outcome *shown_finding(const struct advice *a, const struct export_options *o,
                                    size_t i);
/* Text in place of findings if there are none; rule: the user asked for one rule. */
const char *text_no_findings(const struct advice *a, bool rule);
/* Outcome i if it has that verdict and the options do not hide it; else NULL. */
const struct outcome *shown_outcome(const struct advice *a, const struct export_options *o,
                                    size_t i, enum verdict v);

/* Number of rules that cannot decide because there was no GPU work. */
size_t count_about_gpu(const struct advice *a, const struct export_options *o);
/* Number of events of all kinds; and of collectives (recorded calls, else communication
 * kernels). */
int64_t count_events(const struct timeline *t);
/* CUDA graphs, recorded as one operation each, among the kernels. */
int64_t count_graphs(const struct timeline *t);
int64_t count_ops(const struct timeline *t, enum op_kind kind);
int64_t count_collectives(const struct timeline *t);

/* What the findings are ordered by, if a larger number stands below a smaller one; else NULL. */
const char *text_order(struct text *b, const struct advice *a, const struct export_options *o);
/* The newest trial of this finding's advice in the profile, or NULL. */
const struct kept_trial *shown_trial(const struct export_options *o, const struct outcome *x);
/* Says that past trials widened the interval; NULL: they did not. */
const char *text_widened(struct text *b, const struct outcome *x);
/* What the interval of a prediction is made from; NULL: it is a bound. text_interval.c */
const char *text_interval(struct text *b, const struct advice *a, const struct outcome *x);
/* How to try a finding without an edit; NULL: not possible, or unknown for a program that another
 * tool recorded. */
const char *text_setting(struct text *b, const struct advice *a, const struct outcome *x);
/* One sentence with the verdict of a trial, and its measured saving with the interval beside the
 * prediction. Before it the setting, unless x (which may be NULL) advises the same. */
const char *text_trial(struct text *b, const struct outcome *x, const struct kept_trial *k);
/* The i-th newest trial that is shown with no finding; NULL: no more. */
const struct kept_trial *other_trial(const struct advice *a, const struct export_options *o,
                                     size_t i);

#endif
