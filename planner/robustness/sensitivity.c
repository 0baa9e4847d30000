/* How the step grows with each duration.
 *
 * Without communication the step is the longest path of a graph. Its right-hand derivative with
 * respect to the durations of a stage is the largest number of the stage's ops on any critical
 * path, which one pass in topological order counts for all stages and links at once: O(instructions
 * * (stages + links)). With communication the path does not show this, so every stage and link is
 * made 1 ns longer and the engine runs the program again: O((stages + links) * run). */
#include "planner/robustness/sensitivity.h"

#include "planner/robustness/jitter_tape.h"
#include "sim/analysis/step_tail.h"
#include "sim/base/alloc.h"
#include "sim/engine/engine.h"
#include "sim/program/pairs.h"
#include "sim/program/transfer_costs.h"

#include <stdlib.h>
#include <string.h>

typedef struct study {
    const pp_jitter_subject *subject;
    pp_jitter_links links;
    pp_jitter_tape tape;
    pp_ns *last_end_ns;      /* [ranks] */
    size_t width;            /* stages, then links */
    uint32_t *count;         /* [tape.rows * width]: most of each row on a longest chain to this
                                end */
    bool *critical;          /* [ranks]: the step ends later if the rank does */
    pp_sensitivity_row *row; /* [width], in the order of width */
} study;

static void study_free(study *s)
{
    pp_jitter_links_free(&s->links);
    pp_jitter_tape_free(&s->tape);
    free(s->last_end_ns);
    free(s->count);
    free(s->critical);
    free(s->row);
}

static pp_status study_new(const pp_jitter_subject *subject, study *s, pp_err *err)
{
    const pp_program *program = subject->program;
    s->subject = subject;
    pp_status status = pp_jitter_links_new(program, &s->links, err);
    if (status)
        return status;
    s->width = program->stages + s->links.count;
    s->row = pp_alloc_array(s->width, sizeof *s->row);
    s->critical = pp_alloc_array(program->ranks, sizeof *s->critical);
    s->last_end_ns = pp_alloc_array(program->ranks, sizeof *s->last_end_ns);
    if (!s->row || !s->critical || !s->last_end_ns)
        return pp_err_nomem(err);
    for (uint32_t stage = 0; stage < program->stages; stage++)
        s->row[stage] = (pp_sensitivity_row){ .first = stage, .second = stage };
    for (size_t l = 0; l < s->links.count; l++)
        s->row[program->stages + l] = (pp_sensitivity_row){ .is_link = true,
                                                            .first = s->links.link[l].first,
                                                            .second = s->links.link[l].second };
    return PP_OK;
}

static pp_ns step_end(study *s, const pp_timeline *timeline)
{
    const pp_program *program = s->subject->program;
    for (uint32_t r = 0; r < program->ranks; r++) {
        size_t end = program->rank_begin[r + 1];
        s->last_end_ns[r] = end > program->rank_begin[r] ? timeline->end_ns[end - 1] : 0;
    }
    return pp_step_tail_step_end(s->subject->costs, s->last_end_ns, s->subject->step_sync,
                                 s->subject->chained);
}

/* Finds the ranks whose end decides the end of the step: it is the latest of sums, one per rank, of
 * the end of the rank and of what follows it. */
static void find_critical(study *s)
{
    pp_ns step_ns = step_end(s, s->subject->timeline);
    for (uint32_t r = 0; r < s->subject->program->ranks; r++) {
        s->last_end_ns[r]++;
        s->critical[r] =
            pp_step_tail_step_end(s->subject->costs, s->last_end_ns, s->subject->step_sync,
                                  s->subject->chained) > step_ns;
        s->last_end_ns[r]--;
    }
}

/* What decided the start of instruction i. */
typedef struct causes {
    bool before, source; /* the op before it on its rank; the arrival of its input */
} causes;

static causes causes_of(const study *s, uint32_t i)
{
    const pp_program *program = s->subject->program;
    const pp_timeline *timeline = s->subject->timeline;
    uint32_t source = program->source[i];
    pp_ns start_ns = timeline->start_ns[i];
    bool first = i == program->rank_begin[s->links.rank_of[i]];
    return (causes){
        .before = !first && timeline->end_ns[i - 1] == start_ns,
        .source =
            source != PP_NO_SOURCE &&
            timeline->end_ns[source] + pp_edge_latency(program, s->subject->costs, i) == start_ns,
    };
}

static void keep_larger(uint32_t *restrict to, const uint32_t *restrict from, size_t width)
{
    for (size_t k = 0; k < width; k++)
        to[k] = from[k] > to[k] ? from[k] : to[k];
}

/* Counts along all critical paths at once. Returns false when the timeline has other causes than
 * dependencies. */
static bool count_paths(study *s)
{
    const pp_program *program = s->subject->program;
    for (size_t k = 0; k < program->count; k++) {
        uint32_t i = program->topological_order[k];
        const pp_jitter_step *step = &s->tape.step[k];
        uint32_t *own = s->count + step->row * s->width;
        const causes why = causes_of(s, i);
        if (!why.before && !why.source && s->subject->timeline->start_ns[i] != 0)
            return false;
        memset(own, 0, s->width * sizeof *own);
        if (why.source) {
            memcpy(own, s->count + step->source * s->width, s->width * sizeof *own);
            if (step->link < s->links.count)
                own[program->stages + step->link]++;
        }
        if (why.before)
            keep_larger(own, s->count + step->before * s->width, s->width);
        own[program->op[i].stage]++;
    }
    for (uint32_t r = 0; r < program->ranks; r++) {
        const uint32_t *last = s->count + s->tape.last_row[r] * s->width;
        for (size_t k = 0; s->critical[r] && k < s->width; k++)
            s->row[k].growth = last[k] > s->row[k].growth ? last[k] : s->row[k].growth;
    }
    return true;
}

/* Follows one critical path from its end. If several ranks are critical, it takes the lowest. If
 * both causes of a start are critical, it follows the previous op on the same rank. Returns the
 * time at which the path ends. */
static pp_ns trace_path(study *s)
{
    const pp_program *program = s->subject->program;
    const pp_timeline *timeline = s->subject->timeline;
    uint32_t rank = 0;
    while (rank + 1 < program->ranks && !s->critical[rank])
        rank++;
    if (program->rank_begin[rank] == program->rank_begin[rank + 1])
        return 0;
    uint32_t i = (uint32_t)program->rank_begin[rank + 1] - 1;
    pp_ns end_ns = timeline->end_ns[i];
    for (;;) {
        pp_sensitivity_row *stage = &s->row[program->op[i].stage];
        stage->path_count++;
        stage->path_ns += timeline->end_ns[i] - timeline->start_ns[i];
        const causes why = causes_of(s, i);
        if (why.before) {
            i--;
            continue;
        }
        if (!why.source)
            return end_ns;
        if (s->links.of[i] < s->links.count) {
            pp_sensitivity_row *link = &s->row[program->stages + s->links.of[i]];
            link->path_count++;
            link->path_ns += pp_edge_latency(program, s->subject->costs, i);
        }
        i = program->source[i];
    }
}

/* Adds `change` to every op of a stage, or every transfer of a link. */
static void shift(const study *s, size_t k, pp_ns change, pp_costs *costs)
{
    const pp_program *program = s->subject->program;
    if (k < program->stages) {
        pp_ns *tables[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns, costs->pair_ns };
        for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
            for (uint32_t c = 0; c < costs->classes; c++) {
                pp_ns *cell = &tables[t][(size_t)c * costs->stages + k];
                *cell += tables[t] == costs->pair_ns && !*cell ? 0 : change;
            }
        }
        return;
    }
    for (size_t i = 0; i < program->count; i++) {
        if (s->links.of[i] != k - program->stages)
            continue;
        pp_op sender = program->op[program->source[i]];
        pp_ns *sends = program->op[i].kind == PP_OP_F ? costs->send_f_ns : costs->send_b_ns;
        sends[pp_cost_index(costs, sender.stage, sender.microbatch)] += change;
    }
}

/* Keeps every overlapped pair at least as long as its backward, which `shift` may have made
 * longer. */
static void stretch_pairs(const pp_program *program, pp_costs *costs)
{
    for (size_t i = 0; costs->has_pairs && i < program->count; i++) {
        if (!pp_pair_starts(program, costs, i))
            continue;
        pp_op forward = program->op[pp_pair_forward(program, i)];
        pp_op backward = program->op[pp_pair_backward(program, i)];
        pp_ns back_ns = costs->b_ns[pp_cost_index(costs, backward.stage, backward.microbatch)];
        pp_ns *pair_ns = &costs->pair_ns[pp_cost_index(costs, forward.stage, forward.microbatch)];
        *pair_ns = *pair_ns && *pair_ns < back_ns ? back_ns : *pair_ns;
    }
}

static pp_status take_differences(study *s, pp_err *err)
{
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_costs *given PP_CLEANUP(pp_costs_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    const pp_ns step_ns = step_end(s, s->subject->timeline);
    pp_status status = pp_costs_spread(s->subject->costs, &costs, err);
    if (status || (status = pp_costs_spread(s->subject->costs, &given, err)) ||
        (status = pp_timeline_new_comm(s->subject->program, &timeline, err)))
        return status;
    const size_t cells = (size_t)costs->classes * costs->stages;
    for (size_t k = 0; k < s->width && !status; k++) {
        shift(s, k, 1, costs);
        stretch_pairs(s->subject->program, costs);
        status = pp_simulate_into(s->subject->program, costs, timeline, err);
        shift(s, k, -1, costs);
        memcpy(costs->pair_ns, given->pair_ns, cells * sizeof *costs->pair_ns);
        if (!status)
            s->row[k].growth = step_end(s, timeline) - step_ns;
    }
    return status;
}

/* has_path_out: false when the timeline has other causes than dependencies. */
static pp_status follow_paths(study *s, bool *has_path_out, pp_ns *path_end_out, pp_err *err)
{
    pp_status status = pp_jitter_tape_new(s->subject, &s->links, 0, &s->tape, err);
    if (status)
        return status;
    s->count = pp_alloc_array(s->tape.rows, s->width * sizeof *s->count);
    if (!s->count)
        return pp_err_nomem(err);
    find_critical(s);
    *has_path_out = count_paths(s);
    if (*has_path_out)
        *path_end_out = trace_path(s);
    return PP_OK;
}

static int by_growth(const void *a, const void *b)
{
    const pp_sensitivity_row *x = a;
    const pp_sensitivity_row *y = b;
    if (x->growth != y->growth)
        return x->growth > y->growth ? -1 : 1;
    if (x->is_link != y->is_link)
        return x->is_link ? 1 : -1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->second < y->second ? -1 : x->second > y->second;
}

pp_status pp_sensitivity_study(const pp_jitter_subject *subject, pp_sensitivity **sensitivity_out,
                               pp_err *err)
{
    study s PP_CLEANUP(study_free) = { .subject = subject };
    pp_sensitivity *out PP_CLEANUP(pp_sensitivity_free) = pp_alloc_array(1, sizeof *out);
    if (!out)
        return pp_err_nomem(err);
    pp_status status = study_new(subject, &s, err);
    if (!status && !subject->program->comm && !(pp_pairs_overlap(subject->program, subject->costs)))
        status = follow_paths(&s, &out->has_path, &out->path_end_ns, err);
    if (!status && !out->has_path)
        status = take_differences(&s, err);
    if (status)
        return status;
    qsort(s.row, s.width, sizeof *s.row, by_growth);
    out->count = s.width;
    out->row = s.row;
    s.row = NULL; /* the result's now */
    *sensitivity_out = out;
    out = NULL; /* the caller's now */
    return PP_OK;
}
