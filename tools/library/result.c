/* Runs requests and answers from their results. The command of the program runs with a console of
 * this thread (tools/ppsim/base/console.h), which collects what it would print or write. A plan is
 * simulated once more for its timeline: that takes as long as one of the many simulations of its
 * search. */
#include "tools/library/result.h"

#include "sim/base/alloc.h"
#include "tools/library/request.h"
#include "tools/ppsim/base/execute.h"
#include "tools/ppsim/base/option_names.h"

#include <stdlib.h>
#include <string.h>

/* Runs the command with the words of the request, and --json. */
static pp_status execute(const ppsim_request *request, pp_err *err)
{
    const size_t count = request->words + 3;
    char **argv = pp_alloc_array(count + 1, sizeof *argv);
    if (!argv)
        return pp_err_nomem(err);
    char program[] = "ppsim";
    char json[] = "--json";
    argv[0] = program;
    argv[1] = (char *)request->command->name; /* which is not written to */
    if (request->words)
        memcpy(argv + 2, request->word, request->words * sizeof *argv);
    argv[count - 1] = json;
    pp_status status = pp_command_execute(request->command, (int)count, argv, err);
    free(argv);
    return status;
}

static pp_status find_timeline(pp_console *console, pp_err *err)
{
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    if (!console->plan || console->program)
        return PP_OK;
    return pp_plan_simulate(console->plan, &console->program, &console->timeline, NULL, &report,
                            err);
}

ppsim_status ppsim_run(const ppsim_request *request, ppsim_result **result_out, ppsim_error *error)
{
    pp_err err = PP_COMMAND_ERR;
    ppsim_result *result = pp_alloc_array(1, sizeof *result);
    *result_out = result;
    if (!result) {
        (void)pp_err_nomem(&err);
        return ppsim_report(&err, error);
    }
    result->console = ppsim_console_of(request);
    const ppsim_plain locales = ppsim_plain_begin();
    pp_console *outer = pp_console_current();
    pp_console_use(&result->console);
    pp_status status = execute(request, &err);
    pp_console_use(outer);
    ppsim_console_leave(&result->console);
    if (!status)
        status = find_timeline(&result->console, &err);
    const pp_text *const texts[] = { &result->console.json, &result->console.words,
                                     &result->console.remarks };
    for (size_t i = 0; !status && i < sizeof texts / sizeof *texts; i++)
        status = pp_text_check(texts[i], &err);
    ppsim_plain_end(&locales);
    err.status = status;
    return ppsim_finish(&err, error);
}

void ppsim_result_free(ppsim_result *result)
{
    if (!result)
        return;
    pp_console_free(&result->console);
    free(result);
}

static const pp_text no_text;

static const char *text_of(const pp_text *text, size_t *bytes_out)
{
    if (bytes_out)
        *bytes_out = text->bytes;
    return text->data ? text->data : "";
}

const char *ppsim_result_json(const ppsim_result *result, size_t *bytes_out)
{
    return text_of(result ? &result->console.json : &no_text, bytes_out);
}

const char *ppsim_result_text(const ppsim_result *result, size_t *bytes_out)
{
    return text_of(result ? &result->console.words : &no_text, bytes_out);
}

const char *ppsim_result_remarks(const ppsim_result *result, size_t *bytes_out)
{
    return text_of(result ? &result->console.remarks : &no_text, bytes_out);
}

const char *ppsim_result_file_name(const ppsim_result *result, size_t index)
{
    return result && index < result->console.count ? result->console.file[index].name : NULL;
}

const char *ppsim_result_file(const ppsim_result *result, size_t index, size_t *bytes_out)
{
    const bool exists = result && index < result->console.count;
    return text_of(exists ? &result->console.file[index].content : &no_text, bytes_out);
}

static const pp_report *report_of(const ppsim_result *result)
{
    return result && result->console.plan ? result->console.plan->prediction : NULL;
}

static const pp_program *program_of(const ppsim_result *result)
{
    return result ? result->console.program : NULL;
}

int64_t ppsim_result_step_ns(const ppsim_result *result)
{
    const pp_report *report = report_of(result);
    return report ? report->step_ns : 0;
}

uint32_t ppsim_result_ranks(const ppsim_result *result)
{
    return program_of(result) ? program_of(result)->ranks : 0;
}

uint32_t ppsim_result_stages(const ppsim_result *result)
{
    return program_of(result) ? program_of(result)->stages : 0;
}

uint32_t ppsim_result_microbatches(const ppsim_result *result)
{
    return program_of(result) ? program_of(result)->microbatches : 0;
}

uint32_t ppsim_result_stage_rank(const ppsim_result *result, uint32_t stage)
{
    const pp_program *program = program_of(result);
    return program && stage < program->stages ? pp_program_stage_rank(program, stage, 0) : 0;
}

size_t ppsim_result_op_count(const ppsim_result *result, uint32_t rank)
{
    const pp_program *program = program_of(result);
    return program && rank < program->ranks
               ? program->rank_begin[rank + 1] - program->rank_begin[rank]
               : 0;
}

_Static_assert((int)PP_OP_F == (int)PPSIM_FORWARD && (int)PP_OP_I == (int)PPSIM_BACKWARD_INPUT &&
                   (int)PP_OP_W == (int)PPSIM_BACKWARD_WEIGHT &&
                   (int)PP_OP_B == (int)PPSIM_BACKWARD,
               "the numbers are shared");

void ppsim_result_ops(const ppsim_result *result, uint32_t rank, uint8_t *kind_out,
                      uint32_t *stage_out, uint32_t *microbatch_out, int64_t *start_ns_out,
                      int64_t *end_ns_out)
{
    const pp_program *program = program_of(result);
    const size_t count = ppsim_result_op_count(result, rank); /* 0 without a result */
    const pp_timeline *timeline = result ? result->console.timeline : NULL;
    for (size_t i = 0; i < count; i++) {
        const size_t at = program->rank_begin[rank] + i;
        const pp_op op = program->op[at];
        if (kind_out)
            kind_out[i] = op.kind;
        if (stage_out)
            stage_out[i] = op.stage;
        if (microbatch_out)
            microbatch_out[i] = op.microbatch;
        if (start_ns_out)
            start_ns_out[i] = timeline->start_ns[at];
        if (end_ns_out)
            end_ns_out[i] = timeline->end_ns[at];
    }
}

size_t ppsim_memory_components(void)
{
    return PP_MEMORY_COUNT;
}

const char *ppsim_memory_component(size_t index)
{
    return index < PP_MEMORY_COUNT ? pp_memory_key((pp_memory_component)index) : NULL;
}

int64_t ppsim_result_memory(const ppsim_result *result, uint32_t rank, int64_t *bytes_out)
{
    const pp_report *report = report_of(result);
    const bool known = report && report->has_memory && rank < report->ranks;
    for (size_t k = 0; bytes_out && k < PP_MEMORY_COUNT; k++)
        bytes_out[k] = known ? report->per_rank[rank].memory.bytes[k] : 0;
    if (!known)
        return 0;
    const int64_t own_bytes = report->per_rank[rank].memory_limit_bytes;
    return own_bytes ? own_bytes : report->memory_limit_bytes;
}
