/* A stream within a stream: what is written to it arrives gzipped and in base64, so that data are
 * small and harmless inside a page. Closing it writes the rest; errors show in the outer stream. */
#ifndef GPUPROF_REPORT_PAGE_EVENTS_PACKED_H
#define GPUPROF_REPORT_PAGE_EVENTS_PACKED_H

#include <stdio.h>

FILE *packed_open(FILE *to); /* NULL if out of memory */

#endif
