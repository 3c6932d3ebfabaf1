/* Text for a terminal: colours only where asked, lines wrapped at the width, and nothing from the
 * profile that a terminal would obey: characters that act (report/chars.h) become `?`, and so does
 * the beginning of a word that would be a command to the log of a CI service (`::error::`). */
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

/* The same for a text that is printed by other means, in its place: it becomes no longer. */
void terminal_clean(char *text);

struct terminal terminal_open(FILE *f, int width, bool color);
void term_ink(const struct terminal *t, enum ink ink); /* until INK_PLAIN */
/* `text` wrapped, continued under column `indent`; the cursor stands at `column`. Ends the line. */
void term_wrap(const struct terminal *t, int column, int indent, const char *text);
/* The same in at most `lines` lines: what is left out is shown as `...`. */
void term_wrap_most(const struct terminal *t, int column, int indent, const char *text, int lines);
/* A label of 9 columns in ink, then the text wrapped beside it. */
void term_labelled(const struct terminal *t, const char *label, enum ink ink, const char *text);
/* As much of `text` as n columns hold, broken between words, padded to n. Returns the rest. */
const char *term_cell(const struct terminal *t, const char *text, int n);
/* One line of `text`, cut with `...` at n columns, padded to them when pad. Returns columns. */
int term_fit(const struct terminal *t, const char *text, int n, bool pad);

#endif
