/* A dialect: the words of remedies for users of one framework, or of one library on top of it. Each
 * file dialect_NAME.c defines `const struct dialect dialect_NAME`; CMake makes the list from the
 * folder. Words are templates (analyzer/remedy/template.h). */
#ifndef GPUPROF_DIALECTS_DIALECT_H
#define GPUPROF_DIALECTS_DIALECT_H

#include "analyzer/facts/facts.h"
#include "analyzer/remedy/remedy.h"

/* What drives the recorded program: CUDA if nothing shows that Python does. XLA compiles for JAX
 * and TensorFlow. */
enum framework { FRAMEWORK_PYTORCH, FRAMEWORK_XLA, FRAMEWORK_CUDA, FRAMEWORKS };
enum framework dialect_framework(const struct facts *f);

/* How a library writes DataLoader(..., num_workers=2): OPEN, BEFOREnum_workers=2CLOSE. */
struct loader_words {
    const char *open; /* NULL: it has no words of its own */
    const char *before, *workers, *close;
    /* The only other setting that it has words for; "": none; NULL: all. */
    const char *others;
};

/* Text for {@NAME} in templates: a library can replace this part of a base's words alone. */
struct wording {
    const char *name, *text;
};
enum { PHRASES = 8 };

struct dialect {
    const char *id;   /* e.g. "transformers" */
    const char *name; /* heading, e.g. "Transformers" */
    /* Its words apply where this dialect has none. NULL only for dialect_any. */
    const struct dialect *base;
    /* Python packages ("a b"): the dialect is for programs that these train, or whose loader they
     * make. NULL: none. */
    const char *package;
    /* Files ("package/file.py package/folder/") of the library's own training loop: waits in them
     * are the library's. NULL: none. */
    const char *trainer;
    /* Returns whether to use the dialect for this program of its framework. NULL: the package
     * decides, or it is a framework's own dialect. */
    bool (*spoken)(const struct facts *f);
    /* A hook records the line to change and the present setting of its programs. */
    bool hooked;
    /* Compilers make all CUDA calls: advice about calls does not help, and no setting applies. */
    bool no_calls;
    bool no_workers_on_cpu; /* the library starts no workers when it trains without a GPU */
    struct loader_words loader;
    struct wording phrases[PHRASES]; /* an entry without a name ends the list */
    /* By action. NULL, or empty after filling: use the base's words, then those of the general
     * action. */
    const char *words[ACTION_COUNT];
    /* By action: a finding's title if the rule's does not fit, or NULL. */
    const char *titles[ACTION_COUNT];
};

extern const struct dialect *const dialects[];
extern const size_t dialect_count;
/* The bases of all others: words for everybody, and one dialect for each framework. */
extern const struct dialect dialect_any, dialect_pytorch, dialect_tensorflow, dialect_cuda;

/* Returns the i-th dialect in an order that lists the bases first, or NULL. */
const struct dialect *dialect_listed(size_t i);

/* Returns the dialect of one framework in which to write a remedy for the recorded program; never
 * NULL. */
const struct dialect *dialect_of(const struct facts *f, enum framework framework,
                                 const struct remedy *r);
/* Returns the dialect of the library that makes a loader, from its packages, innermost first; NULL
 * if none has a dialect. */
const struct dialect *dialect_of_packages(const char *packages);
/* Returns the dialect of the library whose own loop contains a place such as
 * "transformers/trainer.py:1919", or NULL. */
const struct dialect *dialect_of_place(const char *place);
/* Returns the heading for the program's dialect, e.g. "CUDA C", or "C++ with libtorch" for a
 * program that calls libtorch. */
const char *dialect_name(const struct facts *f, enum framework framework);

/* Returns the remedy in that dialect, from the arena, or NULL if it has no words for the action, or
 * without memory. */
const char *dialect_say(const struct dialect *d, const struct facts *f, const struct remedy *r,
                        struct arena *arena);
/* Returns the dialect's own words for an action alone, or NULL if it has none. */
const char *dialect_general(const struct dialect *d, enum action action, struct arena *arena);
/* Returns NULL if the rule's title fits. */
const char *dialect_title(const struct dialect *d, enum action action);

#endif
