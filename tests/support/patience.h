/* How long tests wait before they report a hang. */
#ifndef PPSIM_TESTS_SUPPORT_PATIENCE_H
#define PPSIM_TESTS_SUPPORT_PATIENCE_H

#include <stdint.h>
#include <stdlib.h>

/* The factor of all time limits that guard against hangs. tools/test sets it by the machine's load.
 */
static inline int64_t step_patience(void)
{
    const char *text = getenv("PPSIM_TEST_PATIENCE");
    const long factor = text ? strtol(text, NULL, 10) : 1;
    return factor > 0 ? factor : 1;
}

#endif
