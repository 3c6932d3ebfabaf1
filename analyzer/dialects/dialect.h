/* A dialect: the words in which a remedy is told to those who use one framework, or one library on
 * top of it. Each file dialect_NAME.c defines `const struct dialect dialect_NAME`; the list is made
 * from the folder. Words are templates (analyzer/remedy/template.h). */
#ifndef GPUPROF_DIALECTS_DIALECT_H
#define GPUPROF_DIALECTS_DIALECT_H

#include "analyzer/facts/facts.h"
#include "analyzer/remedy/remedy.h"

/* What drives the recorded program: CUDA where nothing says that Python does. XLA compiles for JAX
 * and TensorFlow. */
enum framework { FRAMEWORK_PYTORCH, FRAMEWORK_XLA, FRAMEWORK_CUDA, FRAMEWORKS };
enum framework dialect_framework(const struct facts *f);

/* How a library says DataLoader(..., num_workers=2): OPEN, BEFOREnum_workers=2CLOSE. */
struct loader_words {
    const char *open; /* NULL: it has no words of its own */
    const char *before, *workers, *close;
    const char *others; /* the one setting that it has words for besides; "": none; NULL: all */
};

struct wording { /* of templates that say {@NAME}: a library may have words for that part alone */
    const char *name, *text;
};
enum { PHRASES = 8 };

struct dialect {
    const char *id;             /* "transformers" */
    const char *name;           /* "Transformers", as a heading */
    const struct dialect *base; /* whose words hold where this one has none; NULL for dialect_any */
    const char *package; /* it is spoken to programs that these Python packages ("a b") train, or
                            whose loader they make; NULL */
    const char *trainer; /* the files, "package/file.py package/folder/", whose waits are those of
                            the library's own loop; NULL */
    bool (*spoken)(const struct facts *f); /* to this program, of its framework; NULL: by its
                                              package, or as a framework's own dialect */
    bool hooked;   /* the place and what is there now are facts about its programs */
    bool no_calls; /* compilers make all calls: words about calls are no help, nor are settings */
    bool no_workers_on_cpu; /* the library starts none where it trains without a GPU */
    struct loader_words loader;
    struct wording phrases[PHRASES];  /* up to the first without a name */
    const char *words[ACTION_COUNT];  /* NULL, or empty when filled: those of the base, then those
                                         of the general action */
    const char *titles[ACTION_COUNT]; /* of a finding, where the rule's does not fit; NULL */
};

extern const struct dialect *const dialects[];
extern const size_t dialect_count;
/* The bases of all others: words that hold for everybody, and one for each framework. */
extern const struct dialect dialect_any, dialect_pytorch, dialect_tensorflow, dialect_cuda;

/* dialects[] in another order: the bases first. */
const struct dialect *dialect_listed(size_t i);

/* The dialect of one framework in which to tell the recorded program a remedy. Never NULL. */
const struct dialect *dialect_of(const struct facts *f, enum framework framework,
                                 const struct remedy *r);
/* The library's that makes a loader, by its packages, innermost first; NULL: none with words. */
const struct dialect *dialect_of_packages(const char *packages);
/* The library whose own loop waits at a place such as "transformers/trainer.py:1919"; NULL: none. */
const struct dialect *dialect_of_place(const char *place);
/* "CUDA C"; of a program that calls libtorch "C++ with libtorch". */
const char *dialect_name(const struct facts *f, enum framework framework);

/* The remedy in that dialect, from the arena. NULL: it has no words for the action, or no memory.
 */
const char *dialect_say(const struct dialect *d, const struct facts *f, const struct remedy *r,
                        struct arena *arena);
/* The dialect's own words for an action of which no more is known. NULL: it has none. */
const char *dialect_general(const struct dialect *d, enum action action, struct arena *arena);
/* NULL: the rule's title fits. */
const char *dialect_title(const struct dialect *d, enum action action);

#endif
