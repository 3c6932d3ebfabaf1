/* Replays what the engine is asked, several draws in one pass, and remembers the answers. Private to
 * engine.c and engine_span.c. */
#ifndef GPUPROF_WHATIF_ENGINE_ASKED_H
#define GPUPROF_WHATIF_ENGINE_ASKED_H

#include "analyzer/whatif/engine.h"

/* What the engine remembers answers to. */
enum asked { ASKED_SAVED, ASKED_SAVED_AT_MOST, ASKED_MOST, ASKED_LEFT };

uint64_t asked_question(enum asked what, int assumption, int draw, const struct edit *const *edits,
                        size_t n);
/* True with *ns set, if the answer is known. */
bool asked_before(const struct engine *x, uint64_t question, int64_t *ns);
/* Remembers the answer, and returns it. */
int64_t asked_keep(struct engine *x, uint64_t question, int64_t ns);

/* Makes the plan of the unchanged steps: without the recording cost that this draw assumes. */
void asked_plan(struct engine *x, struct plan *p, int draw, unsigned assume);

/* Fills saved[] with what the edits save under each draw, in ns of the recorded pace: the share of
 * the unrecorded step that they save, times the recorded pace. `most`: removes the cause wherever it
 * acts, with the best parameters. */
void asked_saved(struct engine *x, int assumption, const struct edit *const *edits, size_t n,
                 const int *draws, size_t count, bool most, int64_t *saved);
/* Replays each draw with the first edit, the first two, ... all n, and remembers what they save;
 * without the first `from` of these. Each edit is applied once for a draw, not once for each of the
 * lists that hold it. */
void asked_in_turn(struct engine *x, int assumption, const struct edit *const *edits, size_t from,
                   size_t n, const int *draws, size_t count);

#endif
