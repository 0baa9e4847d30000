/* Times a program without communication in one pass over its topological order, in O(instructions):
 * an op starts at the later of its rank's clock and the arrival of its input. The costs of an op
 * are looked up in one table. Other programs are passed on to pair_engine.c and comm_engine.c. */
#include "sim/engine/engine.h"

#include "sim/base/alloc.h"
#include "sim/engine/comm_engine.h"
#include "sim/engine/pair_engine.h"
#include "sim/program/pairs.h"
#include "sim/program/transfer_costs.h"

#include <inttypes.h>
#include <stdlib.h>

#define UNKNOWN ((pp_ns)-1)
#define AHEAD 24 /* instructions of a rank: some turns, three cache lines of times */
#define NEXT 8   /* instructions in the order in which they run: some ranks */

/* What an op costs, and the clock of its rank, which are looked up together. */
typedef struct op_cost {
    pp_ns duration_ns, latency_ns; /* latency_ns: that of its input */
    pp_ns *clock_ns;               /* the rank's; with mirrored ranks, that of the others */
} op_cost;

typedef struct engine {
    const pp_program *program;
    const uint32_t *class_of;
    op_cost *cost;   /* [rows][PP_OP_KIND_COUNT] */
    size_t rows;     /* classes * stages */
    pp_ns *clock_ns; /* [ranks]: end of the last instruction */
} engine;

static void engine_free(engine *e)
{
    free(e->cost);
    free(e->clock_ns);
}

/* Fills the table of costs. Fails: INPUT when their sum over the program could leave 64 bits. */
static pp_status tabulate(engine *e, const pp_costs *costs, pp_err *err)
{
    const pp_ns *durations[PP_OP_KIND_COUNT] = {
        [PP_OP_F] = costs->f_ns,
        [PP_OP_I] = costs->i_ns,
        [PP_OP_W] = costs->w_ns,
        [PP_OP_B] = costs->b_ns,
    };
    pp_ns longest = 0;
    const bool pairs = pp_pairs_overlap(e->program, costs);
    for (size_t i = 0; pairs && i < e->rows; i++) {
        const pp_ns alone_ns = costs->f_ns[i] + costs->b_ns[i];
        const pp_ns pair_ns = costs->pair_ns[i] > alone_ns ? costs->pair_ns[i] : alone_ns;
        longest = pair_ns > longest ? pair_ns : longest;
    }
    for (uint32_t j = 0; j < costs->microbatches; j++) {
        size_t row = (size_t)costs->class_of[j] * costs->stages;
        if (e->cost[row * PP_OP_KIND_COUNT].duration_ns != UNKNOWN)
            continue; /* this class is filled */
        for (uint8_t kind = 0; kind < PP_OP_KIND_COUNT; kind++) {
            for (uint32_t s = 0; s < costs->stages; s++) {
                op_cost *cost = &e->cost[(row + s) * PP_OP_KIND_COUNT + kind];
                pp_op op = { .microbatch = j, .stage = (uint16_t)s, .kind = kind };
                cost->clock_ns = &e->clock_ns[e->program->stage_rank[s]];
                cost->duration_ns = durations[kind][row + s];
                cost->latency_ns = pp_arrival_latency(e->program, costs, op);
                if (cost->duration_ns > longest)
                    longest = cost->duration_ns;
                if (cost->latency_ns > longest)
                    longest = cost->latency_ns;
            }
        }
    }
    if (e->program->count && longest > INT64_MAX / 4 / (pp_ns)e->program->count)
        return pp_err_set(err, PP_INPUT, NULL,
                          "a step of %zu ops of up to %" PRId64
                          " ns does not fit 64 bits; give shorter durations",
                          e->program->count, longest);
    return PP_OK;
}

static pp_status engine_new(const pp_program *program, const pp_costs *costs, engine *e,
                            pp_err *err)
{
    *e = (engine){ .program = program, .class_of = costs->class_of };
    e->rows = (size_t)costs->classes * costs->stages;
    e->cost = pp_alloc_array(e->rows * PP_OP_KIND_COUNT, sizeof *e->cost);
    e->clock_ns = pp_alloc_array(program->ranks, sizeof *e->clock_ns);
    if (!e->cost || !e->clock_ns)
        return pp_err_nomem(err);
    for (size_t i = 0; i < e->rows * PP_OP_KIND_COUNT; i++)
        e->cost[i].duration_ns = UNKNOWN;
    return tabulate(e, costs, err);
}

/* Times every instruction once, after everything that it needs. mirrored: some microbatches run on
 * mirrored ranks; alike: all microbatches cost the same. Callers pass constants, so that other
 * programs need no test. The clock of the rank that runs stays in a register: ops of one rank wait
 * for it alone, and not for memory. When another rank continues, the lines that it will need some
 * turns later are fetched: there are more ranks than streams that the hardware follows. Ops and
 * sources are fetched once more shortly before they are read: with a power of two of microbatches
 * the ranks' lines contend for the same places of a cache. */
static inline __attribute__((always_inline)) void run(const engine *e, bool mirrored, bool alike,
                                                      pp_timeline *timeline)
{
    const pp_program *program = e->program;
    const size_t stages = program->stages, count = program->count;
    const uint32_t *source = program->source;
    const pp_op *ops = program->op;
    pp_ns *start_ns = timeline->start_ns, *end_ns = timeline->end_ns;
    pp_ns *clock_ns = e->clock_ns, now_ns = *clock_ns; /* of the rank that runs */
    for (size_t k = 0; k < count; k++) {
        const size_t i = program->topological_order[k];
        const pp_op op = ops[i];
        const size_t row = (alike ? 0 : e->class_of[op.microbatch] * stages) + op.stage;
        const op_cost *cost = &e->cost[row * PP_OP_KIND_COUNT + op.kind];
        pp_ns *own_ns = mirrored ? &e->clock_ns[pp_program_rank(program, op)] : cost->clock_ns;
        if (own_ns != clock_ns) {
            __builtin_prefetch(&start_ns[i + AHEAD], 1, 2);
            __builtin_prefetch(&end_ns[i + AHEAD], 1, 2);
            __builtin_prefetch(&ops[i + AHEAD], 0, 2);
            __builtin_prefetch(&source[i + AHEAD], 0, 2);
            const size_t next = program->topological_order[k + NEXT < count ? k + NEXT : k];
            __builtin_prefetch(&ops[next]);
            __builtin_prefetch(&source[next]);
            *clock_ns = now_ns;
            clock_ns = own_ns;
            now_ns = *own_ns;
        }
        const pp_ns ready_ns = end_ns[(int32_t)source[i]] + cost->latency_ns; /* PP_NO_SOURCE: -1 */
        const pp_ns begin_ns = ready_ns > now_ns ? ready_ns : now_ns;
        start_ns[i] = begin_ns;
        end_ns[i] = now_ns = begin_ns + cost->duration_ns;
    }
}

static pp_status set_begin(engine *e, const pp_ns *begin_ns, pp_err *err)
{
    for (uint32_t r = 0; r < e->program->ranks; r++) {
        if (begin_ns[r] < 0 || begin_ns[r] > INT64_MAX / 4)
            return pp_err_set(err, PP_INPUT, NULL,
                              "rank %" PRIu32 " begins at %" PRId64
                              " ns, which does not fit; give shorter durations",
                              r, begin_ns[r]);
        e->clock_ns[r] = begin_ns[r];
    }
    return PP_OK;
}

pp_status pp_simulate_into(const pp_program *program, const pp_costs *costs, pp_timeline *timeline,
                           pp_err *err)
{
    return pp_simulate_from(program, costs, NULL, timeline, err);
}

pp_status pp_simulate_from(const pp_program *program, const pp_costs *costs, const pp_ns *begin_ns,
                           pp_timeline *timeline, pp_err *err)
{
    if (costs->stages != program->stages || costs->microbatches != program->microbatches)
        return pp_err_set(err, PP_INPUT, NULL,
                          "the costs are for %" PRIu32 " stages and %" PRIu32
                          " microbatches, but the schedule has %" PRIu32 " and %" PRIu32,
                          costs->stages, costs->microbatches, program->stages,
                          program->microbatches);
    engine e PP_CLEANUP(engine_free) = { 0 };
    pp_status status = engine_new(program, costs, &e, err);
    if (status || (begin_ns && (status = set_begin(&e, begin_ns, err))))
        return status;
    const bool pairs = pp_pairs_overlap(program, costs);
    if (pairs && (status = pp_pairs_check(program, costs, err)))
        return status;
    if (program->comm)
        return pp_simulate_comm(program, costs, e.clock_ns, timeline, err);
    if (pairs)
        return pp_simulate_pairs(program, costs, e.clock_ns, timeline, err);
    if (program->mirrored_from < program->microbatches)
        run(&e, true, false, timeline);
    else if (costs->classes > 1)
        run(&e, false, false, timeline);
    else
        run(&e, false, true, timeline);
    return PP_OK;
}

pp_status pp_simulate(const pp_program *program, const pp_costs *costs, pp_timeline **timeline_out,
                      pp_err *err)
{
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_status status = pp_timeline_new_comm(program, &timeline, err);
    if (status || (status = pp_simulate_into(program, costs, timeline, err)))
        return status;
    *timeline_out = timeline;
    timeline = NULL; /* the caller's now */
    return PP_OK;
}
