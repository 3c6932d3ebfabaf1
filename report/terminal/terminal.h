/* Text for a terminal: colours only if wanted, lines wrapped at the width, and nothing from the
 * profile on which a terminal would act. Characters that act (report/chars.h) become `?`, and so
 * does the beginning of a word that the log of a CI service would take for a command
 * (`::error::`). */
#ifndef GPUPROF_REPORT_TERMINAL_TERMINAL_H
#define GPUPROF_REPORT_TERMINAL_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

struct terminal {
    FILE *f;
    int width;
    bool color;
};

enum ink { INK_PLAIN, INK_BOLD, INK_DIM, INK_GOOD, INK_WARN, INK_BAD };

/* Replaces such characters in a text that is printed by other means. It becomes no longer. */
void terminal_clean(char *text);

struct terminal terminal_open(FILE *f, int width, bool color);
void term_ink(const struct terminal *t, enum ink ink); /* holds until INK_PLAIN */
/* Writes `text` wrapped, with further lines indented to `indent`; the cursor is at `column`. Ends
 * the line. */
void term_wrap(const struct terminal *t, int column, int indent, const char *text);
/* The same in at most `lines` lines; `...` stands for what is left out. */
void term_wrap_most(const struct terminal *t, int column, int indent, const char *text, int lines);
/* A label of 9 columns in ink, then the text wrapped beside it. */
void term_labelled(const struct terminal *t, const char *label, enum ink ink, const char *text);
/* Writes as much of `text` as fits into n columns, broken between words, padded to n. Returns the
 * rest. */
const char *term_cell(const struct terminal *t, const char *text, int n);
/* Writes one line of `text`, cut with `...` at n columns, padded to n if `pad`. Returns the
 * columns. */
int term_fit(const struct terminal *t, const char *text, int n, bool pad);

#endif
