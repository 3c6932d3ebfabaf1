/* Chooses the dialect in which to write a remedy for a recorded program. */
#include "analyzer/dialects/dialect.h"

#include "analyzer/queries/query.h"
#include "wire/fact_keys.h"

#include <stdio.h>
#include <string.h>

static const struct dialect *const own[FRAMEWORKS] = {[FRAMEWORK_PYTORCH] = &dialect_pytorch,
                                                      [FRAMEWORK_XLA] = &dialect_tensorflow,
                                                      [FRAMEWORK_CUDA] = &dialect_cuda};

enum framework dialect_framework(const struct facts *f)
{
    return query_of_xla(f)       ? FRAMEWORK_XLA
           : query_of_pytorch(f) ? FRAMEWORK_PYTORCH
                                 : FRAMEWORK_CUDA;
}

/* Is the word of n bytes one of `words`, which are separated by blanks? */
static bool among(const char *words, const char *word, size_t n)
{
    for (const char *w = words; w && *w; w += strcspn(w, " "), w += *w == ' ')
        if (strcspn(w, " ") == n && strncmp(w, word, n) == 0)
            return true;
    return false;
}

const struct dialect *dialect_of_packages(const char *packages)
{
    for (const char *p = packages; p && *p; p += strcspn(p, " "), p += *p == ' ')
        for (size_t i = 0; i < dialect_count; i++)
            if (among(dialects[i]->package, p, strcspn(p, " ")))
                return dialects[i];
    return NULL;
}

const struct dialect *dialect_of_place(const char *place)
{
    for (size_t i = 0; i < dialect_count; i++)
        for (const char *t = dialects[i]->trainer; t && *t; t += strcspn(t, " "), t += *t == ' ')
            if (strncmp(place, t, strcspn(t, " ")) == 0)
                return dialects[i];
    return NULL;
}

const struct dialect *dialect_listed(size_t i)
{
    static const struct dialect *const first[] = {&dialect_any, &dialect_pytorch,
                                                  &dialect_tensorflow, &dialect_cuda};
    enum { FIRST = sizeof first / sizeof *first };
    if (i < FIRST)
        return first[i];
    for (size_t k = 0, n = FIRST; k < dialect_count; k++) {
        bool listed = false;
        for (int b = 0; b < FIRST; b++)
            listed |= dialects[k] == first[b];
        if (!listed && n++ == i)
            return dialects[k];
    }
    return NULL;
}

/* Returns the dialect of the library that trains: the one that makes one of the program's loaders,
 * or calls the optimizer. */
static const struct dialect *library_of(const struct facts *f)
{
    char key[48];
    const struct dialect *d = NULL;
    for (int n = 1; !d; n++) {
        snprintf(key, sizeof key, FACT_TORCH_LOADER ".%d." FACT_LOADER_BY, n);
        const char *by = timeline_meta(f->tl, key);
        d = dialect_of_packages(by);
        snprintf(key, sizeof key, FACT_TORCH_LOADER ".%d", n);
        if (!by && !timeline_meta(f->tl, key))
            return dialect_of_packages(timeline_meta(f->tl, FACT_TORCH_TRAINED_BY));
    }
    return d;
}

static bool is_based_on(const struct dialect *d, const struct dialect *base)
{
    while (d && d != base)
        d = d->base;
    return d != NULL;
}

/* Returns the dialect of the program if it uses this framework, or the framework's own dialect. */
static const struct dialect *spoken(const struct facts *f, enum framework framework)
{
    for (size_t i = 0; framework == dialect_framework(f) && i < dialect_count; i++)
        if (dialects[i]->spoken && is_based_on(dialects[i], own[framework]) &&
            dialects[i]->spoken(f))
            return dialects[i];
    return own[framework];
}

const struct dialect *dialect_of(const struct facts *f, enum framework framework,
                                 const struct remedy *r)
{
    const struct dialect *library = r->object.kind == OBJECT_LOADER || r->object.made_by
                                        ? dialect_of_packages(r->object.made_by)
                                        : library_of(f);
    return library && is_based_on(library, own[framework]) ? library : spoken(f, framework);
}

const char *dialect_name(const struct facts *f, enum framework framework)
{
    return spoken(f, framework)->name;
}
