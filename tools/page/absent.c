/* Functions of Linux that Emscripten declares and lacks. tools/dev/build-wasm compiles this file;
 * no other build does. */
#include <stddef.h>
#include <string.h>
#include <sys/types.h>

int sched_getaffinity(pid_t process, size_t bytes, void *set);
int __sched_cpucount(size_t bytes, const void *set);

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
