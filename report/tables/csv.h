/* Writes a CSV file row by row (RFC 4180): texts in quotes, numbers with a point, unknown values
 * empty. Characters that act (report/chars.h) become U+FFFD. A text that a spreadsheet would
 * evaluate gets a leading apostrophe. Errors stay in the stream. */
#ifndef GPUPROF_REPORT_TABLES_CSV_H
#define GPUPROF_REPORT_TABLES_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct csv {
    FILE *f;
    bool inside; /* a row has begun */
};

void csv_text(struct csv *c, const char *s); /* NULL: unknown */
void csv_int(struct csv *c, int64_t v);
void csv_count(struct csv *c, int64_t v); /* below 0: unknown */
void csv_number(struct csv *c, double v, int decimals);
void csv_ms(struct csv *c, int64_t ns); /* exact to the nanosecond */
void csv_end(struct csv *c);

#endif
