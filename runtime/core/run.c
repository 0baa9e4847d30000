#include "runtime/core/run.h"

#include "runtime/core/agree.h"
#include "runtime/core/run_int.h"
#include "sim/base/alloc.h"
#include "sim/program/transfer_costs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define OPS_PER_PREEMPTION 8
#define PART_LOST 50 /* one in so many */

static void crew_free(pp_crew *crew)
{
    for (uint32_t h = 0; crew->hand && h < crew->count; h++) {
        pp_interpreter_free(&crew->hand[h].in);
        pp_progress_destroy(&crew->hand[h].progress);
        free(crew->hand[h].tied);
        free(crew->hand[h].packed);
        free(crew->hand[h].ahead_ns);
    }
    free(crew->hand);
    for (uint32_t h = 0; crew->turn && h < crew->turns; h++)
        pthread_mutex_destroy(&crew->turn[h]);
    free(crew->turn);
    pp_cells_free(&crew->cells);
    pp_record_free(&crew->record);
    pthread_cond_destroy(&crew->changed);
    pthread_mutex_destroy(&crew->lock);
    free(crew);
}

void pp_run_result_free(pp_run_result *result)
{
    for (uint32_t k = 0; result->iteration && k < result->count; k++)
        pp_timeline_free(&result->iteration[k].timeline);
    free(result->iteration);
    free(result->rank_bytes);
    free(result->flight);
    if (result->crew && !result->given_up)
        crew_free(result->crew);
    *result = (pp_run_result){ 0 };
}

/* Ranks of one GPU share it. */
static pthread_mutex_t *turn_of(const pp_crew *crew, uint32_t rank)
{
    const pp_run_job *job = crew->job;
    return crew->turn ? &crew->turn[job->compute->gpu(job->worker[rank]) % crew->turns] : NULL;
}

static pp_status make_turns(pp_crew *crew, uint32_t count, pp_err *err)
{
    if (!crew->options->serialize)
        return PP_OK;
    crew->turn = pp_alloc_array(count, sizeof *crew->turn);
    if (!crew->turn)
        return pp_err_nomem(err);
    for (; crew->turns < count; crew->turns++)
        pthread_mutex_init(&crew->turn[crew->turns], NULL);
    return PP_OK;
}

static pp_status prepare_hand(pp_crew *crew, pp_hand *hand, uint64_t hash, pp_err *err)
{
    const pp_run_job *job = crew->job;
    uint32_t ranks = job->program->ranks;
    hand->in =
        (pp_interpreter){ .program = job->program,
                          .costs = job->costs,
                          .cells = &crew->cells,
                          .program_hash = hash,
                          .rank = hand->rank,
                          .limit_bytes = crew->options->limit_bytes,
                          .block = crew->options->block ? &crew->options->block[hand->rank] : NULL,
                          .memory = job->memory,
                          .transport = job->transport,
                          .world = job->world,
                          .compute = job->compute,
                          .work = job->work,
                          .worker = job->worker[hand->rank],
                          .record = &crew->record,
                          .progress = &hand->progress,
                          .faults = crew->options->faults,
                          .ended = &crew->ended,
                          .poison = crew->options->poison,
                          .turn = turn_of(crew, hand->rank) };
    hand->ahead_ns = pp_alloc_array(ranks, sizeof *hand->ahead_ns);
    if (!hand->ahead_ns)
        return pp_err_nomem(err);
    if (crew->count < ranks) {
        hand->packed =
            pp_alloc_array(ranks + (size_t)1, pp_record_bytes(job->program, &crew->record));
        if (!hand->packed)
            return pp_err_nomem(err);
    }
    if (crew->tied_bytes) {
        hand->tied = pp_alloc_array(2 * (ranks + (size_t)1), crew->tied_bytes);
        if (!hand->tied)
            return pp_err_nomem(err);
    }
    pp_status status = pp_interpreter_prepare(&hand->in, err);
    if (hand->in.arena.bytes > crew->result->arena_bytes)
        crew->result->arena_bytes = hand->in.arena.bytes;
    crew->result->rank_bytes[hand->rank] = hand->in.arena.bytes;
    return status;
}

/* What transfer t carries at most. */
static size_t payload_of(const pp_crew *crew, const pp_transfer *t)
{
    int64_t whole = pp_comm_bytes(crew->job->program->comm, crew->job->costs, t);
    int64_t limit = crew->options->limit_bytes;
    if (pp_transfer_is_shape((pp_transfer_kind)t->kind))
        return sizeof(int64_t[4]);
    return (size_t)(limit >= 0 && whole > limit ? limit : whole);
}

static pp_status load(const pp_crew *crew, pp_err *err)
{
    const pp_run_job *job = crew->job;
    const pp_comm *comm = job->program->comm;
    pp_status status = PP_OK;
    size_t *bytes = pp_alloc_array(comm->transfer_count, sizeof *bytes);
    if (!bytes)
        return pp_err_nomem(err);
    for (size_t t = 0; t < comm->transfer_count && job->transport->reserve; t++)
        bytes[t] = payload_of(crew, &comm->transfer[t]);
    if (job->transport->reserve)
        status = job->transport->reserve(job->world, job->program, bytes, err);
    for (size_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        bool buffered = pp_transfer_sends((pp_transfer_kind)own->kind) &&
                        pp_comm_is_buffered(comm, job->costs, own);
        bytes[t] = buffered ? payload_of(crew, own) : 0;
    }
    if (!status)
        status = job->transport->load(job->world, job->program, bytes, err);
    free(bytes);
    return status;
}

static pp_status crew_new(const pp_run_job *job, const pp_run_options *options,
                          pp_run_result *result, pp_crew **crew_out, pp_err *err)
{
    pp_crew *crew = pp_alloc_array(1, sizeof *crew);
    pthread_condattr_t monotonic;
    if (!crew)
        return pp_err_nomem(err);
    *crew = (pp_crew){ .job = job, .options = options, .result = result };
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&crew->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&crew->lock, NULL);
    atomic_init(&crew->ended, false);
    uint32_t count = 0;
    job->transport->hosts(job->world, &crew->first, &count);
    uint64_t hash = pp_program_hash(job->program, job->costs);
    crew->tied_bytes =
        job->compute->tied_bytes ? job->compute->tied_bytes(job->worker[crew->first]) : 0;
    pp_status status = pp_cells_new(job->program, &crew->cells, err);
    if (!status)
        status = pp_record_new(job->program, options->check_memory, &crew->record, err);
    if (!status && !(crew->hand = pp_alloc_array(count, sizeof *crew->hand)))
        status = pp_err_nomem(err);
    if (!status)
        status = make_turns(crew, count, err);
    for (uint32_t h = 0; h < count && !status; h++, crew->count = h) {
        crew->hand[h].crew = crew;
        crew->hand[h].rank = crew->first + h;
        pp_progress_init(&crew->hand[h].progress);
    }
    for (uint32_t h = 0; h < count && !status; h++)
        status = prepare_hand(crew, &crew->hand[h], hash, err);
    if (!status)
        status = load(crew, err);
    if (status)
        crew_free(crew);
    else
        *crew_out = crew;
    return status;
}

/* The bytes that the simulator's account has right after each op's start and end. */
typedef struct comparing {
    const pp_record *record;
    const pp_program *program;
    const pp_timeline *timeline;
    size_t next, end; /* ops of the rank */
    int side;         /* of `next`: 0 its start is to come, 1 its end */
    int64_t bytes[PP_MEMORY_COUNT];
    size_t wrong; /* op, or SIZE_MAX */
    int wrong_side, component;
    int64_t predicted;
    uint64_t checks;
} comparing;

/* All instants that lie before `until_ns` have the bytes that were last reported. */
static void settle(comparing *c, pp_ns until_ns)
{
    while (c->next < c->end && c->wrong == SIZE_MAX) {
        pp_ns at_ns = c->side ? c->timeline->end_ns[c->next] : c->timeline->start_ns[c->next];
        if (at_ns >= until_ns)
            return;
        for (int k = 0; k < PP_MEMORY_COUNT; k++) {
            if (c->record->bytes[c->next][c->side][k] != c->bytes[k] && c->wrong == SIZE_MAX) {
                c->wrong = c->next;
                c->wrong_side = c->side;
                c->component = k;
                c->predicted = c->bytes[k];
            }
        }
        c->checks++;
        c->next += (size_t)c->side;
        c->side = !c->side;
    }
}

static void compare_sample(void *context, pp_ns at_ns, const int64_t bytes[PP_MEMORY_COUNT])
{
    comparing *c = context;
    settle(c, at_ns);
    memcpy(c->bytes, bytes, sizeof c->bytes);
}

/* Stages' microbatches between their F and their B or W: as many as the order of the rank says. */
static pp_status check_live(const pp_crew *crew, uint32_t rank, pp_err *err)
{
    const pp_program *program = crew->job->program;
    uint32_t live = 0;
    uint32_t most = 0;
    for (size_t i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
        uint8_t kind = program->op[i].kind;
        live += kind == PP_OP_F;
        most = live > most ? live : most;
        live -= kind == PP_OP_B || kind == PP_OP_W || program->forward_only;
    }
    if (crew->record.live[rank] == most)
        return PP_OK;
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "memory is not what was predicted: rank %" PRIu32 " held %" PRIu32
                      " activations at once, its order says %" PRIu32,
                      rank, crew->record.live[rank], most);
}

static pp_status check_memory(pp_crew *crew, const pp_timeline *timeline, pp_err *err)
{
    const pp_program *program = crew->job->program;
    char token[40];
    for (uint32_t r = 0; r < program->ranks; r++) {
        pp_memory_peak peak;
        comparing c = { .record = &crew->record,
                        .program = program,
                        .timeline = timeline,
                        .next = program->rank_begin[r],
                        .end = program->rank_begin[r + 1],
                        .wrong = SIZE_MAX };
        pp_status status =
            pp_memory_walk(program, timeline, crew->job->costs, r, compare_sample, &c, &peak, err);
        if (status || (status = check_live(crew, r, err)))
            return status;
        settle(&c, INT64_MAX);
        crew->result->memory_checks += c.checks;
        if (c.wrong == SIZE_MAX)
            continue;
        return pp_err_set(err, PP_INFEASIBLE, NULL,
                          "memory is not what was predicted: rank %" PRIu32
                          " at the %s of %s holds %" PRId64 " B of %s, the simulator says %" PRId64
                          " B",
                          r, c.wrong_side ? "end" : "start",
                          pp_op_print(program->op[c.wrong], token, sizeof token),
                          crew->record.bytes[c.wrong][c.wrong_side][c.component],
                          pp_memory_key((pp_memory_component)c.component), c.predicted);
    }
    return PP_OK;
}

pp_status pp_crew_keep(pp_crew *crew, uint32_t number, pp_err *err)
{
    const pp_program *program = crew->job->program;
    const pp_record *record = &crew->record;
    pp_iteration *it = &crew->result->iteration[number];
    pp_status status = pp_record_timeline(program, crew->job->costs, record, &it->timeline, err);
    if (status)
        return status;
    crew->result->count = number + 1;
    pp_ns begin_ns = record->begin_ns[0];
    pp_ns over_ns = record->over_ns[0];
    for (uint32_t r = 0; r < program->ranks; r++) {
        begin_ns = record->begin_ns[r] < begin_ns ? record->begin_ns[r] : begin_ns;
        over_ns = record->over_ns[r] > over_ns ? record->over_ns[r] : over_ns;
        it->preemptions += record->preemptions[r];
    }
    for (size_t i = 0; i < program->count; i++) {
        it->cpu_ns += record->cpu_ns[i];
        it->busy_ns += it->timeline->end_ns[i] - it->timeline->start_ns[i];
    }
    it->step_ns = over_ns - begin_ns;
    it->voided = !crew->job->compute->sleeps &&
                 it->preemptions > (int64_t)(program->count / OPS_PER_PREEMPTION) &&
                 it->busy_ns - it->cpu_ns > it->busy_ns / PART_LOST;
    return record->bytes ? check_memory(crew, it->timeline, err) : PP_OK;
}

void pp_run_choose_median(pp_run_result *result)
{
    uint32_t valid = 0;
    for (uint32_t k = 0; k < result->count; k++)
        result->voided += result->iteration[k].voided;
    bool all_void = result->voided == result->count;
    valid = all_void ? result->count : result->count - result->voided;
    for (uint32_t k = 0; k < result->count; k++) {
        const pp_iteration *it = &result->iteration[k];
        uint32_t faster = 0;
        for (uint32_t o = 0; o < result->count; o++) {
            const pp_iteration *other = &result->iteration[o];
            if (other->voided && !all_void)
                continue;
            faster += other->step_ns < it->step_ns || (other->step_ns == it->step_ns && o < k);
        }
        if ((!it->voided || all_void) && faster == (valid - 1) / 2)
            result->median = k;
    }
}

static pp_status start_threads(pp_crew *crew, pp_err *err)
{
    pthread_attr_t small;
    pthread_attr_init(&small);
    size_t stack_bytes = crew->options->stack_bytes;
    pthread_attr_setstacksize(&small, stack_bytes ? stack_bytes : PP_STACK_BYTES);
    int failed = 0;
    while (crew->running < crew->count && !failed) {
        pp_hand *hand = &crew->hand[crew->running];
        failed = pthread_create(&hand->thread, &small, pp_hand_run, hand);
        crew->running += !failed;
    }
    pthread_attr_destroy(&small);
    return failed ? pp_err_set(err, PP_NOMEM, NULL,
                               "this machine does not give %" PRIu32
                               " threads; try fewer ranks, or raise its limit (ulimit -u)",
                               crew->count)
                  : PP_OK;
}

/* Ends those that wait for ranks that never came. */
static void call_back(pp_crew *crew, bool *given_up_out)
{
    pp_err ignored = { 0 };
    crew->job->transport->abort(crew->job->world);
    (void)!pp_crew_watch(crew, given_up_out, &ignored);
}

pp_status pp_run(const pp_run_job *job, const pp_run_options *options, pp_run_result *result_out,
                 pp_err *err)
{
    pp_crew *crew = NULL;
    *result_out = (pp_run_result){ 0 };
    result_out->iteration = pp_alloc_array(options->iterations, sizeof *result_out->iteration);
    result_out->rank_bytes = pp_alloc_array(job->program->ranks, sizeof *result_out->rank_bytes);
    if (!result_out->iteration || !result_out->rank_bytes)
        return pp_err_nomem(err);
    pp_status status = crew_new(job, options, result_out, &crew, err);
    if (status)
        return status;
    status = start_threads(crew, err);
    if (status)
        call_back(crew, &result_out->given_up);
    else
        status = pp_crew_watch(crew, &result_out->given_up, err);
    for (uint32_t h = 0; h < crew->running; h++) {
        if (result_out->given_up)
            pthread_detach(crew->hand[h].thread);
        else
            pthread_join(crew->hand[h].thread, NULL);
    }
    result_out->agreement_ns = crew->hand[0].agreement_ns;
    result_out->clock_error_ns = crew->hand[0].clock_error_ns;
    if (!status)
        crew_free(crew);
    else /* given up: a thread that does not end still uses it */
        result_out->crew = crew;
    if (!status && result_out->count)
        pp_run_choose_median(result_out);
    return status;
}
