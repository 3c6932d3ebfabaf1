/* Characters in names from recordings: UTF-8, and which characters act on what shows them instead
 * of being seen. terminal.h, xml.h and json_write.h say what each format does with those. */
#ifndef GPUPROF_REPORT_CHARS_H
#define GPUPROF_REPORT_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads one UTF-8 character of s[0..n), n > 0. Returns its length and sets its code point; 1 and
 * U+FFFD for a byte that belongs to no character. */
size_t utf8_next(const char *s, size_t n, uint32_t *code);

/* True for controls (ESC, DEL, C1, line breaks and tabs among them), characters that reverse the
 * direction of text, separators and marks without a glyph, and code points that are no
 * characters. */
bool char_acts(uint32_t code);

/* True if s[0], n > 0 bytes from the end, begins a command that runners of CI services obey
 * anywhere in a job's output (`##[error]`, `##vso[task...]`). */
bool text_commands(const char *s, size_t n);

#endif
