/* Shared by the two halves of the demangler: demangle.c reads names, demangle_type.c reads types.
 * They append what they read to `text`. A name outside of the grammar sets `failed`; the text is
 * then useless. Private to these files. */
#ifndef GPUPROF_TIMELINE_DEMANGLE_READER_H
#define GPUPROF_TIMELINE_DEMANGLE_READER_H

#include "analyzer/timeline/demangle.h"

#include <stdbool.h>
#include <stddef.h>

enum { TEXT_MAX = DEMANGLED_MAX, SUBS_MAX = 256, DEPTH_MAX = 64 };

/* All text is appended in reading order, so a substitution is a slice of `text`. */
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
/* If the input continues with `s`: skips it and returns true. */
bool demangle_take(struct reader *r, const char *s);
/* Lets later substitutions refer to the text written since `start`. */
void demangle_remember(struct reader *r, size_t start);
size_t demangle_number(struct reader *r);
void demangle_source_name(struct reader *r);
void demangle_name(struct reader *r);
void demangle_type(struct reader *r);
/* demangle_template_args starts after 'I' or 'J'; demangle_maybe_args reads its
 * own 'I' if there is one. */
void demangle_template_args(struct reader *r);
void demangle_maybe_args(struct reader *r);

#endif
