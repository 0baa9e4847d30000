/* What the simulator of a page is linked with instead of functions of the operating system and of
 * GSL that Emscripten lacks or that no command of the page reaches. tools/dev/build-wasm compiles
 * this file; no other build does. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

double gsl_cdf_tdist_Pinv(double probability, double freedom);
int sched_getaffinity(pid_t process, size_t bytes, void *set);
int __sched_cpucount(size_t bytes, const void *set);

/* Called by fits of measurements alone, which a page does not make. It saves a tenth of GSL. */
double gsl_cdf_tdist_Pinv(double probability, double freedom)
{
    (void)probability;
    (void)freedom;
    abort();
}

/* A page has one thread. */
int sched_getaffinity(pid_t process, size_t bytes, void *set)
{
    (void)process;
    memset(set, 0, bytes);
    ((unsigned char *)set)[0] = 1;
    return 0;
}

int __sched_cpucount(size_t bytes, const void *set)
{
    (void)bytes;
    (void)set;
    return 1;
}
