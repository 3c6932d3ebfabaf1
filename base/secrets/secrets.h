/* Secrets in text: passwords, tokens and keys, found by the name before them or by their own shape.
 * Each is replaced by SECRETS_MARK. The name stays, so that the reader sees what was there. The
 * mark itself never counts as a secret. Cost: one pass over the text, and memory for a copy only if
 * something is replaced. */
#ifndef GPUPROF_BASE_SECRETS_H
#define GPUPROF_BASE_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

#define SECRETS_MARK "***"

/* The kind of text. Names of kernels and ranges are the program's own words: in them only what has
 * the shape of a secret counts as one. In command lines and facts the value of `--hf-token` or of
 * `PASSWORD=` counts whatever its shape. */
enum secrets_in { SECRETS_NAME, SECRETS_COMMAND };

/* The bytes [start, end) of a text. */
struct secret {
    size_t start, end;
};

/* The next secret of s[0..n) at or behind `from`. False: there is none. */
bool secrets_next(const char *s, size_t n, size_t from, enum secrets_in in, struct secret *out);

/* 1: *out is a malloc'ed copy without secrets, *out_n bytes and a NUL. 0: there are none. -1: out
 * of memory. */
int secrets_hide(const char *s, size_t n, enum secrets_in in, char **out, size_t *out_n);

/* Writes a command into `out` without secrets, cut at `size`: the arguments in words[0..n), each
 * ended by a NUL, with blanks between them. From single arguments it can see where a value with
 * blanks ends, which a joined text does not show. Out of memory, it writes SECRETS_MARK. */
void secrets_join(const char *words, size_t n, char *out, size_t size);

/* ---- parts ---- */

/* What a name tells about its value. SECRETS_COUNTED: a secret, unless it is a number
 * (`--max-tokens 512`). SECRETS_SWITCHED: a secret, unless it is true, false and the like
 * (`--use-auth true`). */
enum secrets_name { SECRETS_NONE, SECRETS_COUNTED, SECRETS_SWITCHED, SECRETS_SURE };
enum secrets_name secrets_name_of(const char *name, size_t n);
bool secrets_name_char(char c);
/* True for 512, -1, 1e6, 4k, 300B, 2.5M and 16,32. */
bool secrets_is_number(const char *s, size_t n);
/* True if the value of a name of this kind is not a secret. */
bool secrets_is_plain(enum secrets_name kind, const char *s, size_t n);
/* True for a shell's variable that holds a folder. */
bool secrets_is_folder(const char *name, size_t n, const char *value, size_t length);

/* True if s[at] begins a secret, by its shape: a token of a known service, a private key, `Bearer
 * ...`, or the password in a URL whose `://` stands at s[at]. */
bool secrets_shape_at(const char *s, size_t n, size_t at, struct secret *out);

#endif
