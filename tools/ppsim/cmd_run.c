/* ppsim run: executes a plan with the runtime, measures it, and compares the measured step with the
 * predicted one. */
#include "runtime/compute/registry.h"
#include "runtime/cpu/settings.h"
#include "runtime/transport/registry.h"
#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "sim/base/processors.h"
#include "sim/program/program_new.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/colour.h"
#include "tools/ppsim/base/option_names.h"
#include "tools/ppsim/base/option_rows.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/base/ticker.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/export/export.h"
#include "tools/ppsim/input/load.h"
#include "tools/ppsim/input/profile_plan.h"
#include "tools/ppsim/page/page.h"
#include "tools/ppsim/run/print.h"
#include "tools/ppsim/scenario/scenario.h"
#include "tools/ppsim/scenario/scenario_run.h"
#include "traces/format/export/export.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLIGHT_FILE "ppsim-flight.json"
#define PAYLOAD_MIN 8
#define REPLICAS_MAX 1024
#define SEQUENCE_MAX 1048576 /* tokens */

static const pp_option options[] = {
    { PP_ROW("--transport", "NAME", EXECUTION,
             "how messages travel: a name from 'ppsim list transports'", "threads") },
    { PP_ROW("--compute", "NAME", EXECUTION, "what ops compute: a name from 'ppsim list computes'",
             "spin") },
    { PP_ROW("--compute-settings", "K=V,...", EXECUTION,
             "sizes of the model that is computed, e.g. hidden=64,heads=4",
             "the plan's, or those of docs/explanation/runtime.md") },
    { PP_ROW("--iterations", "N", EXECUTION, "number of measured steps", "5") },
    { PP_ROW("--warmup", "N", EXECUTION, "number of unmeasured steps before the measured ones",
             "1") },
    { PP_ROW("--seed", "N", EXECUTION, "random seed of weights and data", "0") },
    { PP_ROW("--link", "plan|free|T+RATE", EXECUTION,
             "link speed of transport threads: as in the plan, free (memory speed), or "
             "LATENCY+RATE, e.g. 20us+1GB/s",
             "plan for spin, otherwise free") },
    { PP_ROW("--payload", "SIZE", EXECUTION,
             "compute spin: the most bytes of a tensor that are really sent", "64KiB") },
    { PP_ROW("--communicators", "world|pp|per-edge", EXECUTION,
             "transport nccl: one communicator for all ranks (world, pp), or one for every two "
             "neighbours (per-edge)",
             "world") },
    { PP_ROW("--check-messages", NULL, EXECUTION,
             "transport nccl: check message headers in every step, not only in the first", NULL) },
    { PP_ROW("--serialize-compute", NULL, EXECUTION,
             "compute cuda: ranks that share a GPU take turns, op by op", NULL) },
    { PP_ROW("--verify", NULL, EXECUTION,
             "compare values with a sequential run, and memory with the prediction", NULL) },
    { PP_ROW("--compare", NULL, EXECUTION,
             "compare with the prediction op by op, and replay the measured durations", NULL) },
    { PP_ROW("--durations", "plan|measured", EXECUTION,
             "predict from the plan's durations, or from ops timed on this machine first",
             "measured for compute cpu, otherwise plan") },
    { PP_ROW("--deadline", "TIME", FAILURES, "stop if an op or a wait lasts longer",
             "10s or 20 steps, the longer one") },
    { PP_ROW("--force", NULL, FAILURES, "run even if the simulator predicts a deadlock", NULL) },
    { PP_ROW_REPEATED("--fault", "KIND,rank=R,at=N", FAILURES,
                      "inject a fault: drop, delay, duplicate, truncate, reorder, tag, death, "
                      "stall or plan",
                      NULL) },
    { PP_ROW("--flight", "FILE", FAILURES, "write the last ops of all ranks here after a failure",
             FLIGHT_FILE) },
    { PP_ROW("--schedule", "NAME|FILE", SCHEDULE,
             "run this schedule instead of a plan: a name from 'ppsim list schedules', or a file",
             NULL) },
    { PP_OPTION_PP },
    { PP_OPTION_MICROBATCHES },
    { PP_OPTION_VPP },
    { PP_OPTION_MICROBATCH_GROUP_SIZE },
    { PP_OPTION_FORWARD_ONLY },
    { PP_ROW("--lengths", "FILE", MODEL, "sequence lengths, assigned to microbatches in order",
             "the plan's") },
    { PP_ROW("--replica", "N", MODEL, "data-parallel replica of the plan to run alone", "0") },
    { PP_ROW("--dp", "N", EXECUTION,
             "run N replicas together, which train one model (compute cpu on transport threads or "
             "mpi, compute cuda on threads)",
             "one alone") },
    { PP_ROW("--zero", "0|1|2|3", EXECUTION,
             "what replicas share: 1 the update, 2 also gradients, 3 also parameters", "0") },
    { PP_OPTION_COSTS },
    { PP_OPTION_COSTS_FILE },
    { PP_OPTION_MEMORY_COSTS },
    { PP_OPTION_RECOST_PROFILE },
    { PP_OPTION_RECOST },
    { PP_OPTION_RECOST_MODEL },
    { PP_OPTION_RECOST_HW },
    { PP_OPTION_RECOST_ONLY },
    { PP_OPTION_RECOST_LAYERS },
    { PP_ROW("--comm", "MODE", COMMUNICATION, "how sends work: rendezvous, eager:BYTES or batched",
             "the plan's") },
    { PP_ROW("--shapes", "PROTOCOL", COMMUNICATION,
             "how receivers learn tensor sizes: plan, local, message, cached, padded[:MAX], "
             "bucket:N or padded-wire[:MAX]",
             "the plan's") },
    { PP_OPTION_TENSORS_PER_BOUNDARY },
    { PP_OPTION_VERBOSE("also print the report of the measured step") },
    { PP_ROW_REPEATED("--trace", "FORMAT=FILE", OUTPUT,
                      "write the measured timeline ('ppsim list formats')", NULL) },
    { PP_OPTION_TRACE_RANKS },
    { PP_OPTION_REPORT },
    { PP_OPTION_COLUMNS },
    { PP_ROW_END },
};

/* Set by a signal and read by the runtime. It is the only state that outlives a call. */
static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
    signal(SIGINT, SIG_DFL); /* a second signal ends the program */
    signal(SIGTERM, SIG_DFL);
}

static pp_status read_replicas(const pp_args *args, pp_run_plan_options *o, pp_err *err)
{
    int64_t replicas = 0, zero = 0;
    pp_status status = pp_args_int(args, "--dp", 1, REPLICAS_MAX, &replicas, err);
    if (!status)
        status = pp_args_int(args, "--zero", 0, 3, &zero, err);
    if (status)
        return status;
    if (zero && !replicas)
        return pp_err_set(err, PP_USAGE, "--zero",
                          "says what replicas share; give their number, too, for example --dp 2");
    if (replicas && pp_args_has(args, "--replica"))
        return pp_err_set(err, PP_USAGE, "--replica",
                          "runs one replica, but --dp runs several; remove one of them");
    o->replicas = (uint32_t)replicas;
    o->zero = (int)zero;
    return PP_OK;
}

static pp_status read_counts(const pp_args *args, pp_run_plan_options *o, pp_err *err)
{
    int64_t iterations = 5;
    int64_t warmup = 1;
    int64_t replica = 0;
    int64_t seed = 0;
    pp_status status = pp_args_int(args, "--iterations", 1, 100000, &iterations, err);
    if (status || (status = pp_args_int(args, "--warmup", 0, 100000, &warmup, err)) ||
        (status = pp_args_int(args, "--replica", 0, INT32_MAX, &replica, err)) ||
        (status = pp_args_int(args, "--seed", 0, INT64_MAX, &seed, err)))
        return status;
    o->iterations = (uint32_t)iterations;
    o->warmup = (uint32_t)warmup;
    o->replica = (uint32_t)replica;
    if ((status = read_replicas(args, o, err)))
        return status;
    o->seed = (uint64_t)seed;
    return PP_OK;
}

/* Reads the options of transports with queues. */
static pp_status read_queues(const pp_args *args, pp_run_plan_options *o, pp_err *err)
{
    static const char *const own[] = { "--communicators", "--check-messages" };
    int layout = 0;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (pp_args_has(args, own[i]) && !o->transport->has_queues)
            return pp_err_set(
                err, PP_USAGE, own[i],
                "transport %s has no communicators; remove the option, or use --transport nccl",
                o->transport->name);
    o->check_messages = pp_args_has(args, "--check-messages");
    pp_status status =
        pp_args_choice(args, "--communicators", pp_communicators_names(), &layout, err);
    o->communicators = (pp_communicators)(layout + 1);
    return status;
}

static pp_status read_options(const pp_args *args, pp_faults *faults, pp_run_plan_options *o,
                              pp_err *err)
{
    static const char *const durations[] = { "plan", "measured", NULL };
    const char *transport = pp_args_text(args, "--transport");
    const char *compute = pp_args_text(args, "--compute");
    const char *settings = pp_args_text(args, "--compute-settings");
    const char *fault;
    *o = (pp_run_plan_options){ .settings = settings ? settings : "", .stop = &stop };
    pp_status status = pp_transport_get(transport ? transport : "threads", &o->transport, err);
    if (status || (status = pp_compute_get(compute ? compute : "spin", &o->compute, err)))
        return status;
    bool real = o->compute->describe != NULL; /* its ops have real tensors and durations */
    int measured = real;
    o->payload_bytes = real ? -1 : 65536;
    o->link.kind = real || strcmp(o->transport->name, "threads") != 0 ? PP_LINK_FREE : PP_LINK_PLAN;
    if (pp_args_has(args, "--payload") && real)
        return pp_err_set(err, PP_USAGE, "--payload",
                          "compute %s always sends whole tensors; remove the option",
                          o->compute->name);
    const char *link = pp_args_text(args, "--link");
    if ((status = read_counts(args, o, err)) || (status = read_queues(args, o, err)) ||
        (link && (status = pp_link_parse(link, &o->link, err))) ||
        (status = pp_args_choice(args, "--durations", durations, &measured, err)) ||
        (status = pp_args_bytes(args, "--payload", &o->payload_bytes, err)) ||
        (status = pp_args_duration(args, "--deadline", &o->deadline_ns, err)))
        return status;
    if (o->payload_bytes > 0 && o->payload_bytes < PAYLOAD_MIN)
        return pp_err_set(err, PP_USAGE, "--payload",
                          "must be 0, or at least %d B, which identify the tensor", PAYLOAD_MIN);
    if (pp_args_has(args, "--deadline") && !o->deadline_ns)
        return pp_err_set(err, PP_USAGE, "--deadline", "must be longer than 0, for example 10s");
    for (size_t i = 0; (fault = pp_args_each(args, "--fault", i)); i++) {
        if ((status = pp_faults_add(fault, faults, err)))
            return status;
    }
    o->serialize = pp_args_has(args, "--serialize-compute");
    if (o->serialize && !o->compute->gpu)
        return pp_err_set(err, PP_USAGE, "--serialize-compute",
                          "compute %s uses no GPU that ranks could share; remove the option, or "
                          "use --compute cuda",
                          o->compute->name);
    if (measured && !real)
        return pp_err_set(err, PP_USAGE, "--durations",
                          "compute %s always takes the durations of the plan; remove the option",
                          o->compute->name);
    o->faults = faults->count ? faults : NULL;
    o->measure_ops = measured;
    o->verify = pp_args_has(args, "--verify");
    o->force = pp_args_has(args, "--force");
    return PP_OK;
}

/* Distributes the sequences over the microbatches: as the file groups them, or otherwise in order
 * and in equal numbers, with the remainder in the first microbatches. */
static pp_status deal_out(const pp_lengths *from, uint32_t microbatches, pp_workload *workload,
                          pp_err *err)
{
    size_t *end = pp_alloc_array(microbatches, sizeof *end);
    if (!end)
        return pp_err_nomem(err);
    for (uint32_t j = 0; j < microbatches; j++) {
        size_t count = from->count / microbatches + (j < from->count % microbatches);
        end[j] = from->group_count ? from->group_end[j] : (j ? end[j - 1] : 0) + count;
    }
    pp_status status =
        pp_workload_group(from->length, end, microbatches, SEQUENCE_MAX, 1, workload, err);
    free(end);
    return status;
}

static pp_status read_lengths(const pp_args *args, pp_plan *plan, pp_err *err)
{
    const char *path = pp_args_text(args, "--lengths");
    pp_lengths lengths PP_CLEANUP(pp_lengths_free) = { 0 };
    if (!path)
        return PP_OK;
    if (plan->workload.microbatch)
        return pp_err_set(err, PP_USAGE, "--lengths",
                          "the plan already has sequences; remove the option");
    pp_status status = pp_load_lengths(path, &lengths, err);
    if (!status && lengths.group_count && lengths.group_count != plan->order[0]->microbatches)
        status = pp_err_set(err, PP_USAGE, "--lengths",
                            "%.64s has %zu microbatches, but the plan has %" PRIu32
                            "; give the same number, or a list of sequences only",
                            path, lengths.group_count, plan->order[0]->microbatches);
    if (!status && lengths.count < plan->order[0]->microbatches)
        status = pp_err_set(err, PP_USAGE, "--lengths",
                            "%.64s has %zu sequences for %" PRIu32
                            " microbatches; give at least one for each",
                            path, lengths.count, plan->order[0]->microbatches);
    for (size_t i = 0; i < lengths.count && !status; i++) {
        if (lengths.length[i] > SEQUENCE_MAX)
            status = pp_err_set(err, PP_USAGE, "--lengths",
                                "a sequence of %" PRId64
                                " tokens is too long to run; the longest possible has %d",
                                lengths.length[i], SEQUENCE_MAX);
    }
    return status ? status : deal_out(&lengths, plan->order[0]->microbatches, &plan->workload, err);
}

static pp_status check_replica(const pp_plan *plan, uint32_t replica, uint32_t replicas,
                               pp_err *err)
{
    uint32_t count = plan->costs_count > plan->order_count ? plan->costs_count : plan->order_count;
    if (replicas > count && count > 1)
        return pp_err_set(err, PP_USAGE, "--dp", "the plan has only %" PRIu32 " replicas", count);
    if (replica < count)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, "--replica",
                      "is not a replica of the plan; the last one is %" PRIu32, count - 1);
}

/* Refuses a fault on a rank or step that does not exist, because a run without it would look like
 * one that survived it. */
static pp_status check_faults(const pp_plan *plan, const pp_run_plan_options *o, pp_err *err)
{
    uint32_t ranks = plan->order[0]->ranks;
    uint32_t steps = o->warmup + o->iterations;
    for (size_t i = 0; o->faults && i < o->faults->count; i++) {
        const pp_fault *f = &o->faults->fault[i];
        if (f->rank >= ranks || f->step >= steps)
            return pp_err_set(err, PP_USAGE, "--fault",
                              "there is no rank %" PRIu32 " in step %" PRIu32
                              "; ranks are 0 to %" PRIu32 ", steps 0 to %" PRIu32
                              " with the warm-up",
                              f->rank, f->step, ranks - 1, steps - 1);
    }
    return PP_OK;
}

/* Returns true if computes cpu and cuda are set to keep the inputs of layers only. */
static bool recomputes(const pp_run_plan_options *o)
{
    pp_cpu_settings s = { 0 };
    pp_err ignored = { 0 };
    (void)!(o->compute->memory ? pp_gpu_settings_parse : pp_cpu_settings_parse)(o->settings, &s,
                                                                                &ignored);
    return s.recompute;
}

/* Returns true if the plan keeps the inputs of layers only, too. */
static bool recomputes_layers(const pp_plan *plan)
{
    return plan->recompute == PP_RECOMPUTE_FULL && plan->recompute_layers <= 1;
}

/* Names what the plan's layers have and those of computes cpu and cuda lack, whose layers are
 * dense, have no product in 8 bits, belong to one processor or GPU, and are computed again as a
 * whole or not at all. Returns NULL if there is nothing. */
static const char *other_layers(const pp_plan *plan, const pp_run_plan_options *o)
{
    const pp_recompute recompute = plan->recompute;
    if (plan->precision != PP_PRECISION_BF16)
        return pp_recipe_of(plan->precision)->name;
    if (plan->experts || plan->parallel.ep > 1)
        return "experts";
    if (plan->parallel.tp > 1)
        return "tensor parallelism";
    if (plan->parallel.cp > 1)
        return "context parallelism";
    return recompute == PP_RECOMPUTE_NONE || recompute == PP_RECOMPUTE_UNKNOWN ||
                   (recomputes_layers(plan) && recomputes(o))
               ? NULL
               : "recomputation";
}

/* The way out if recomputation is all that the layers lack. */
static const char *set_recompute(const pp_plan *plan, const pp_run_plan_options *o)
{
    const char *other = other_layers(plan, o);
    return recomputes_layers(plan) && other && strcmp(other, "recomputation") == 0
               ? "; --compute-settings recompute=on has it"
               : "";
}

/* Refuses to predict layers that are computed from durations of other ones. */
static pp_status check_durations(const pp_plan *plan, const pp_run_plan_options *o, pp_err *err)
{
    const char *other = other_layers(plan, o);
    if (!o->compute->describe || o->measure_ops)
        return PP_OK;
    if (!other && plan->recompute == PP_RECOMPUTE_NONE && recomputes(o))
        return pp_err_set(err, PP_USAGE, "--durations",
                          "the plan's are of layers that recompute nothing; take measured ones, or "
                          "leave recompute=on out of --compute-settings");
    if (!other)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, "--durations",
                      "the plan's are of layers with %s, which compute %s does not have; take "
                      "measured ones, or wait as long as the plan says with --compute spin%s",
                      other, o->compute->name, set_recompute(plan, o));
}

/* Writes the flight record of a failed run, if there is one. */
static void write_flight(const pp_args *args, const pp_execution *x)
{
    const char *given = pp_args_text(args, "--flight");
    char path[PATH_MAX];
    pp_err err = PP_COMMAND_ERR;
    uint32_t first = 0;
    uint32_t hosted = 0;
    if (!x->result.flight)
        return;
    x->job.transport->hosts(x->job.world, &first, &hosted);
    const uint32_t before = /* ranks of the replicas before this process's own */
        x->job.transport->replica && x->work.replicas
            ? x->job.transport->replica(x->job.world) * x->work.ranks
            : 0;
    bool all = hosted == x->work.ranks; /* if false, every process writes its own file */
    char suffix[16] = "";
    if (!all)
        snprintf(suffix, sizeof suffix, ".%" PRIu32, first + before);
    int length = snprintf(path, sizeof path, "%s%s", given ? given : FLIGHT_FILE, suffix);
    if (length >= (int)sizeof path)
        pp_remark("--flight: the name is too long");
    else if (pp_file_is_strangers(path))
        pp_remark("%s: belongs to another user and is no file, so the last moments are not written "
                  "there; name another file with --flight",
                  path);
    else if (pp_output_write(path, x->result.flight, strlen(x->result.flight), &err))
        pp_remark("%s: %s", err.where, err.text);
    else
        pp_remark("the last moments of %s are in %s",
                  !all                   ? "this rank"
                  : x->work.replicas > 1 ? "every rank of the first replica"
                                         : "every rank",
                  path);
}

/* Adds to the message about a hang the commands that help. */
static void add_hint(pp_err *err)
{
    static const char hint[] = "; 'ppsim check' looks for a repair, and --force runs it anyway";
    size_t used = strlen(err->text);
    if (strstr(err->text, "the schedule hangs") && used + sizeof hint <= sizeof err->text)
        memcpy(err->text + used, hint, sizeof hint);
}

/* Writes the page of --report: the prediction, what was measured, and its timeline. */
static pp_status write_page(const pp_args *args, const pp_run_print *run, const pp_export *measured,
                            const pp_comparison *comparison, pp_err *err)
{
    const pp_execution *x = run->execution;
    const char *path = pp_args_text(args, "--report");
    pp_page page PP_CLEANUP(pp_page_free) = { 0 };
    pp_text answer PP_CLEANUP(pp_text_free) = { 0 };
    pp_status status = PP_OK;
    if (!path)
        return PP_OK;
    if (x->predicted) {
        const pp_export data = { .plan = measured->plan,
                                 .order = x->order,
                                 .program = x->program,
                                 .timeline = x->predicted,
                                 .costs = x->costs,
                                 .report = x->prediction };
        status = pp_page_add_plan(&page, "prediction", &data, NULL, NULL, err);
    }
    pp_run_text(run, comparison, &answer);
    pp_colour_strip(&answer);
    if (status || (status = pp_text_check(&answer, err)) ||
        (status = pp_page_add_report(&page, "run", pp_run_json(run, comparison, &page.build),
                                     answer.data, err)) ||
        (status = pp_page_add_timeline(&page, "run", measured, err)))
        return status;
    return pp_page_write(&page, args, path, err);
}

static pp_status print(const pp_args *args, const pp_run_print *run, const pp_export *data,
                       pp_err *err)
{
    pp_comparison comparison;
    pp_status status = pp_execution_compare(run->execution, &comparison, err);
    if (status || (status = write_page(args, run, data, &comparison, err)))
        return status;
    if (pp_args_has(args, "--json")) {
        pp_json_build build = { 0 };
        pp_json *json PP_CLEANUP(pp_json_free) = pp_run_json(run, &comparison, &build);
        return pp_print_json(args, &build, json, err);
    }
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_run_text(run, &comparison, &text);
    return pp_print_answer(args, &text, err);
}

/* The plan that is run, and its execution. */
typedef struct running {
    pp_plan *plan;
    pp_program *written;
    pp_execution execution;
    pp_faults faults;
} running;

static void running_free(running **r)
{
    if (!*r || pp_execution_given_up(&(*r)->execution))
        return; /* a thread that did not end still uses all of this */
    pp_execution_free(&(*r)->execution);
    pp_program_free(&(*r)->written);
    pp_plan_free(&(*r)->plan);
    free(*r);
}

static pp_status show(const pp_args *args, const running *r, const pp_run_plan_options *o,
                      pp_err *err)
{
    int64_t columns = 80;
    const pp_execution *x = &r->execution;
    if (!x->report) /* only the process of rank 0 has the report */
        return PP_OK;
    const char *planned =
        !r->written && r->plan->framework != x->report->framework ? r->plan->framework->name : NULL;
    pp_status status = pp_args_int(args, "--columns", 20, 100000, &columns, err);
    if (status)
        return status;
    const pp_run_print run = { .execution = x,
                               .options = o,
                               .planned_framework = planned,
                               .is_predicted = r->plan->predicted_in_file_ns > 0,
                               .compare = pp_args_has(args, "--compare"),
                               .verbose = pp_args_has(args, "--verbose") };
    const pp_export data = { .plan = r->plan,
                             .order = x->order,
                             .program = x->program,
                             .timeline = x->result.iteration[x->result.median].timeline,
                             .costs = x->costs,
                             .report = x->report,
                             .columns = (int)columns,
                             .measured = true };
    status = pp_write_exports(args, &data, err);
    return status ? status : print(args, &run, &data, err);
}

static void show_progress(void *context, uint32_t done, uint32_t total)
{
    pp_ticker_show(context, "running", done, total);
}

static bool knows_sizes(const pp_costs *costs)
{
    bool any = costs->stages == 1;
    for (size_t k = 0; costs->has_memory && k < (size_t)costs->classes * costs->stages; k++)
        any = any || costs->message_bytes[k] > 0;
    return any;
}

/* Prints remarks about conditions of the run that its figures do not show. */
static void remark(const pp_plan *plan, const pp_run_plan_options *o)
{
    bool real = o->compute->describe != NULL; /* its tensors have known sizes */
    const uint32_t ranks = plan->order[0]->ranks * (o->replicas ? o->replicas : 1);
    if (real && !o->compute->memory && ranks > pp_processors())
        pp_remark("%" PRIu32 " ranks compute on %" PRIu32
                  " processors, but the prediction gives each rank its own",
                  ranks, pp_processors());
    if (real && other_layers(plan, o))
        pp_remark("compute %s has layers of its own, without the %s of the plan's: the order is "
                  "the plan's, times and memory are not%s",
                  o->compute->name, other_layers(plan, o), set_recompute(plan, o));
    if (!real && o->link.kind == PP_LINK_THROTTLE &&
        !knows_sizes(plan->costs[plan->costs_count > 1 ? o->replica : 0]))
        pp_remark("--link: the sizes of messages between stages are not known, so every message "
                  "takes only the latency; give a plan, or a costs file with message_bytes");
}

static pp_status run(const pp_args *args, pp_err *err)
{
    running *r PP_CLEANUP(running_free) = pp_alloc_array(1, sizeof *r);
    pp_run_plan_options o;
    if (!r)
        return pp_err_nomem(err);
    pp_status status = read_options(args, &r->faults, &o, err);
    if (!status && !(status = pp_scenario_load(args, "run", &r->plan, &r->written, err)))
        pp_scenario_tell_stale(r->plan, pp_args_word(args, 0));
    if (status || (status = pp_scenario_forward_only(args, r->written, r->plan, err)) ||
        (status = pp_scenario_exchange(args, r->plan, r->written != NULL, err)) ||
        (status = pp_profile_of_plan(args, r->plan, err)) ||
        (status = check_replica(r->plan, o.replica, o.replicas, err)) ||
        (status = check_faults(r->plan, &o, err)) || (status = check_durations(r->plan, &o, err)) ||
        (status = read_lengths(args, r->plan, err)))
        return status;
    if (o.compute->describe && !pp_args_has(args, "--compute-settings"))
        o.settings = r->plan->compute_settings;
    if ((status = pp_comm_settings_parse(pp_args_text(args, "--comm"), NULL, &r->plan->comm, err)))
        return status;
    remark(r->plan, &o);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    pp_ticker ticker = pp_ticker_begin("steps", 0);
    o.progress = show_progress;
    o.progress_context = &ticker;
    status = pp_run_plan(r->plan, r->written, &o, &r->execution, err);
    pp_ticker_end(&ticker);
    if (status) {
        write_flight(args, &r->execution);
        add_hint(err);
        return status;
    }
    return show(args, r, &o, err);
}

/* The options that --help shows. */
static const char *const everyday[] = { "--schedule",  "--pp",      "--microbatches", "--costs",
                                        "--transport", "--compute", "--iterations",   "--verify",
                                        "--compare",   "--trace",   "--verbose",      "-o",
                                        NULL };

const pp_command pp_command_run = {
    .name = "run",
    .arguments = "PLAN.json [options]\n"
                 "FILE.csv --costs F=T,B=T [options]\n"
                 "--schedule NAME --pp P --microbatches M --costs F=T,B=T",
    .summary = "execute a plan on this machine and compare it with its prediction",
    .options = options,
    .everyday = everyday,
    .details = "With transport mpi or nccl, start one process per rank: "
               "mpirun -n 4 ppsim run plan.json --transport mpi\n",
    .examples = "ppsim run plan.json --compute cpu --verify\n"
                "ppsim run --schedule zbv --pp 4 --microbatches 12 \\\n"
                "    --costs F=3ms,I=3ms,W=2ms,comm=0.2ms --compare\n",
    .run = run,
};
