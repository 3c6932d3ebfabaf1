/* crosscheck_read FILE, linked with NVIDIA's libcupti: walks the buffers in FILE with its
 * cuptiActivityGetNextRecord (which needs no driver) and prints the number of records of each kind.
 * Fails if a walk does not end exactly at a buffer's end. */
#include <cupti.h>

#include <stdio.h>
#include <stdlib.h>

static int walk(uint8_t *buffer, size_t length, int *count)
{
    CUpti_Activity *r = NULL;
    CUptiResult result;
    while ((result = cuptiActivityGetNextRecord(buffer, length, &r)) == CUPTI_SUCCESS) {
        if ((unsigned)r->kind >= 64)
            return -1;
        count[r->kind]++;
    }
    return result == CUPTI_ERROR_MAX_LIMIT_REACHED ? 0 : -1;
}

int main(int argc, char **argv)
{
    int count[64] = {0};
    uint64_t length;
    FILE *in = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!in)
        return 2;
    while (fread(&length, sizeof length, 1, in) == 1) {
        uint8_t *buffer = aligned_alloc(64, (length + 63) / 64 * 64);
        if (!buffer || fread(buffer, 1, length, in) != length)
            return 3;
        if (walk(buffer, length, count) != 0) {
            fprintf(stderr, "a walk did not reach the end of its buffer\n");
            return 1;
        }
        free(buffer);
    }
    for (int k = 0; k < 64; k++)
        if (count[k])
            printf("%d %d\n", k, count[k]);
    return 0;
}
