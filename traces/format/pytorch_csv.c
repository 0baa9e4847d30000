/* PyTorch's compute_only schedule rows, written: one line per rank, one cell per op
 * (torch.distributed.pipelining, _PipelineScheduleRuntime._load_csv). */
#include "traces/format.h"

#include "sim/alloc.h"
#include "traces/pytorch_rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What the companion file says about the rows. */
typedef struct rows_facts {
    uint32_t per_rank; /* v; 0 when ranks differ */
    bool placed;       /* loop or V */
    pp_placement placement;
    bool split;           /* has I and W */
    bool overlapped;      /* has OVERLAP_F_B */
    bool lengths_differ;  /* microbatches are not all of one size */
    bool losses_shuffled; /* the last stage's forwards do not go in the order of microbatches */
    bool forward_only;
} rows_facts;

static bool lengths_differ(const pp_export *data)
{
    const pp_workload *workload = data->plan ? &data->plan->workload : NULL;
    if (!workload || !workload->microbatch)
        return data->costs && data->costs->classes > 1;
    for (size_t i = 1; i < (size_t)workload->replicas * workload->microbatches; i++) {
        if (workload->microbatch[i].tokens != workload->microbatch[0].tokens)
            return true;
    }
    return false;
}

static pp_status count_stages(const pp_order *order, uint32_t *per_rank_out, pp_err *err)
{
    uint32_t *count = pp_alloc_array(order->ranks, sizeof *count);
    if (!count)
        return pp_err_nomem(err);
    for (uint32_t s = 0; s < order->stages; s++)
        count[order->stage_rank[s]]++;
    uint32_t per_rank = count[0];
    for (uint32_t r = 1; r < order->ranks; r++) {
        if (count[r] != count[0])
            per_rank = 0;
    }
    free(count);
    *per_rank_out = per_rank;
    return PP_OK;
}

/* Fails: INFEASIBLE when rows of one rank each cannot say this order. */
static pp_status gather_facts(const pp_export *data, rows_facts *facts, pp_err *err)
{
    const pp_order *order = data->order;
    *facts = (rows_facts){ .lengths_differ = lengths_differ(data) };
    facts->placed = pp_order_placement(order, &facts->placement);
    uint32_t losses = 0;
    facts->forward_only = pp_order_forward_only(order);
    pp_status status = pp_order_one_rank(order, "pytorch-csv", err);
    if (status)
        return status;
    for (uint32_t r = 0; r < order->ranks; r++) {
        if (order->rank_begin[r] == order->rank_begin[r + 1])
            return pp_err_set(err, PP_INFEASIBLE, "pytorch-csv",
                              "rank %" PRIu32 " has no ops, and "
                              "PyTorch takes an empty line for a mistake; use fewer ranks",
                              r);
        for (size_t i = order->rank_begin[r]; i < order->rank_begin[r + 1]; i++) {
            pp_op op = order->ops[i];
            uint32_t home = pp_order_rank(order, op.stage, op.microbatch);
            if (home != r)
                return pp_err_set(err, PP_INFEASIBLE, "pytorch-csv",
                                  "stage %u runs on ranks %" PRIu32 " and %" PRIu32
                                  "; PyTorch's rows put a stage on one rank "
                                  "only, so choose a schedule that does",
                                  op.stage, home < r ? home : r, home < r ? r : home);
            facts->split |= op.kind == PP_OP_I || op.kind == PP_OP_W;
            facts->overlapped |= op.paired;
            if (op.kind == PP_OP_F && op.stage + 1u == order->stages)
                facts->losses_shuffled |= op.microbatch != losses++;
        }
    }
    return count_stages(order, &facts->per_rank, err);
}

/* The name that makes torchtitan split and place the model as the rows do; NULL: none does. */
static const char *torchtitan_name(const pp_export *data, const rows_facts *facts)
{
    if (!facts->placed || !facts->per_rank)
        return NULL;
    if (facts->per_rank == 1) {
        bool gpipe = data->plan && strcmp(data->plan->schedule, "gpipe") == 0;
        return gpipe ? "GPipe" : "1F1B";
    }
    if (facts->placement == PP_PLACE_LOOP)
        return "Interleaved1F1B";
    if (facts->per_rank != 2)
        return NULL;
    return facts->overlapped ? "DualPipeV" : "ZBVZeroBubble";
}

static void add_warnings(const rows_facts *facts, const char *name, pp_json_build *build,
                         pp_json *list)
{
    bool v_shape = facts->placed && facts->placement == PP_PLACE_V && facts->per_rank != 1;
    if (!facts->per_rank)
        pp_json_add_text(build, list,
                         "ranks hold different numbers of stages: torchtitan and "
                         "AutoModel need the same number on every rank");
    if (!name)
        pp_json_add_text(build, list,
                         "no schedule name makes torchtitan or AutoModel place the "
                         "stages as these rows do; build the stages yourself");
    if (name && v_shape)
        pp_json_add_text(build, list,
                         "AutoModel places stages in a V only when pp_schedule is "
                         "ZBVZeroBubble");
    if (name && !v_shape && facts->per_rank > 2)
        pp_json_add_text(build, list,
                         "torchtitan makes 2 stages per rank unless "
                         "pipeline_parallel_layers_per_stage says otherwise: set it "
                         "so that every rank gets v");
    if (facts->split)
        pp_json_add_text(build, list,
                         "I and W split the backward: not under torch.compile of the "
                         "stage modules");
    if (facts->overlapped)
        pp_json_add_text(build, list,
                         "OVERLAP_F_B needs a recent PyTorch, and runs its halves one "
                         "after the other unless a custom function is registered");
    if (facts->forward_only)
        pp_json_add_text(build, list,
                         "forwards only: run it with the schedule's eval(), not step()");
    if (facts->losses_shuffled)
        pp_json_add_text(
            build, list,
            "the last stage computes forwards in another order than that of the "
            "microbatches: PyTorch 2.13 keeps losses in that order, looks them up by "
            "microbatch, and computes wrong gradients without a word; number the microbatches, in "
            "all rows and in the data, in the order of the last stage's forwards, as "
            "'ppsim plan' does");
    if (facts->lengths_differ)
        pp_json_add_text(build, list,
                         "PyTorch needs one shape for all microbatches of a step, and "
                         "the microbatches of this plan differ: pad them to the "
                         "longest");
}

/* "format":"ppsim.pytorch-csv": what the rows do not say and their reader must be told. */
static pp_status write_companion(const pp_export *data, const rows_facts *facts, pp_text *text,
                                 pp_err *err)
{
    const pp_order *order = data->order;
    const char *name = torchtitan_name(data, facts);
    bool v_shape = name && facts->placement == PP_PLACE_V && facts->per_rank == 2;
    pp_json_build build = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_json_put_text(&build, json, "format", "ppsim.pytorch-csv");
    pp_json_put_int(&build, json, "version", 1);
    pp_json_put_int(&build, json, "p", order->ranks);
    pp_json_put_int(&build, json, "m", order->microbatches);
    if (facts->per_rank)
        pp_json_put_int(&build, json, "v", facts->per_rank);
    else
        pp_json_put_null(&build, json, "v");
    pp_json_put_int(&build, json, "stages", order->stages);
    pp_json_put_text(&build, json, "placement",
                     facts->placed ? pp_placement_name(facts->placement) : NULL);
    pp_json_put_text(&build, json, "pipeline_parallel_schedule", name);
    pp_json_put_text(&build, json, "pp_schedule", v_shape ? "ZBVZeroBubble" : name);
    pp_json *list = pp_json_new_array(&build);
    add_warnings(facts, name, &build, list);
    pp_json_put(&build, json, "warnings", list);
    char *printed PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = pp_json_print(&build, json, &printed, &bytes, err);
    if (status)
        return status;
    pp_text_add_bytes(text, printed, bytes);
    return pp_text_check(text, err);
}

static pp_status emit(const pp_export *data, pp_text *text, pp_companion *companion, pp_err *err)
{
    const pp_order *order = data->order;
    rows_facts facts;
    pp_status status = gather_facts(data, &facts, err);
    if (status)
        return status;
    char cell[80];
    for (uint32_t r = 0; r < order->ranks; r++) {
        size_t end = order->rank_begin[r + 1];
        for (size_t i = order->rank_begin[r]; i < end;) {
            i += pp_cell_print(order, i, cell, sizeof cell);
            pp_text_add_bytes(text, cell, strlen(cell));
            pp_text_add_bytes(text, i < end ? "," : "\n", 1);
        }
    }
    if ((status = pp_text_check(text, err)))
        return status;
    companion->suffix = ".json";
    return write_companion(data, &facts, &companion->text, err);
}

const pp_format pp_format_pytorch_csv = {
    .name = "pytorch-csv",
    .summary = "PyTorch compute_only rows (torchtitan, AutoModel), with FILE.json beside",
    .holds = PP_HOLDS_ORDER,
    .emit = emit,
    .recognise = pp_pytorch_rows_recognise,
    .read = pp_pytorch_rows_read,
};
