/* Bytes as text of a data: address. */
#ifndef GPUPROF_REPORT_PAGE_BASE64_H
#define GPUPROF_REPORT_PAGE_BASE64_H

#include <stdio.h>

/* One to three bytes as four characters; fewer than three end the text. */
void base64_group(FILE *f, const unsigned char *b, size_t n);
void base64_put(FILE *f, const unsigned char *b, size_t n);

#endif
