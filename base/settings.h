/* Settings as text, "num_workers=4;pin_memory=1": so findings advise them, `try --apply` takes them
 * and GPUPROF_APPLY carries them. `;` or `,` stands between two; blanks around a name or a value do
 * not count, and neither do empty places. The reference trainers and the PyTorch hook have readers
 * of their own; tests/settings_cases.tsv holds all three to the same answers. */
#ifndef GPUPROF_BASE_SETTINGS_H
#define GPUPROF_BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

struct setting_text { /* points into the text that it was read from */
    const char *name, *value;
    size_t name_size, value_size; /* bytes; a value may be empty */
    bool valid; /* there is a '=', and a name before it; else `name` is all of it */
};

/* Reads the setting at *at and moves on: `for (const char *p = text; settings_next(&p, &s);)`.
 * false at the end. */
bool settings_next(const char **at, struct setting_text *s);
/* The first of `text` that has this name. false: none has. */
bool settings_find(const char *text, const char *name, size_t size, struct setting_text *s);
/* Does `text` have each setting of `other`, with the same value? */
bool settings_hold(const char *text, const char *other);
/* Writes the settings with `between` between them, without blanks, and ends with a NUL. false: no
 * room for all of them, so `out` is empty. */
bool settings_copy(char *out, size_t size, const char *text, char between);

#endif
