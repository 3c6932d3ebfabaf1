/* Reads what determines the layout of an interpreter: the beginning of
 * _PyRuntime, and the version. */
#include "analyzer/pyframes/layout.h"

enum layout_result layout_find(struct memory *m, const struct python_place *place,
                               struct python_layout *layout)
{
    uint64_t word[PYTHON_SAID_WORDS], version = 0;
    int minor = place->minor;
    if (!memory_read(m, place->runtime, word, sizeof word))
        return LAYOUT_NOT_YET;
    if (place->version && memory_word(m, place->version, &version))
        minor = version >> 24 == 3 ? (int)(version >> 16 & 0xff) : 0;
    return python_layout_of(word, minor, layout);
}
