/* Writes PyTorch's compute_only schedule rows, one line per rank and one cell per op, as
 * _PipelineScheduleRuntime._load_csv of torch.distributed.pipelining reads them. A JSON file next
 * to the rows has the settings that they cannot hold, and warnings. */
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/base/json.h"
#include "traces/format/export/format.h"
#include "traces/format/export/pytorch_facts.h"
#include "traces/read/pytorch_rows.h"

#include <stdio.h>

static void add_warnings(const pp_pytorch_facts *facts, const char *name, pp_json_build *build,
                         pp_json *list, const pp_err *err)
{
    char losses[PP_PYTORCH_WARNING_BYTES];
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
        pp_json_add_text(
            build, list,
            "torchtitan makes 2 stages per rank unless pipeline_parallel_layers_per_stage is set; "
            "set it so that every rank gets v");
    if (facts->split)
        pp_json_add_text(build, list,
                         "I and W split the backward, which does not work under torch.compile of "
                         "the stage modules");
    if (facts->overlapped)
        pp_json_add_text(build, list,
                         "OVERLAP_F_B needs a recent PyTorch, and runs its halves one "
                         "after the other unless a custom function is registered");
    if (facts->forward_only)
        pp_json_add_text(build, list,
                         "forwards only: run it with the schedule's eval(), not step()");
    if (facts->losses_shuffled)
        pp_json_add_text(build, list, pp_pytorch_losses_warning(err, losses, sizeof losses));
    if (facts->lengths_differ)
        pp_json_add_text(build, list,
                         "PyTorch needs one shape for all microbatches of a step, and the "
                         "microbatches of this plan differ; pad them to the longest");
}

/* Writes the JSON file, of format "ppsim.pytorch-csv". */
static pp_status write_companion(const pp_export *data, const pp_pytorch_facts *facts,
                                 pp_text *text, pp_err *err)
{
    const pp_order *order = data->order;
    const char *name = pp_pytorch_schedule_name(data, facts);
    bool v_shape = name && pp_pytorch_is_v(facts);
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
    add_warnings(facts, name, &build, list, err);
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
    pp_pytorch_facts facts;
    pp_status status = pp_pytorch_facts_gather(data, &facts, err);
    if (status)
        return status;
    pp_pytorch_rows_print(data->order, text);
    if ((status = pp_text_check(text, err)))
        return status;
    companion->suffix = ".json";
    return write_companion(data, &facts, &companion->text, err);
}

const pp_format pp_format_pytorch_csv = {
    .name = "pytorch-csv",
    .summary =
        "PyTorch compute_only rows for torchtitan and AutoModel; FILE.json says what to set there",
    .holds = PP_HOLDS_ORDER,
    .emit = emit,
    .recognise = pp_pytorch_rows_recognise,
    .read = pp_pytorch_rows_read,
};
