/* Characters of names that come from recordings: UTF-8, and which of them act on what shows
 * them instead of being seen. What each format does with those: terminal.h, xml.h, json_write.h. */
#ifndef GPUPROF_REPORT_CHARS_H
#define GPUPROF_REPORT_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One UTF-8 character of s[0..n), n > 0: its length and code point, or 1 and U+FFFD for a byte that
 * belongs to none. */
size_t utf8_next(const char *s, size_t n, uint32_t *code);

/* Controls (ESC, DEL, C1, line breaks and tabs among them), what turns the direction of text
 * around, separators and marks without a glyph, code points that are no characters. */
bool char_acts(uint32_t code);

/* Does a command begin at s[0], n > 0 bytes from the end, that runners of CI services obey wherever
 * it stands in what a job prints? (`##[error]`, `##vso[task...]`) */
bool text_commands(const char *s, size_t n);

#endif
