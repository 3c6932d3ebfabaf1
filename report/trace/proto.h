/* Writes messages of Protocol Buffers into memory (https://protobuf.dev/programming-guides/encoding). A field is a number and a
 * value; a message within a message is built first and then added. Without memory the message stays as it is and is
 * marked failed. */
#ifndef GPUPROF_REPORT_TRACE_PROTO_H
#define GPUPROF_REPORT_TRACE_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto {
    uint8_t *at;
    size_t n, cap;
    bool failed;
};

void proto_clear(struct proto *m); /* empties it, and keeps the memory */
void proto_release(struct proto *m);
void proto_int(struct proto *m, unsigned field, uint64_t v); /* int, uint, enum, bool: a varint */
void proto_double(struct proto *m, unsigned field, double v);
void proto_bytes(struct proto *m, unsigned field, const void *at, size_t n);
/* Text in UTF-8. A byte that belongs to no character becomes U+FFFD, as does a character that acts on what shows it
 * (report/chars.h). */
void proto_text(struct proto *m, unsigned field, const char *text);
void proto_message(struct proto *m, unsigned field, const struct proto *inner);

#endif
