/* Any bytes: pp_comm_rows_read refuses them with a message, or gives a program that runs or says
 * which rank waits for which. */
#include "sim/analysis/repair.h"
#include "sim/engine/engine.h"
#include "sim/program/program_new.h"
#include "traces/read/comm_rows.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

/* Applies the suggested repair, which must work. */
static void repair(const pp_program *program, const pp_costs *costs, bool partial)
{
    pp_repair found;
    pp_repaired copy = { 0 };
    pp_timeline *timeline = NULL;
    pp_err err = { 0 };
    require(!pp_repair_find(program, costs, partial, &found, &err));
    if (found.kind != PP_REPAIR_NONE) {
        require(!pp_repair_apply(program, &found, partial, &copy, &err));
        require(!pp_simulate(&copy.program, costs, &timeline, &err));
    }
    pp_timeline_free(&timeline);
    pp_repaired_free(&copy);
}

/* The first byte chooses grouping, partial, mode and lanes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 10, 0 };
    if (bytes == 0)
        return 0;
    pp_program *program = NULL;
    pp_costs *costs = NULL;
    pp_timeline *timeline = NULL;
    pp_err err = { 0 };
    pp_status status = pp_comm_rows_read((const char *)data + 1, bytes - 1, "rows",
                                         data[0] & 1 ? PP_ROWS_BATCHED : PP_ROWS_SINGLE,
                                         data[0] & 2, NULL, &program, &err);
    if (status) {
        require(err.status == status && *err.text && !program);
        return 0;
    }
    program->comm->semantics = (pp_comm_semantics){
        .mode = data[0] & 4 ? PP_COMM_EAGER : PP_COMM_RENDEZVOUS,
        .eager_bytes = 1,
        .lanes = (pp_lanes)((data[0] >> 3) % 3),
    };
    if (!pp_costs_uniform(&uniform, program->ranks, program->stages, program->microbatches, &costs,
                          &err)) {
        status = pp_simulate(program, costs, &timeline, &err);
        require(!status || (err.status == status && *err.text));
        if (status == PP_INFEASIBLE)
            repair(program, costs, data[0] & 2);
    }
    pp_timeline_free(&timeline);
    pp_costs_free(&costs);
    pp_program_free(&program);
    return 0;
}
