/* One table of the settings that findings advise and `gpuprof try --apply` accepts, and which
 * programs obey them. Rules name no others. A name that only plants a defect in a reference trainer
 * is no setting; the trainer's list of defects has its undo. */
#ifndef GPUPROF_ADVICE_SETTINGS_H
#define GPUPROF_ADVICE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

struct setting {
    const char *name;
    /* Values that the PyTorch hook obeys, separated by blanks. "*": any value. NULL: the program
     * needs an edit. */
    const char *hook;
    bool trainers;     /* reference trainers obey any value */
    const char *other; /* values that change computed results; NULL: none does */
};

extern const struct setting setting_table[];
extern const size_t setting_count;

/* Returns true if one of "name=value;name=value" changes computed results. */
bool settings_change_numbers(const char *text);

#endif
