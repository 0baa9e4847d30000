/* Prints the verdict of ppsim check as text and as JSON: whether the schedule is valid and
 * complete, whether it hangs, and by which cycle of waits. */
#include "tools/ppsim/check/print.h"

#include "sim/engine/deadlock.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/colour.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/report/report_print.h"
#include "traces/format/export/pytorch_facts.h"
#include "traces/read/comm_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint32_t pp_check_replicas(const pp_plan *plan)
{
    return plan->costs_count > plan->order_count ? plan->costs_count : plan->order_count;
}

const char *pp_check_circle(const pp_check_verdict *v)
{
    static const char *const words[] = { "hangs: ", "cannot finish: " };
    for (size_t i = 0; i < 2; i++) {
        const char *found = strstr(v->reason.text, words[i]);
        if (found)
            return found + strlen(words[i]);
    }
    return NULL;
}

/* Makes the list of the members of the cycle, which the reason names with "; " between them. */
static pp_json *write_cycle(const pp_check_verdict *v, pp_json_build *build)
{
    pp_json *list = pp_json_new_array(build);
    const char *c = pp_check_circle(v);
    while (c) {
        const char *stop = strstr(c, "; ");
        char one[256];
        snprintf(one, sizeof one, "%.*s", stop ? (int)(stop - c) : (int)strlen(c), c);
        pp_json_add_text(build, list, one);
        c = stop ? stop + 2 : NULL;
    }
    return list;
}

static const char *transfer_token(const pp_check_subject *s, uint32_t transfer, char *buffer,
                                  size_t size)
{
    return pp_transfer_print(&s->program->comm->transfer[transfer], buffer, size);
}

/* Finds the place of a transfer in the file. Returns false if the file has no transfers of its
 * own. */
static bool locate(const pp_check_verdict *v, const pp_check_subject *s, uint32_t transfer,
                   uint32_t *line, uint32_t *cell)
{
    char token[40];
    return !v->framework &&
           pp_comm_rows_locate(s->text, s->bytes, s->program->comm->transfer[transfer].rank,
                               transfer_token(s, transfer, token, sizeof token), line, cell);
}

/* Makes the list of the members of the cycle, each with rank, op and place in the file. */
static pp_json *write_members(const pp_check_verdict *v, const pp_check_subject *s,
                              pp_json_build *build)
{
    pp_json *list = pp_json_new_array(build);
    for (size_t i = 0; s->timeline && i < s->timeline->comm->circle.count; i++) {
        uint32_t transfer = s->timeline->comm->circle.member[i].transfer;
        uint32_t line;
        uint32_t cell;
        char token[40];
        pp_json *one = pp_json_new_object(build);
        pp_json_put_int(build, one, "rank", s->program->comm->transfer[transfer].rank);
        pp_json_put_text(build, one, "op", transfer_token(s, transfer, token, sizeof token));
        if (locate(v, s, transfer, &line, &cell)) {
            pp_json_put_int(build, one, "line", line);
            pp_json_put_int(build, one, "cell", cell);
        }
        pp_json_add(build, list, one);
    }
    return list;
}

static void put_repair(const pp_check_verdict *v, const pp_check_subject *s, pp_json *json,
                       pp_json_build *build)
{
    const pp_repair *repair = &v->repair;
    char token[40];
    pp_json_put_bool(build, json, "repair_gave_up", repair->gave_up);
    if (repair->kind == PP_REPAIR_NONE) {
        pp_json_put_null(build, json, "repair");
        return;
    }
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "kind", pp_repair_key(repair->kind));
    if (repair->kind == PP_REPAIR_LANES) {
        pp_json_put_text(build, object, "lanes", pp_lanes_name(repair->lanes));
    } else if (repair->kind != PP_REPAIR_PARITY) {
        pp_json_put_int(build, object, "rank", repair->rank);
        pp_json_put_text(build, object, "first",
                         transfer_token(s, repair->first, token, sizeof token));
        pp_json_put_text(build, object, "second",
                         transfer_token(s, repair->second, token, sizeof token));
    }
    pp_json_put(build, json, "repair", object);
}

pp_status pp_check_print_json(const pp_args *args, const pp_check_verdict *v,
                              const pp_check_subject *s, pp_err *err)
{
    pp_json_build build = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    char comm[32];
    char warning[PP_PYTORCH_WARNING_BYTES];
    bool good = v->valid && !v->hangs && !v->mismatch;
    pp_json_put_text(&build, json, "format", "ppsim.check");
    pp_json_put_int(&build, json, "version", 1);
    pp_json_put_text(&build, json, "file", v->file);
    pp_json_put_text(&build, json, "comm", pp_comm_mode_print(&v->comm, comm, sizeof comm));
    pp_json_put_text(&build, json, "lanes", pp_lanes_name(v->comm.lanes));
    pp_json_put_text(&build, json, "executor", v->framework ? v->framework->name : NULL);
    if (s->plan && pp_check_replicas(s->plan) > 1)
        pp_json_put_int(&build, json, "replicas_checked", (int64_t)v->replica + 1);
    pp_json_put_bool(&build, json, "valid", v->valid);
    if (v->valid && !v->mismatch && (s->program || v->hangs))
        pp_json_put_bool(&build, json, "hang_free", !v->hangs);
    else
        pp_json_put_null(&build, json, "hang_free");
    pp_json_put_text(&build, json, "reason", good ? NULL : v->reason.text);
    pp_json_put(&build, json, "cycle", write_cycle(v, &build));
    pp_json_put(&build, json, "cycle_ops", write_members(v, s, &build));
    put_repair(v, s, json, &build);
    if (v->flips)
        pp_json_put_int(&build, json, "passes_with_eager_bytes", v->flip_bytes);
    else
        pp_json_put_null(&build, json, "passes_with_eager_bytes");
    if (v->protocol)
        pp_json_put_bool(&build, json, "sizes_match", !v->mismatch);
    if (v->report && v->report->has_memory && v->report->memory_limit_bytes)
        pp_json_put_bool(&build, json, "fits_memory", !v->overflows);
    if (v->target) {
        pp_json_put_text(&build, json, "target", v->target->limits.name);
        pp_json_put_bool(&build, json, "target_runs", good && !v->refused);
        pp_json_put_text(&build, json, "target_reason", v->refused ? v->refusal.text : NULL);
    }
    pp_json *warnings = pp_json_new_array(&build);
    if (v->shuffled)
        pp_json_add_text(&build, warnings, pp_pytorch_losses_warning(err, warning, sizeof warning));
    pp_json_put(&build, json, "warnings", warnings);
    return pp_print_json(args, &build, json, err);
}

/* Ends the line of the i-th member of the cycle with its place in the file, if it has one. */
static void print_place(const pp_check_verdict *v, const pp_check_subject *s, size_t i,
                        pp_text *text)
{
    uint32_t line;
    uint32_t cell;
    if (s->timeline && i < s->timeline->comm->circle.count &&
        locate(v, s, s->timeline->comm->circle.member[i].transfer, &line, &cell))
        pp_text_add(text, " (line %" PRIu32 ", cell %" PRIu32 ")", line, cell);
    pp_text_add(text, "\n");
}

static void print_repair(const pp_check_verdict *v, const pp_check_subject *s, pp_text *text)
{
    const pp_repair *repair = &v->repair;
    char first[40];
    char second[40];
    switch (repair->kind) {
    case PP_REPAIR_NONE:
        pp_print_line(text, "repair",
                      "none found among %" PRIu32
                      " swaps, groups and kinds of lanes that were tried%s",
                      repair->tried, repair->gave_up ? "; there are more to try" : "");
        return;
    case PP_REPAIR_LANES:
        pp_print_line(text, "repair", "run it with separate queues: --lanes %s",
                      pp_lanes_name(repair->lanes));
        break;
    case PP_REPAIR_PARITY:
        pp_print_line(text, "repair",
                      "on all odd ranks, exchange each send with the receive next to it");
        break;
    case PP_REPAIR_SWAP:
    case PP_REPAIR_GROUP:
        pp_print_line(text, "repair",
                      repair->kind == PP_REPAIR_SWAP ? "swap %s and %s on rank %" PRIu32
                                                     : "post %s together with %s on rank %" PRIu32
                                                       ", as one group",
                      transfer_token(s, repair->first, first, sizeof first),
                      transfer_token(s, repair->second, second, sizeof second), repair->rank);
        break;
    }
    pp_print_line(text, "", "checked: it then finishes, with every tensor where it should be");
}

/* Prints up to which size messages must be buffered for the schedule to finish. */
static void print_buffering(const pp_check_verdict *v, pp_text *text)
{
    char size[32];
    if (v->flips && !v->sized && v->flip_bytes == 1)
        pp_print_line(text, "buffering",
                      "it finishes if sends are buffered; give --message-bytes SIZE, or a plan, "
                      "to see up to which size");
    else if (v->flips)
        pp_print_line(text, "buffering",
                      "it finishes if messages of up to %s are buffered (--comm eager:%" PRId64
                      "B); microbatch %" PRIu32 " is the first that sends one of that size",
                      pp_format_bytes(size, sizeof size, v->flip_bytes), v->flip_bytes,
                      v->flip_microbatch);
    else
        pp_print_line(text, "buffering", "does not help, whatever the size of the buffers");
}

static void print_hang(const pp_check_verdict *v, const pp_check_subject *s, pp_text *text)
{
    const char *c = pp_check_circle(v);
    const bool has_transfers = c && strstr(c, "SEND_");
    for (size_t i = 0; c; i++) {
        const char *stop = strstr(c, "; ");
        pp_text_add(text, "%-12s %.*s", i ? "" : "cycle", stop ? (int)(stop - c) : (int)strlen(c),
                    c);
        print_place(v, s, i, text);
        c = stop ? stop + 2 : NULL;
    }
    pp_print_line(
        text, "", "%s",
        has_transfers
            ? "op: stage, SEND_ or RECV_, F (forward) or B (backward), S if only the shape, "
              "microbatch"
            : "op: stage, kind (F forward, B backward; I for input, W for weights), microbatch");
    print_buffering(v, text);
    if (s->program)
        print_repair(v, s, text);
}

static void print_memory(const pp_report *report, pp_text *text)
{
    char cell[2][64];
    uint32_t rank = 0;
    if (!report || !report->has_memory || !report->memory_limit_bytes)
        return;
    const bool over = pp_report_excess(report, report->memory_limit_bytes, &rank) > 0;
    pp_print_line(text, "memory", "%s, at most %s on rank %" PRIu32 " (limit %s)",
                  over ? "does not fit" : "fits",
                  pp_format_bytes(cell[0], sizeof cell[0], report->peak_memory_bytes),
                  report->peak_memory_rank,
                  pp_format_limit(cell[1], sizeof cell[1], report->memory_limit_bytes));
    pp_over_limit_print(report, text);
}

/* Prints the verdict, and the settings that it holds for. */
static void print_verdict(const pp_check_verdict *v, pp_text *text)
{
    const char *good = pp_colour_begin(PP_COLOUR_GOOD);
    const char *bad = pp_colour_begin(PP_COLOUR_BAD);
    const char *end = pp_colour_end(PP_COLOUR_GOOD);
    if (!v->valid) {
        pp_print_line(text, "verdict", "%snot valid%s: %s%s%s", bad, end, v->reason.where,
                      v->reason.where[0] ? ": " : "", v->reason.text);
        return;
    }
    if (v->mismatch) {
        pp_print_line(text, "verdict", "valid, but %stensor sizes do not match%s", bad, end);
        pp_print_line(text, "sizes", "%s", v->reason.text);
    } else if (v->apart) {
        pp_print_line(text, "verdict", "valid, but %shangs%s: %s", bad, end, v->reason.text);
    } else if (v->hangs) {
        pp_print_line(text, "verdict", "valid, but %scan hang%s: these ops wait for each other",
                      bad, end);
    } else if (v->overflows) {
        pp_print_line(text, "verdict", "valid, and cannot hang, but %sexceeds the memory limit%s",
                      bad, end);
    } else if (v->refused) {
        pp_print_line(text, "verdict", "valid, but %snot for %s%s", bad, v->target->limits.name,
                      end);
    } else {
        pp_print_line(text, "verdict", "%svalid, and cannot hang%s, however long each op takes",
                      good, end);
    }
}

static void print_settings(const pp_check_verdict *v, pp_text *text)
{
    char comm[32];
    if (v->valid)
        pp_print_line(text, "settings", "--comm %s --lanes %s",
                      pp_comm_mode_print(&v->comm, comm, sizeof comm),
                      pp_lanes_name(v->comm.lanes));
}

/* Prints what the target says, or else a warning about PyTorch, which says nothing. */
static void print_runtime(const pp_check_verdict *v, const pp_err *err, pp_text *text)
{
    char warning[PP_PYTORCH_WARNING_BYTES];
    if (v->refused)
        pp_print_line(text, "target", "%s: %s", v->target->limits.name, v->refusal.text);
    else if (v->shuffled)
        pp_print_line(text, "warning", "%s",
                      pp_pytorch_losses_warning(err, warning, sizeof warning));
    else if (v->target && v->valid && !v->hangs && !v->mismatch)
        pp_print_line(text, "target", "%s runs it", v->target->limits.name);
}

pp_status pp_check_print_text(const pp_args *args, const pp_check_verdict *v,
                              const pp_check_subject *s, pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    print_verdict(v, &text);
    if (v->valid && !v->mismatch && v->hangs && !v->apart)
        print_hang(v, s, &text);
    print_runtime(v, err, &text);
    print_settings(v, &text);
    print_memory(v->report, &text);
    if (v->valid && v->transfers)
        pp_print_line(&text, "checked", "%zu ops and %zu sends and receives: %spaired and in order",
                      v->ops, v->transfers, pp_args_has(args, "--partial") ? "" : "complete, ");
    else if (v->valid && pp_args_has(args, "--partial"))
        pp_print_line(&text, "checked", "%zu ops are in order", v->ops);
    else if (v->valid)
        pp_print_line(&text, "checked", "the ops of every rank are complete and in order");
    if (s->plan && pp_check_replicas(s->plan) > 1)
        pp_print_line(&text, "replicas", "%" PRIu32 " of %" PRIu32 " checked", v->replica + 1,
                      pp_check_replicas(s->plan));
    if (v->framework && (s->program || !v->refused))
        pp_print_line(&text, "sends", "the file has none, so those of executor %s were added",
                      v->framework->name);
    if (v->own_lanes)
        pp_print_line(&text, "lanes", "single is assumed; %s runs with --lanes %s",
                      v->framework->name, v->own_lanes);
    return pp_print_answer(args, &text, err);
}
