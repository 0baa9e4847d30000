/* The floor of tests/bench/peers.py: a process that knows one schedule, 1F1B, and runs it in an
 * order in which every op comes after those that it waits for. It keeps the start of every op, as a
 * simulator does.   bare RANKS MICROBATCHES FORWARD BACKWARD TRANSFER   (times in ns) */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return EXIT_FAILURE;
    const int64_t p = strtoll(argv[1], NULL, 10), m = strtoll(argv[2], NULL, 10);
    const int64_t f = strtoll(argv[3], NULL, 10), b = strtoll(argv[4], NULL, 10);
    const int64_t transfer = strtoll(argv[5], NULL, 10);
    int64_t *begin = malloc((size_t)(2 * p * m) * sizeof *begin);
    int64_t *at = calloc((size_t)p, sizeof *at);           /* end of a rank's last op */
    int64_t *gradient = calloc((size_t)p + 1, sizeof *at); /* end of its last backward */
    int64_t end = 0;
    if (!begin || !at || !gradient)
        return EXIT_FAILURE;
    /* Forward k of rank r comes after its backward k - (p - r); that one after the same of rank
     * r + 1, which belongs to k - 1. */
    for (int64_t k = 0; k < m + p; k++) {
        int64_t arrived = 0;
        for (int64_t r = 0; r < p; r++) {
            const int64_t j = k - (p - r);
            if (j < 0 || j >= m)
                continue;
            const int64_t start = later(at[r], r + 1 < p ? gradient[r + 1] + transfer : 0);
            begin[(2 * r + 1) * m + j] = start;
            at[r] = gradient[r] = start + b;
        }
        for (int64_t r = 0; r < p && k < m; r++) {
            const int64_t start = later(at[r], arrived);
            begin[2 * r * m + k] = start;
            at[r] = start + f;
            arrived = at[r] + transfer;
        }
    }
    for (int64_t r = 0; r < p; r++)
        end = later(end, at[r]);
    printf("%" PRId64 "\n", end);
    free(begin);
    free(at);
    free(gradient);
    return EXIT_SUCCESS;
}
