/* Plans a model with libppsim, and shows what each rank does and holds.
 *
 *     plan_model gpt175b 16
 *
 * A request is the command line of ppsim, option by option; a result has what the command prints
 * and writes, and numbers that need no parsing. */
#include <ppsim/ppsim.h>

#include <stdio.h>
#include <stdlib.h>

static int fail(const ppsim_error *error)
{
    fprintf(stderr, "%s%s%s\n", error->field, *error->field ? ": " : "",
            *error->reason ? error->reason : ppsim_status_text(error->status));
    return EXIT_FAILURE;
}

/* Prints the first ops of a rank, and its memory. */
static int print_rank(const ppsim_result *result, uint32_t rank)
{
    const size_t ops = ppsim_result_op_count(result, rank);
    uint8_t *kind = malloc(ops ? ops : 1);
    uint32_t *stage = calloc(ops ? ops : 1, sizeof *stage);
    uint32_t *microbatch = calloc(ops ? ops : 1, sizeof *microbatch);
    int64_t bytes[32];
    int64_t peak_bytes = 0;
    if (!kind || !stage || !microbatch)
        return EXIT_FAILURE;
    ppsim_result_ops(result, rank, kind, stage, microbatch, NULL, NULL);
    const int64_t limit_bytes = ppsim_result_memory(result, rank, bytes);
    for (size_t k = 0; ppsim_memory_component(k); k++)
        peak_bytes += bytes[k];
    printf("rank %2u holds %.1f of %.1f GB and begins with", rank, (double)peak_bytes / 1e9,
           (double)limit_bytes / 1e9);
    for (size_t i = 0; i < ops && i < 6; i++)
        printf(" %u%c%u", stage[i], "FIWB"[kind[i]], microbatch[i]);
    printf("\n");
    free(kind);
    free(stage);
    free(microbatch);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *model = argc > 1 ? argv[1] : "gpt1.7b";
    const char *ranks = argc > 2 ? argv[2] : "4";
    ppsim_request *request = NULL;
    ppsim_result *result = NULL;
    ppsim_error error = { PPSIM_OK, "", "" };
    ppsim_status status = ppsim_request_new("plan", &request, &error);
    if (!status)
        status = ppsim_request_set(request, "model", model, &error);
    if (!status)
        status = ppsim_request_set(request, "pp", ranks, &error);
    if (!status)
        status = ppsim_run(request, &result, &error);
    int exit_status = status ? fail(&error) : EXIT_SUCCESS;
    if (!status)
        printf("ppsim %s: a step of %.1f ms in %u stages\n", ppsim_version(),
               (double)ppsim_result_step_ns(result) / 1e6, ppsim_result_stages(result));
    for (uint32_t rank = 0; !exit_status && rank < ppsim_result_ranks(result); rank++)
        exit_status = print_rank(result, rank);
    ppsim_result_free(result);
    ppsim_request_free(request);
    return exit_status;
}
