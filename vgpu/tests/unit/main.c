/* Runs the one Check suite that this program was built for (-DONE_SUITE=test_x_suite). A case that
 * hangs is stopped after two minutes. */
#include <check.h>
#include <stdlib.h>

Suite *ONE_SUITE(void);

int main(void)
{
    setenv("CK_DEFAULT_TIMEOUT", "120", 0);
    SRunner *r = srunner_create(ONE_SUITE());
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r), ran = srunner_ntests_run(r);
    srunner_free(r);
    return failed || !ran ? EXIT_FAILURE : EXIT_SUCCESS;
}
