/* How long a replanner takes for a batch, and how much slower its steps are than those of a long
 * search. Batches are drawn (lognormal, median 900, at most 8192 tokens), so that first fit makes
 * about 64 microbatches of 8 ranks, and 128 of 16. Percentiles of wall time and of processor time
 * of one thread; then the steps of some batches against those of `plan` with 5 s for the same
 * pipeline.   bench_replan [--batches N] [--searched N] [--schedule NAME] */
#include "runtime/core/clock.h"
#include "sim/base/random.h"
#include "tools/library/ppsim.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SEQUENCES_MOST = 2000, BATCHES_MOST = 100000 };

typedef struct setting {
    const char *ranks;
    size_t sequences;
    int64_t budget_ns;
    double median_ms, p99_ms; /* wanted */
} setting;

static void check(ppsim_status status, const ppsim_error *error)
{
    if (!status)
        return;
    fprintf(stderr, "bench_replan: %s: %s\n", error->field, error->reason);
    exit(EXIT_FAILURE);
}

static double uniform(uint64_t *seed)
{
    return ((double)(pp_random_next(seed) >> 11) + 0.5) * 0x1p-53;
}

static void draw(uint64_t *seed, int64_t *lengths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double normal =
            sqrt(-2 * log(uniform(seed))) * cos(2 * 3.14159265358979 * uniform(seed));
        lengths[i] = (int64_t)fmin(fmax(900 * exp(1.1 * normal), 16), 8192);
    }
}

static ppsim_request *request_of(const setting *s, const char *schedule, const int64_t *lengths,
                                 const char *budget)
{
    ppsim_request *request;
    ppsim_error error;
    const char *const options[][2] = { { "model", "llama3-70b" },
                                       { "hw", "h100-80g" },
                                       { "pp", s->ranks },
                                       { "tp", "8" },
                                       { "seq-length", "8192" },
                                       { "micro-batch-size", "1" },
                                       { "recompute", "none" },
                                       { "lengths", "batch" },
                                       { "vpp", "1" },
                                       { "schedule", schedule },
                                       { "budget", budget } };
    char *text = malloc(s->sequences * 8 + 8);
    size_t bytes = 0;
    for (size_t i = 0; i < s->sequences; i++)
        bytes += (size_t)sprintf(text + bytes, "%" PRId64 "\n", lengths[i]);
    check(ppsim_request_new("plan", &request, &error), &error);
    check(ppsim_request_input(request, "batch", text, bytes, &error), &error);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i][1])
            check(ppsim_request_set(request, options[i][0], options[i][1], &error), &error);
    }
    free(text);
    return request;
}

static int compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return (a > b) - (a < b);
}

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* The step of a long search for the same pipeline and batch. */
static double search(const setting *s, const int64_t *lengths)
{
    ppsim_result *result;
    ppsim_error error;
    ppsim_request *request = request_of(s, NULL, lengths, "5s");
    check(ppsim_run(request, &result, &error), &error);
    const double step = (double)ppsim_result_step_ns(result);
    ppsim_result_free(result);
    ppsim_request_free(request);
    return step;
}

static void measure(const setting *s, const char *schedule, size_t batches, size_t searched)
{
    static int64_t lengths[SEQUENCES_MOST];
    static double wall[BATCHES_MOST], processor[BATCHES_MOST];
    uint64_t seed = 1;
    ppsim_replanner *replanner;
    ppsim_error error;
    draw(&seed, lengths, s->sequences);
    ppsim_request *request = request_of(s, schedule, lengths, NULL);
    check(ppsim_replanner_new(request, &replanner, &error), &error);
    ppsim_request_free(request);
    double microbatches = 0, against_first_fit = 0, more = 0, most = 0;
    for (size_t k = 0; k < batches; k++) {
        draw(&seed, lengths, s->sequences);
        const ppsim_batch batch = { .lengths = lengths,
                                    .count = s->sequences,
                                    .time_ns = s->budget_ns };
        ppsim_result *result;
        const double before = cpu_ms();
        const int64_t begin = pp_clock_now_ns();
        check(ppsim_replan(replanner, &batch, &result, &error), &error);
        wall[k] = (double)(pp_clock_now_ns() - begin) * 1e-6;
        processor[k] = cpu_ms() - before;
        microbatches += ppsim_result_microbatches(result);
        against_first_fit +=
            (double)ppsim_result_step_ns(result) / (double)ppsim_result_first_fit_ns(result);
        if (k < searched) {
            const double excess = (double)ppsim_result_step_ns(result) / search(s, lengths) - 1;
            more += excess;
            most = fmax(most, excess);
        }
        ppsim_result_free(result);
    }
    qsort(wall, batches, sizeof *wall, compare);
    qsort(processor, batches, sizeof *processor, compare);
    printf("%5s %12.1f %10.0f %9.2f %7.2f %7.2f %7.2f %7.2f %7.2f %12.4f", s->ranks,
           microbatches / (double)batches, (double)s->budget_ns * 1e-6, s->median_ms, s->p99_ms,
           wall[batches / 2], wall[batches * 99 / 100], processor[batches / 2],
           processor[batches * 99 / 100], against_first_fit / (double)batches);
    if (searched)
        printf(" %+9.2f %+7.2f", 100 * more / (double)searched, 100 * most);
    printf("\n");
    ppsim_replanner_free(replanner);
}

int main(int argc, char **argv)
{
    static const setting settings[] = { { "8", 360, 9000000, 10, 25 },
                                        { "16", 720, 45000000, 50, 0 } };
    size_t batches = 400, searched = 5;
    const char *schedule = "1f1b";
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--batches") == 0)
            batches = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--searched") == 0)
            searched = strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--schedule") == 0)
            schedule = argv[i + 1];
    }
    if (batches < 1 || batches > BATCHES_MOST || searched > batches || argc % 2 == 0) {
        fputs("usage: bench_replan [--batches N] [--searched N] [--schedule NAME]\n", stderr);
        return EXIT_FAILURE;
    }
    printf("ranks microbatches budget ms    wanted, ms     wall, ms  processor, ms "
           " / first fit  over 5 s, %%: mean, most\n");
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++)
        measure(&settings[k], schedule, batches, searched);
    return EXIT_SUCCESS;
}
