/* Runs the Check suites named on the command line, or all of them. A case that hangs is stopped
 * after two minutes: how long one takes says nothing on a machine that does other work, too. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef ONE_SUITE
Suite *ONE_SUITE(void);
#else
#include "suites_declared.inc"
#endif

static const struct {
    const char *name;
    Suite *(*make)(void);
} suites[] = {
#ifdef ONE_SUITE
    {"", ONE_SUITE},
#else
#include "suites.inc"
#endif
};

int main(int argc, char **argv)
{
    setenv("CK_DEFAULT_TIMEOUT", "120", 0);
    SRunner *r = srunner_create(NULL);
    int chosen = 0;
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++) {
        if (argc > 1 && strcmp(argv[1], suites[i].name) != 0)
            continue;
        srunner_add_suite(r, suites[i].make());
        chosen++;
    }
    if (!chosen) {
        fprintf(stderr, "no such suite\n");
        return 2;
    }
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r), ran = srunner_ntests_run(r);
    srunner_free(r);
    return failed || !ran ? EXIT_FAILURE : EXIT_SUCCESS;
}
