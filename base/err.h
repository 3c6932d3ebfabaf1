/* Errors. A function that can fail takes `struct err *e` as its last argument. On failure it
 * returns -1 and leaves one line of text in it: what is wrong and what to do. Only the CLI prints
 * it. 0 means done; iterators return 1 for a row and 0 at the end. */
#ifndef GPUPROF_BASE_ERR_H
#define GPUPROF_BASE_ERR_H

struct err {
    char text[512];
};

#define ERR_INIT                                                                                   \
    {                                                                                              \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* Sets the text (replacing any old one) and returns -1, for `return err_set(e, ...)`. e may be
 * NULL. */
int err_set(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Puts "PREFIX: " before the present text and returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets "out of memory" and returns -1. */
int err_no_memory(struct err *e);

#endif
