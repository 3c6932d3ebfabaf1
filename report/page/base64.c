/* Writes bytes as base64. */
#include "report/page/base64.h"

void base64_group(FILE *f, const unsigned char *b, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned v = (unsigned)b[0] << 16 | (n > 1 ? (unsigned)b[1] << 8 : 0) | (n > 2 ? b[2] : 0);
    char out[4] = {digits[v >> 18], digits[v >> 12 & 63], n > 1 ? digits[v >> 6 & 63] : '=',
                   n > 2 ? digits[v & 63] : '='};
    fwrite(out, 1, 4, f);
}

void base64_put(FILE *f, const unsigned char *b, size_t n)
{
    for (size_t i = 0; i < n; i += 3)
        base64_group(f, b + i, n - i < 3 ? n - i : 3);
}
