/* A stream inside a stream: what is written to it arrives gzipped and in base64, so that data lies
 * small and harmless inside a page. Closing flushes; errors show on the outer stream. */
#ifndef GPUPROF_REPORT_PAGE_EVENTS_PACKED_H
#define GPUPROF_REPORT_PAGE_EVENTS_PACKED_H

#include <stdio.h>

FILE *packed_open(FILE *to); /* NULL when out of memory */

#endif
