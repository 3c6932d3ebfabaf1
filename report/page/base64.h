/* Bytes as base64, for data: addresses. */
#ifndef GPUPROF_REPORT_PAGE_BASE64_H
#define GPUPROF_REPORT_PAGE_BASE64_H

#include <stdio.h>

/* Writes one to three bytes as four characters. Fewer than three bytes end the text. */
void base64_group(FILE *f, const unsigned char *b, size_t n);
void base64_put(FILE *f, const unsigned char *b, size_t n);

#endif
