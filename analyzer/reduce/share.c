/* Divides files among processes: neighbouring files, and about as many bytes each. */
#include "analyzer/reduce/share.h"

/* Cost of reading a file: its bytes, and a constant for opening it. */
static double cost(int64_t bytes)
{
    enum { FILE_BYTES = 4096 };
    return (bytes > 0 ? (double)bytes : 0) + FILE_BYTES;
}

size_t share_first(const int64_t *bytes, size_t n, size_t process, size_t processes)
{
    double all = 0, before = 0;
    for (size_t i = 0; i < n; i++)
        all += cost(bytes[i]);
    double from = all * (double)process / (double)processes;
    size_t first = 0;
    while (first < n && before + cost(bytes[first]) / 2 < from)
        before += cost(bytes[first++]);
    return first;
}
