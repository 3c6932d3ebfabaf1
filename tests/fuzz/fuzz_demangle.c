/* Fuzzes names of kernels: demangling, the name that is shown, the class. */
#include "tests/fuzz/fuzz.h"

#include "analyzer/timeline/classify.h"
#include "analyzer/timeline/demangle.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char out[DEMANGLED_MAX], shown[256], small[7];
    char *name = malloc(size + 1);
    if (!name)
        return 0;
    memcpy(name, data, size);
    name[size] = 0;
    if (demangle(name, out, sizeof out) == 0 && strlen(out) >= sizeof out)
        abort();
    demangle(name, small, sizeof small);
    kernel_display_name(name, shown, sizeof shown);
    if (strlen(shown) >= sizeof shown)
        abort();
    classify_kernel(name);
    free(name);
    return 0;
}
