/* The settings that findings advise and `gpuprof try --apply` takes, and who obeys each: one table.
 * A rule names no other. What only plants a defect in a reference trainer is no setting: its undo
 * is in the trainer's list of defects. */
#ifndef GPUPROF_ADVICE_SETTINGS_H
#define GPUPROF_ADVICE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

struct setting {
    const char *name;
    const char *hook;  /* values that the PyTorch hook obeys, a space between; "*": any; NULL: the
                          program needs an edit */
    bool trainers;     /* reference trainers obey it: any value */
    const char *other; /* values that change the numbers that are computed; NULL: none does */
};

extern const struct setting setting_table[];
extern const size_t setting_count;

/* Does one of "name=value;name=value" change the numbers that are computed? */
bool settings_change_numbers(const char *text);

#endif
