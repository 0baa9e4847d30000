/* Monte Carlo: the step is computed once per scenario, with every duration multiplied by its own
 * factor.
 *
 * A program without communication is a graph of dependencies, whose longest path is computed for
 * blocks of scenarios by a kernel. Any other program is run by the engine, one scenario at a time,
 * with its costs changed. Both draw the same factors for the same op and scenario: factors depend
 * on the seed, the op and the number of the scenario alone, not on threads or on how many scenarios
 * there are.
 *
 * O(scenarios * instructions); the engine costs about 100 times as much per scenario as a kernel.
 */
#include "planner/robustness/jitter_run.h"

#include "planner/robustness/jitter_spec.h"
#include "sim/analysis/step_tail.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/engine/engine.h"
#include "sim/program/pairs.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The data that all threads read. */
typedef struct study {
    const pp_jitter_subject *subject;
    const pp_jitter_spec *spec;
    uint64_t seed;
    uint32_t slow_link; /* index of the slow link, if it is the same in all scenarios */
    bool slow;
    const pp_jitter_pool *pool;
    pp_jitter_pool own_pool; /* that, unless the subject has it */
    pp_jitter_links links;
    pp_jitter_tape tape; /* empty if the engine runs the program */
    pp_jitter_kernel *kernel;
    uint32_t threads;
    pp_ns *step_ns; /* [scenarios]; each thread writes its own part */
} study;

static void study_free(study *s)
{
    pp_jitter_pool_free(&s->own_pool);
    pp_jitter_links_free(&s->links);
    pp_jitter_tape_free(&s->tape);
}

typedef struct worker {
    const study *study;
    uint32_t index;
    pthread_t thread;
    bool started;
    pp_status status;
    pp_err err;
    pp_jitter_lanes lanes;
    pp_ns *last_end_ns; /* [ranks] */
    pp_costs *costs;
    pp_timeline *timeline;
} worker;

static void worker_free(worker *w)
{
    free(w->lanes.row);
    free(w->lanes.rank_factor);
    free(w->lanes.link_factor);
    free(w->last_end_ns);
    pp_costs_free(&w->costs);
    pp_timeline_free(&w->timeline);
}

/* Zeroed rows of PP_JITTER_LANES, aligned to a cache line. NULL: no memory. */
static double *new_rows(size_t count)
{
    size_t bytes = PP_JITTER_LANES * sizeof(double);
    if (count > SIZE_MAX / 2 / bytes)
        return NULL;
    double *rows = aligned_alloc(64, count * bytes);
    if (rows)
        memset(rows, 0, count * bytes);
    return rows;
}

static pp_status worker_new(worker *w, pp_err *err)
{
    const study *s = w->study;
    const pp_program *program = s->subject->program;
    w->last_end_ns = pp_alloc_array(program->ranks, sizeof *w->last_end_ns);
    w->lanes.rank_factor = new_rows(program->ranks);
    w->lanes.link_factor = new_rows(s->links.count + 1);
    if (!w->last_end_ns || !w->lanes.rank_factor || !w->lanes.link_factor)
        return pp_err_nomem(err);
    if (s->kernel) {
        w->lanes.row = new_rows(s->tape.rows);
        return w->lanes.row ? PP_OK : pp_err_nomem(err);
    }
    pp_status status = pp_costs_spread(s->subject->costs, &w->costs, err);
    return status ? status : pp_timeline_new_comm(program, &w->timeline, err);
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The slow one of `count` in a scenario, if it is drawn: in `count` successive scenarios each is
 * slow once, in an order of its own (an affine permutation), so that few scenarios show how often a
 * slow one matters. */
static uint32_t any_of(uint64_t scenario, uint32_t count, uint64_t key)
{
    const uint64_t bits = pp_jitter_bits(key, scenario / count);
    const uint32_t first = pp_random_below(bits, count);
    uint32_t step = 1 + pp_random_below(bits << 32, count);
    while (common_divisor(step, count) != 1)
        step++;
    return (uint32_t)((first + (uint64_t)step * (scenario % count)) % count);
}

/* Sets the factors of ranks or links in the scenarios of a block. fixed: the slow one, unless it is
 * drawn for each scenario. */
static void set_slow(const pp_jitter_slow *slow, uint32_t fixed, uint32_t count, uint64_t key,
                     uint64_t block, double *factor)
{
    for (size_t i = 0; i < (size_t)count * PP_JITTER_LANES; i++)
        factor[i] = 1;
    for (uint32_t k = 0; slow->factor > 0 && count && k < PP_JITTER_LANES; k++) {
        uint32_t at = fixed;
        if (slow->at == PP_JITTER_ANY)
            at = any_of(block * PP_JITTER_LANES + k, count, key);
        factor[(size_t)at * PP_JITTER_LANES + k] = slow->factor;
    }
}

static void set_factors(worker *w, uint64_t block)
{
    const study *s = w->study;
    set_slow(&s->spec->rank, (uint32_t)s->spec->rank.at, s->subject->program->ranks,
             pp_jitter_stream(s->seed, PP_JITTER_STREAM_RANK), block, w->lanes.rank_factor);
    set_slow(&s->spec->link, s->slow_link, (uint32_t)s->links.count,
             pp_jitter_stream(s->seed, PP_JITTER_STREAM_LINK), block, w->lanes.link_factor);
}

static pp_ns step_end(const worker *w)
{
    const pp_jitter_subject *subject = w->study->subject;
    return pp_step_tail_step_end(subject->costs, w->last_end_ns, subject->step_sync,
                                 subject->chained);
}

static void run_block(worker *w, uint64_t block)
{
    const study *s = w->study;
    if (s->slow)
        set_factors(w, block);
    s->kernel(&s->tape, s->pool, &w->lanes, block, s->slow);
    for (uint32_t k = 0; k < PP_JITTER_LANES; k++) {
        uint64_t scenario = block * PP_JITTER_LANES + k;
        if (scenario >= (uint64_t)s->spec->scenarios)
            break;
        for (uint32_t r = 0; r < s->tape.ranks; r++) {
            size_t row = s->tape.last_row[r];
            w->last_end_ns[r] = (pp_ns)w->lanes.row[row * PP_JITTER_LANES + k];
        }
        s->step_ns[scenario] = step_end(w);
    }
}

static pp_ns scale(pp_ns base_ns, double factor, float draw)
{
    return (pp_ns)pp_jitter_scale((double)base_ns, factor, draw);
}

/* Draws the durations of overlapped pairs: each has the factor of its forward, and is at least as
 * long as its backward. */
static void draw_pairs(worker *w, uint64_t block, uint32_t lane)
{
    const study *s = w->study;
    const pp_program *program = s->subject->program;
    pp_costs *out = w->costs;
    for (size_t i = 0; i + 1 < program->count; i++) {
        if (!pp_pair_starts(program, s->subject->costs, i))
            continue;
        pp_op forward = program->op[pp_pair_forward(program, i)];
        pp_op backward = program->op[pp_pair_backward(program, i)];
        uint64_t bits = pp_jitter_bits(pp_jitter_key(s->seed, forward), block);
        pp_ns alone_ns = out->b_ns[pp_cost_index(out, backward.stage, backward.microbatch)];
        pp_ns pair_ns = scale(pp_pair_ns(program, s->subject->costs, i),
                              w->lanes.rank_factor[s->links.rank_of[i] * PP_JITTER_LANES + lane],
                              pp_jitter_draws(s->pool, bits, forward.kind)[lane]);
        out->pair_ns[pp_cost_index(out, forward.stage, forward.microbatch)] =
            pair_ns > alone_ns ? pair_ns : alone_ns;
    }
}

/* Sets the worker's costs to those of one scenario, with the same factors as a kernel uses. */
static void draw_costs(worker *w, uint64_t block, uint32_t lane)
{
    const study *s = w->study;
    const pp_program *program = s->subject->program;
    const pp_costs *costs = s->subject->costs;
    pp_costs *out = w->costs;
    const pp_ns *from[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns };
    pp_ns *to[] = { out->f_ns, out->i_ns, out->w_ns, out->b_ns };
    for (size_t i = 0; i < program->count; i++) {
        pp_op op = program->op[i];
        uint64_t bits = pp_jitter_bits(pp_jitter_key(s->seed, op), block);
        size_t rank = s->links.rank_of[i];
        size_t link = s->links.of[i];
        to[op.kind][pp_cost_index(out, op.stage, op.microbatch)] =
            scale(from[op.kind][pp_cost_index(costs, op.stage, op.microbatch)],
                  w->lanes.rank_factor[rank * PP_JITTER_LANES + lane],
                  pp_jitter_draws(s->pool, bits, op.kind)[lane]);
        if (link == s->links.count)
            continue;
        pp_op sender = program->op[program->source[i]];
        bool forward = op.kind == PP_OP_F;
        const pp_ns *sends = forward ? costs->send_f_ns : costs->send_b_ns;
        (forward ? out->send_f_ns
                 : out->send_b_ns)[pp_cost_index(out, sender.stage, op.microbatch)] =
            scale(sends[pp_cost_index(costs, sender.stage, op.microbatch)],
                  w->lanes.link_factor[link * PP_JITTER_LANES + lane],
                  pp_jitter_draws(s->pool, bits, PP_JITTER_COMM)[lane]);
    }
}

/* Draws gathers and reductions of sharded parameters like transfers: one factor for those of a
 * stage in a step, of each kind. */
static void draw_sharding(worker *w, uint64_t block, uint32_t lane)
{
    const study *s = w->study;
    const pp_costs *costs = s->subject->costs;
    pp_costs *out = w->costs;
    const struct {
        const pp_ns *from;
        pp_ns *to;
        uint32_t kind;
    } tables[] = {
        { costs->unshard_ns, out->unshard_ns, 0 },
        { costs->reduce_grad_ns, out->reduce_grad_ns, 1 },
        { costs->reduce_last_ns, out->reduce_last_ns, 1 },
        { costs->regather_ns, out->regather_ns, 2 },
        { costs->regather_first_ns, out->regather_first_ns, 2 },
        { costs->regather_last_ns, out->regather_last_ns, 2 },
    };
    for (size_t k = 0; costs->sharded && k < sizeof tables / sizeof *tables; k++) {
        for (uint32_t stage = 0; stage < costs->stages; stage++) {
            const pp_op none = { .stage = (uint16_t)stage,
                                 .kind = PP_OP_KIND_COUNT,
                                 .microbatch = tables[k].kind };
            const uint64_t bits = pp_jitter_bits(pp_jitter_key(s->seed, none), block);
            tables[k].to[stage] = scale(tables[k].from[stage], 1,
                                        pp_jitter_draws(s->pool, bits, PP_JITTER_COMM)[lane]);
        }
    }
}

static pp_status run_scenario(worker *w, uint64_t scenario, pp_err *err)
{
    const pp_program *program = w->study->subject->program;
    uint64_t block = scenario / PP_JITTER_LANES;
    set_factors(w, block);
    draw_costs(w, block, (uint32_t)(scenario % PP_JITTER_LANES));
    draw_pairs(w, block, (uint32_t)(scenario % PP_JITTER_LANES));
    draw_sharding(w, block, (uint32_t)(scenario % PP_JITTER_LANES));
    pp_status status = pp_simulate_into(program, w->costs, w->timeline, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < program->ranks; r++) {
        size_t end = program->rank_begin[r + 1];
        w->last_end_ns[r] = end > program->rank_begin[r] ? w->timeline->end_ns[end - 1] : 0;
    }
    w->study->step_ns[scenario] = step_end(w);
    return PP_OK;
}

/* Works on every threads-th block, or every threads-th scenario if the engine runs. */
static void *work(void *argument)
{
    worker *w = argument;
    const study *s = w->study;
    uint64_t each = s->kernel ? PP_JITTER_LANES : 1;
    w->status = worker_new(w, &w->err);
    for (uint64_t i = w->index; !w->status && i * each < (uint64_t)s->spec->scenarios;
         i += s->threads) {
        if (s->subject->is_over && s->subject->is_over(s->subject->context))
            break;
        if (s->kernel)
            run_block(w, i);
        else
            w->status = run_scenario(w, i, &w->err);
    }
    worker_free(w);
    return NULL;
}

static pp_status run_threads(study *s, pp_err *err)
{
    worker *workers = pp_alloc_array(s->threads, sizeof *workers);
    if (!workers)
        return pp_err_nomem(err);
    for (uint32_t i = s->threads; i-- > 0;) {
        worker *w = &workers[i];
        *w = (worker){ .study = s, .index = i, .err = pp_err_like(err) };
        w->started = i > 0 && pthread_create(&w->thread, NULL, work, w) == 0;
        if (!w->started)
            work(w); /* the first worker, and those for which the system has no thread */
    }
    pp_status status = PP_OK;
    for (uint32_t i = 0; i < s->threads; i++) {
        worker *w = &workers[i];
        if (w->started)
            pthread_join(w->thread, NULL);
        if (w->status && !status)
            status = pp_err_set(err, w->status, w->err.where, "%s", w->err.text);
    }
    free(workers);
    return status;
}

static double at_least_one(double factor)
{
    return factor > 1 ? factor : 1;
}

/* A step is a longest chain, so when no duration grows by more than a factor, the step does not
 * either. It must stay in the range in which a double represents nanoseconds exactly. */
static pp_status check_range(const study *s, pp_err *err)
{
    const pp_program *program = s->subject->program;
    double rank = at_least_one(s->spec->rank.factor);
    double worst = at_least_one(s->spec->link.factor) * s->pool->largest[PP_JITTER_COMM];
    for (uint32_t kind = 0; kind < PP_OP_KIND_COUNT; kind++) {
        double factor = rank * s->pool->largest[kind];
        worst = factor > worst ? factor : worst;
    }
    double longest = (double)pp_timeline_makespan(s->subject->timeline) * worst +
                     2 * (double)program->count; /* roundings */
    if (longest < 0x1p51)
        return PP_OK;
    return pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_JITTER),
                      "a step could take %.3g s, more than the limit of %.3g s; give shorter "
                      "durations, or smaller factors",
                      longest * 1e-9, 0x1p51 * 1e-9);
}

/* Checks that the program has the slow rank and link, and finds the link. */
static pp_status find_slow(study *s, pp_err *err)
{
    const pp_jitter_slow *rank = &s->spec->rank;
    const pp_jitter_slow *link = &s->spec->link;
    uint32_t ranks = s->subject->program->ranks;
    s->slow = rank->factor > 0 || link->factor > 0;
    if (rank->factor > 0 && rank->at >= ranks)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_JITTER_RANK),
                          "there is no rank %" PRId64 "; the last of the %" PRIu32
                          " ranks is %" PRIu32,
                          rank->at, ranks, ranks - 1);
    if (link->factor <= 0 || (link->at == PP_JITTER_ANY && s->links.count))
        return PP_OK;
    for (uint32_t i = 0; i < s->links.count && link->at < ranks; i++) {
        uint32_t a = (uint32_t)link->at;
        uint32_t b = (a + 1) % ranks;
        const pp_jitter_link *known = &s->links.link[i];
        s->slow_link = i;
        if (known->first == (a < b ? a : b) && known->second == (a < b ? b : a))
            return PP_OK;
    }
    if (link->at == PP_JITTER_ANY)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_JITTER_LINK),
                          "no rank sends anything to another rank; leave slow-link out");
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_JITTER_LINK),
                      "no transfer uses the link between rank %" PRId64
                      " and the next rank (there are %" PRIu32 "); choose another link, or any",
                      link->at, ranks);
}

pp_status pp_jitter_run_by(pp_jitter_kernel *kernel, const pp_jitter_subject *subject,
                           const pp_jitter_spec *spec, uint64_t seed, uint32_t threads,
                           pp_ns *step_ns_out, pp_err *err)
{
    study s PP_CLEANUP(study_free) = {
        .subject = subject, .spec = spec, .seed = seed, .kernel = kernel, .step_ns = step_ns_out
    };
    pp_status status = PP_OK;
    s.pool = subject->pool ? subject->pool : &s.own_pool;
    if (!subject->pool)
        status = pp_jitter_pool_new(spec, seed, threads, &s.own_pool, err);
    if (status || (status = pp_jitter_links_new(subject->program, &s.links, err)) ||
        (status = find_slow(&s, err)) || (status = check_range(&s, err)))
        return status;
    if (kernel && (status = pp_jitter_tape_new(subject, &s.links, seed, &s.tape, err)))
        return status;
    for (int64_t i = 0; i < spec->scenarios; i++)
        step_ns_out[i] = PP_JITTER_NOT_RUN;
    uint64_t each = kernel ? PP_JITTER_LANES : 1;
    uint64_t items = ((uint64_t)spec->scenarios + each - 1) / each;
    s.threads = threads > items ? (uint32_t)items : threads ? threads : 1;
    return run_threads(&s, err);
}

pp_status pp_jitter_run(const pp_jitter_subject *subject, const pp_jitter_spec *spec, uint64_t seed,
                        uint32_t threads, pp_ns *step_ns_out, pp_err *err)
{
    pp_jitter_kernel *best = NULL;
    const bool pairs = pp_pairs_overlap(subject->program, subject->costs);
    bool plain = !subject->program->comm && !pairs;
    for (size_t i = 0; plain && i < pp_jitter_kernel_count(); i++) {
        pp_jitter_kernel *kernel = pp_jitter_kernel_at(i);
        best = kernel ? kernel : best;
    }
    return pp_jitter_run_by(best, subject, spec, seed, threads, step_ns_out, err);
}
