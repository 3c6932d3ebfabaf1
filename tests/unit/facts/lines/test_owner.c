/* To whom a Python file belongs: the user, a library or Python itself (wire/python_owner.h). */
#include "wire/python_owner.h"

#include "tests/unit/test.h"

TEST(owners)
{
    static const struct {
        const char *file;
        enum python_owner owner;
    } files[] = {
        {"/home/me/train.py", PYTHON_OF_USER},
        {"train.py", PYTHON_OF_USER},
        {"<stdin>", PYTHON_OF_USER},
        {"/v/lib/python3.11/site-packages/transformers/trainer.py", PYTHON_OF_PACKAGE},
        {"/v/lib/python3.11/site-packages/torch/nn/modules/conv.py", PYTHON_OF_TORCH},
        {"/usr/lib/python3.11/subprocess.py", PYTHON_OF_LIBRARY},
        {"<frozen importlib._bootstrap>", PYTHON_OF_LIBRARY},
        {"/v/bin/torchrun", PYTHON_OF_LIBRARY},
        /* as Inductor names what it writes, in whatever folder */
        {"/home/me/cache/ab/cab2345672345672345672345672345672345672345672345672.py",
         PYTHON_OF_TORCH},
        {"/home/me/cache/xy/cab2345672345672345672345672345672345672345672345672.py",
         PYTHON_OF_USER},
        {"/home/me/ab/cab.py", PYTHON_OF_USER},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        ck_assert_msg(python_owner(files[i].file) == files[i].owner, "%s", files[i].file);
}
