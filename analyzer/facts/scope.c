/* The words for what the numbers of a recording refer to. */
#include "analyzer/facts/scope.h"

#include "analyzer/facts/facts.h"

static const struct scope_words step = {.unit = "step",
                                        .units = "steps",
                                        .label = "Step",
                                        .per = "per step",
                                        .per_of = " per step",
                                        .of = "of the step",
                                        .of_each = "of each step",
                                        .in_each = "in each step",
                                        .each = "each",
                                        .everyone = "every step",
                                        .in_loop = " in the loop"};

static const struct scope_words batch = {.unit = "batch",
                                         .units = "batches",
                                         .label = "Batch",
                                         .per = "per batch",
                                         .per_of = " per batch",
                                         .of = "of the batch",
                                         .of_each = "of each batch",
                                         .in_each = "in each batch",
                                         .each = "each",
                                         .everyone = "every batch",
                                         .in_loop = " in the loop"};

/* Only what savings are told by. */
static const struct scope_words step_of_run = {.per = "per step of the run", .of = "of the run"};
static const struct scope_words batch_of_run = {.per = "per batch of the run", .of = "of the run"};

static const struct scope_words window = {.unit = "window",
                                          .units = "windows",
                                          .label = "Window",
                                          .per = "in the window",
                                          .per_of = "",
                                          .of = "of the recorded window",
                                          .of_each = "of the recorded window",
                                          .in_each = "in the window",
                                          .each = "the",
                                          .everyone = "the program",
                                          .in_loop = ""};

const struct scope_words *scope_words(const struct facts *f)
{
    return f->steps.batches ? &batch : analysis_of_window(f) ? &window : &step;
}

const struct scope_words *scope_words_of_run(const struct facts *f)
{
    return f->steps.batches ? &batch_of_run : &step_of_run;
}
