/* Whose code a Python file is. The agent asks for each function on the stack of a launch, the
 * analyzer for each frame of a sample. They use the same functions, so that they agree. */
#ifndef GPUPROF_WIRE_PYTHON_OWNER_H
#define GPUPROF_WIRE_PYTHON_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum python_owner {
    PYTHON_OF_USER,
    PYTHON_OF_PACKAGE, /* installed, but not PyTorch */
    PYTHON_OF_TORCH,   /* PyTorch, and the code that its compiler writes */
    PYTHON_OF_LIBRARY  /* Python's own */
};

/* Stands for the file of a function in C. */
#define PYTHON_BUILT_IN "<built-in>"

/* "torch/nn/modules/conv.py" for an installed file; NULL for any other. */
static inline const char *python_in_packages(const char *file)
{
    static const char *const installed[] = {"/site-packages/", "/dist-packages/"};
    for (size_t i = 0; i < 2; i++) {
        const char *at = strstr(file, installed[i]);
        if (at)
            return at + strlen(installed[i]);
    }
    return NULL;
}

/* "subprocess.py" for a file of Python's library; NULL for any other. */
static inline const char *python_in_library(const char *file)
{
    static const char *const folders[] = {"/lib/python3", "/lib64/python3"};
    for (size_t i = 0; i < 2; i++) {
        const char *at = strstr(file, folders[i]);
        const char *rest = at ? strchr(at + strlen(folders[i]), '/') : NULL;
        if (rest)
            return rest + 1;
    }
    return NULL;
}

/* True for a command that an installed package has put into bin/: it only calls the package. */
static inline bool python_is_command(const char *file)
{
    const char *slash = strrchr(file, '/');
    size_t n = strlen(file);
    bool in_bin = slash && slash - file >= 4 && strncmp(slash - 4, "/bin", 4) == 0;
    return in_bin && !(n >= 3 && strcmp(file + n - 3, ".py") == 0);
}

/* True for a file that Inductor wrote: CACHE/ab/cab....py. Its name is a hash of 51 digits after a
 * c, whose first two digits name the folder (torch/_inductor/codecache.py, get_path). */
static inline bool python_is_compiled(const char *file)
{
    enum { HASH = 52 };
    const char *slash = strrchr(file, '/');
    size_t n = slash ? strspn(slash + 1, "abcdefghijklmnopqrstuvwxyz234567") : 0;
    return n == HASH && slash[1] == 'c' && strcmp(slash + 1 + n, ".py") == 0 && slash - file >= 3 &&
           slash[-3] == '/' && strncmp(slash - 2, slash + 2, 2) == 0;
}

/* A file as gpuprof names places: train.py; for an installed package transformers/trainer.py. */
static inline const char *python_short_file(const char *file)
{
    const char *package = python_in_packages(file), *slash = strrchr(file, '/');
    return package ? package : slash ? slash + 1 : file;
}

static inline enum python_owner python_owner(const char *file)
{
    const char *package = python_in_packages(file);
    if (package)
        return strncmp(package, "torch/", 6) == 0 ? PYTHON_OF_TORCH : PYTHON_OF_PACKAGE;
    if (python_is_compiled(file))
        return PYTHON_OF_TORCH;
    if (python_in_library(file) || python_is_command(file))
        return PYTHON_OF_LIBRARY;
    /* "<frozen importlib._bootstrap>", or code made from text. "<stdin>" is typed by the user. */
    if (file[0] == '<' && strcmp(file, "<stdin>") != 0 && strncmp(file, "<ipython", 8) != 0)
        return PYTHON_OF_LIBRARY;
    return PYTHON_OF_USER;
}

#endif
