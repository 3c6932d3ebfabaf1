/* Shared by the two halves of the demangler: demangle.c reads names, demangle_type.c reads types.
 * What is read is appended to `text`; a name outside the grammar sets `failed`, and nothing is
 * undone. Not for use elsewhere. */
#ifndef GPUPROF_TIMELINE_DEMANGLE_READER_H
#define GPUPROF_TIMELINE_DEMANGLE_READER_H

#include "analyzer/timeline/demangle.h"

#include <stdbool.h>
#include <stddef.h>

enum { TEXT_MAX = DEMANGLED_MAX, SUBS_MAX = 256, DEPTH_MAX = 64 };

/* Everything is appended in reading order, so a substitution is a slice of what was written. */
struct reader {
    const char *p;
    char text[TEXT_MAX];
    size_t n;
    struct {
        size_t start, length;
    } subs[SUBS_MAX];
    size_t sub_count;
    int depth;
    bool failed;
};

void demangle_text(struct reader *r, const char *s);
/* Whether `s` comes next; it is then read. */
bool demangle_take(struct reader *r, const char *s);
/* What was written since `start` can be referred to by later substitutions. */
void demangle_remember(struct reader *r, size_t start);
size_t demangle_number(struct reader *r);
void demangle_source_name(struct reader *r);
void demangle_name(struct reader *r);
void demangle_type(struct reader *r);
/* After 'I' or 'J'; the other one reads its own 'I' if there is one. */
void demangle_template_args(struct reader *r);
void demangle_maybe_args(struct reader *r);

#endif
