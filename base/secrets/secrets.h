/* Secrets in text: passwords, tokens and keys, by the name that stands before them or by their own
 * shape. Each is replaced by SECRETS_MARK; a name stays, so that the reader sees what was there.
 * The mark itself is never taken for a secret. Cost: one pass over the
 * text, memory for a copy only where something is replaced. */
#ifndef GPUPROF_BASE_SECRETS_H
#define GPUPROF_BASE_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

#define SECRETS_MARK "***"

/* What kind of text it is. Names of kernels and ranges are the program's own words: in them only
 * what looks like a secret by itself is one. In command lines and facts the value of `--hf-token`
 * and of `PASSWORD=` is one whatever it looks like. */
enum secrets_in { SECRETS_NAME, SECRETS_COMMAND };

/* The bytes [start, end) of a text. */
struct secret {
    size_t start, end;
};

/* The next secret of s[0..n) at or behind `from`. */
bool secrets_next(const char *s, size_t n, size_t from, enum secrets_in in, struct secret *out);

/* 1: *out is a malloc'ed copy without secrets, *out_n bytes and a NUL. 0: there are none.
 * -1: out of memory. */
int secrets_hide(const char *s, size_t n, enum secrets_in in, char **out, size_t *out_n);

/* The words of a command, each ended by a NUL in words[0..n), with blanks between them and without
 * secrets, into `out`, cut at `size`. Knows where a value with blanks in it ends, which the joined
 * text does not tell. Without memory the result is SECRETS_MARK. */
void secrets_join(const char *words, size_t n, char *out, size_t size);

/* ---- parts ---- */

/* What a name says of its value. SECRETS_COUNTED: a number is none (`--max-tokens 512`);
 * SECRETS_SWITCHED: true, false and the like are none (`--use-auth true`). */
enum secrets_name { SECRETS_NONE, SECRETS_COUNTED, SECRETS_SWITCHED, SECRETS_SURE };
enum secrets_name secrets_name_of(const char *name, size_t n);
bool secrets_name_char(char c);
/* 512, -1, 1e6, 4k, 300B, 2.5M, 16,32 */
bool secrets_is_number(const char *s, size_t n);
/* Is the value of a thing of that kind no secret? */
bool secrets_is_plain(enum secrets_name kind, const char *s, size_t n);
/* The variable of every shell, with the folder that it holds. */
bool secrets_is_folder(const char *name, size_t n, const char *value, size_t length);

/* A secret that begins exactly at s[at] by its shape: tokens of known services, private keys,
 * `Bearer ...`, the password in a URL whose `://` stands at s[at]. */
bool secrets_shape_at(const char *s, size_t n, size_t at, struct secret *out);

#endif
