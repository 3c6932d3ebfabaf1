/* Settings as text, "num_workers=4;pin_memory=1": the form in which findings advise them, `try
 * --apply` takes them and GPUPROF_APPLY carries them. `;` or `,` separates two settings. Blanks
 * around a name or a value do not count, nor do empty places. The reference trainers and the
 * PyTorch hook have readers of their own; tests/settings_cases.tsv checks that all three read the
 * same. */
#ifndef GPUPROF_BASE_SETTINGS_H
#define GPUPROF_BASE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

struct setting_text { /* points into the text that was read */
    const char *name, *value;
    size_t name_size, value_size; /* bytes; a value may be empty */
    bool valid; /* there is a '=' with a name before it; if not, `name` is the whole part */
};

/* Reads the setting at *at and moves on: `for (const char *p = text; settings_next(&p, &s);)`.
 * False at the end. */
bool settings_next(const char **at, struct setting_text *s);
/* Finds the first setting of this name in `text`. False: there is none. */
bool settings_find(const char *text, const char *name, size_t size, struct setting_text *s);
/* True if `text` has each setting of `other`, with the same value. */
bool settings_hold(const char *text, const char *other);
/* Writes the settings without blanks, separated by `between`, with a NUL at the end. False: there
 * is no room for all of them, and `out` is empty. */
bool settings_copy(char *out, size_t size, const char *text, char between);

#endif
