/* Writes the one line of text of an error. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *e, const char *fmt, ...)
{
    if (!e)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    if (!e)
        return -1;
    char old[sizeof e->text], prefix[256];
    memcpy(old, e->text, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(prefix, sizeof prefix, fmt, ap);
    va_end(ap);
    snprintf(e->text, sizeof e->text, "%s: %.*s", prefix,
             (int)(sizeof e->text - strlen(prefix) - sizeof ": "), old);
    return -1;
}

int err_no_memory(struct err *e)
{
    return err_set(e, "out of memory");
}
