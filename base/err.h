/* Errors. A function that can fail takes `struct err *e` last, returns -1 and leaves one line of
 * text in it: what is wrong and what to do. Only the CLI prints it. 0 = done; iterators: 1 row, 0
 * end. */
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

/* Set the text (replacing what was there) and return -1, so that `return err_set(e, ...)` reads
 * well. e may be NULL. */
int err_set(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Put "PREFIX: " before the text that is there; returns -1. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "out of memory"; returns -1. */
int err_no_memory(struct err *e);

#endif
