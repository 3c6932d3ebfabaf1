/* One row of a CSV file after the other (RFC 4180): texts in quotes, numbers with a point, what is
 * not known empty. Characters that act (report/chars.h) become U+FFFD, and a text that a
 * spreadsheet would compute gets a leading apostrophe. Errors stick to the stream. */
#ifndef GPUPROF_REPORT_TABLES_CSV_H
#define GPUPROF_REPORT_TABLES_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct csv {
    FILE *f;
    bool inside; /* a row has begun */
};

void csv_text(struct csv *c, const char *s); /* NULL: not known */
void csv_int(struct csv *c, int64_t v);
void csv_count(struct csv *c, int64_t v); /* below 0: not known */
void csv_number(struct csv *c, double v, int decimals);
void csv_ms(struct csv *c, int64_t ns); /* exact to the nanosecond */
void csv_end(struct csv *c);

#endif
