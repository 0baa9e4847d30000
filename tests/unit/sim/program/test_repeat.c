/* Several runs of one schedule per step: closed forms of their time and memory, and the steps of
 * each rank. */
#include "sim/analysis/memory.h"
#include "sim/framework/registry.h"
#include "sim/program/comm.h"
#include "tests/support/step.h"

/* Lowers the step's order and repeats it. */
static void repeat(const char *framework, int64_t runs, step *s)
{
    const pp_framework *found = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_framework_get(framework, &found, &err), err);
    STEP_OK(pp_framework_lower(found, s->order, s->costs, NULL, &s->program, &err), err);
    STEP_OK(pp_framework_repeat(found, s->order, runs, &s->program, &err), err);
}

static step run(const char *framework, const char *schedule, uint32_t p, uint32_t each,
                uint32_t runs, const char *costs)
{
    step s = { .order = step_order(schedule, p, 1, each, 0) };
    s.costs = step_costs(costs, p, 1, each * runs);
    repeat(framework, runs, &s);
    return s;
}

static void simulate(step *s)
{
    pp_err err = { 0 };
    STEP_OK(pp_simulate(s->program, s->costs, &s->timeline, &err), err);
}

static const char *const frameworks[] = { "ideal", "torch", "torch-defer-recv", "torch-2.15" };
static const char *const schedules[] = { "gpipe", "1f1b" };

/* A run of m' microbatches ends on rank 0, whose last op is the backward of the first stage, after
 * (m' + p - 1)(f + b): it computes m' (f + b), and waits (p - 1)(f + b) for the others, in gpipe
 * once for (p - 1)(f + b) between F and B, in 1f1b in parts that sum to the same. Rank 0 begins the
 * next run then; the others are done and waiting, since rank r ends r b earlier. So every run takes
 * that long, and R runs take R (m' + p - 1)(f + b), where one of all R m' microbatches would take
 * (R m' + p - 1)(f + b). Links take no time. */
START_TEST(runs_take_as_long_as_that_many_pipelines)
{
    const uint32_t p = (uint32_t)_i;
    for (size_t k = 0; k < 4; k++) {
        for (size_t n = 0; n < 2; n++) {
            for (uint32_t each = p; each <= p + 3; each++) {
                for (uint32_t runs = 1; runs <= 4; runs++) {
                    step s PP_CLEANUP(step_free) =
                        run(frameworks[k], schedules[n], p, each, runs, "F=7ns,B=11ns");
                    simulate(&s);
                    ck_assert_uint_eq(s.program->microbatches, each * runs);
                    ck_assert_int_eq(pp_timeline_makespan(s.timeline),
                                     (pp_ns)runs * (each + p - 1) * 18);
                }
            }
        }
    }
}
END_TEST

/* With sharded parameters every rank gathers (u) when it begins a run, and rank 0, which computes
 * first, waits for that in each run. The others have gathered by then: in the first run they begin
 * at the same time as rank 0 and get their first input later, and rank r is done with a run r b
 * before rank 0. After its last backward of a run a rank reduces (d), and waits for that if another
 * run follows; what follows the last op is the end of the step. So the makespan is
 * R (u + (m' + p - 1)(f + b)) + (R - 1) d. */
START_TEST(every_run_gathers_and_reduces)
{
    const uint32_t p = (uint32_t)_i;
    for (size_t k = 1; k < 4; k++) {
        for (size_t n = 0; n < 2; n++) {
            for (uint32_t runs = 1; runs <= 3; runs++) {
                step s PP_CLEANUP(step_free) =
                    run(frameworks[k], schedules[n], p, p + 1, runs, "F=7ns,B=11ns");
                uint32_t gathers = 0, reductions = 0;
                s.costs->sharded = true;
                for (uint32_t stage = 0; stage < p; stage++) {
                    s.costs->unshard_ns[stage] = 5;
                    s.costs->reduce_grad_ns[stage] = 3;
                }
                simulate(&s);
                ck_assert_int_eq(pp_timeline_makespan(s.timeline),
                                 (pp_ns)runs * (5 + (2 * p) * 18) + (runs - 1) * 3);
                for (size_t i = 0; i < s.timeline->comm->sharding_count; i++) {
                    gathers += !s.timeline->comm->sharding[i].reduces;
                    reductions += s.timeline->comm->sharding[i].reduces;
                }
                ck_assert_uint_eq(gathers, p * runs);
                ck_assert_uint_eq(reductions, p * runs);
            }
        }
    }
}
END_TEST

/* The steps of a rank are those of one run, R times, each with the next microbatches. Without steps
 * that wait for a send (PyTorch 2.13) the rank waits for all of them between two runs. */
START_TEST(ranks_repeat_their_steps)
{
    const uint32_t each = 4, runs = 3;
    for (size_t k = 1; k < 4; k++) {
        step once PP_CLEANUP(step_free) = run(frameworks[k], "1f1b", 4, each, 1, "F=7ns,B=11ns");
        step all PP_CLEANUP(step_free) = run(frameworks[k], "1f1b", 4, each, runs, "F=7ns,B=11ns");
        const pp_comm *a = once.program->comm, *b = all.program->comm;
        ck_assert_uint_eq(b->transfer_count, runs * a->transfer_count);
        for (uint32_t r = 0; r < 4; r++) {
            size_t s = b->step_begin[r], waits = 0;
            for (uint32_t n = 0; n < runs; n++) {
                for (size_t i = a->step_begin[r]; i < a->step_begin[r + 1]; i++, s++) {
                    ck_assert_uint_eq(b->step[s].kind, a->step[i].kind);
                    if (a->step[i].kind == PP_COMM_STEP_MARK) {
                        ck_assert_uint_eq(b->step[s].mark, a->step[i].mark);
                        ck_assert_uint_eq(b->step[s].index, a->step[i].index);
                    } else if (a->step[i].kind == PP_COMM_STEP_RUN) {
                        const pp_op x = once.program->op[a->step[i].index];
                        const pp_op y = all.program->op[b->step[s].index];
                        ck_assert_uint_eq(y.microbatch, x.microbatch + n * each);
                        ck_assert(y.kind == x.kind && y.stage == x.stage);
                    } else {
                        const pp_transfer *x = &a->transfer[a->group[a->step[i].index].first];
                        const pp_transfer *y = &b->transfer[b->group[b->step[s].index].first];
                        ck_assert_uint_eq(y->microbatch, x->microbatch + n * each);
                        ck_assert(y->kind == x->kind && y->stage == x->stage && y->rank == r);
                    }
                }
                for (; s < b->step_begin[r + 1] && b->step[s].kind == PP_COMM_STEP_WAIT; s++)
                    waits++;
            }
            ck_assert_uint_eq(s, b->step_begin[r + 1]);
            /* each inner rank sends activations and gradients, the others one of them */
            const uint32_t sends = (r == 0 || r == 3 ? 1 : 2) * each;
            ck_assert_uint_eq(waits, k == 3 ? 0 : (runs - 1) * sends);
        }
    }
}
END_TEST

/* Costs with bytes of every kind. */
static void add_bytes(pp_costs *costs)
{
    costs->has_memory = costs->sharded = true;
    for (uint32_t s = 0; s < costs->stages; s++) {
        costs->activation_bytes[s] = 1000;
        costs->message_bytes[s] = 10;
        costs->output_bytes[s] = s + 1 == costs->stages ? 100 : 0;
        costs->gathered_bytes[s] = 20000;
        costs->whole_gradient_bytes[s] = 40000;
        costs->gradient_shard_bytes[s] = 5000;
    }
}

/* gpipe on the middle rank of 3. When the first backward of a run begins, it holds the activations
 * of the m' microbatches, the gathered parameters, whole gradients and, after the first run, the
 * shards of those of earlier runs, to which those of this one are added. Under PyTorch 2.13 there
 * are receive buffers for the inputs and the gradients of m' microbatches, which all runs use, and
 * the inputs are counted as activations while their forward and backward are not over (all m' of
 * them then); every send is kept to the end of its run: m' activations. When the last backward
 * begins, m' - 1 activations less, but as many inputs and gradients more, are held: that is less,
 * since activations are larger. The last rank keeps its outputs until the next run begins; its peak
 * is in its first backward, with its receives, and no outputs yet, as they come with B. */
START_TEST(memory_of_runs_meets_its_closed_form)
{
    for (uint32_t each = 1; each <= 6; each++) {
        for (uint32_t runs = 1; runs <= 3; runs++) {
            step s PP_CLEANUP(step_free) = run("torch", "gpipe", 3, each, runs, "F=7ns,B=11ns");
            pp_memory_peak peak;
            pp_err err = { 0 };
            add_bytes(s.costs);
            simulate(&s);
            STEP_OK(pp_memory_replay(s.program, s.timeline, s.costs, 1, NULL, NULL, &peak, &err),
                    err);
            ck_assert_int_eq(peak.bytes[PP_MEMORY_ACTIVATIONS], 1000 * (int64_t)each);
            ck_assert_int_eq(peak.bytes[PP_MEMORY_PARAMETERS], 20000);
            ck_assert_int_eq(peak.bytes[PP_MEMORY_GRADIENTS], runs > 1 ? 45000 : 40000);
            ck_assert_int_eq(peak.bytes[PP_MEMORY_RECV_BUFFERS], 10 * (int64_t)each);
            ck_assert_int_eq(peak.bytes[PP_MEMORY_SEND_BUFFERS], 10 * (int64_t)each);
        }
    }
}
END_TEST

/* What is counted at an instant of a rank's memory. */
typedef struct most {
    int64_t bytes[PP_MEMORY_COUNT], last[PP_MEMORY_COUNT];
} most;

static void note_most(void *context, pp_ns at_ns, const int64_t bytes[PP_MEMORY_COUNT])
{
    most *m = context;
    (void)at_ns;
    for (int c = 0; c < PP_MEMORY_COUNT; c++) {
        m->bytes[c] = bytes[c] > m->bytes[c] ? bytes[c] : m->bytes[c];
        m->last[c] = bytes[c];
    }
}

/* Outputs and sends of one run are the most at any time, whatever the number of runs; nothing is
 * left of earlier runs at the end but shards of gradients. */
START_TEST(nothing_but_shards_is_left_between_runs)
{
    for (size_t k = 1; k < 4; k++) {
        for (uint32_t rank = 0; rank < 3; rank++) {
            most one = { .bytes = { 0 } }, three = one;
            for (uint32_t runs = 1; runs <= 3; runs += 2) {
                step s PP_CLEANUP(step_free) =
                    run(frameworks[k], "1f1b", 3, 4, runs, "F=7ns,B=11ns");
                pp_memory_peak peak;
                pp_err err = { 0 };
                add_bytes(s.costs);
                simulate(&s);
                STEP_OK(pp_memory_replay(s.program, s.timeline, s.costs, rank, note_most,
                                         runs == 1 ? &one : &three, &peak, &err),
                        err);
            }
            for (int c = 0; c < PP_MEMORY_COUNT; c++) {
                if (c == PP_MEMORY_GRADIENTS)
                    continue;
                ck_assert_int_eq(three.bytes[c], one.bytes[c]);
                ck_assert_int_eq(three.last[c], one.last[c]);
            }
            ck_assert_int_eq(one.bytes[PP_MEMORY_GRADIENTS], 40000);
            ck_assert_int_eq(three.bytes[PP_MEMORY_GRADIENTS], 45000);
            ck_assert_int_eq(one.bytes[PP_MEMORY_OUTPUTS], rank == 2 ? 400 : 0);
        }
    }
}
END_TEST

START_TEST(others_run_once)
{
    static const char *const refused[] = { "megatron", "deepspeed", "torch-2.6", "ppsim" };
    for (size_t k = 0; k < 4; k++) {
        const pp_framework *found = NULL;
        step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 4, 1, 8, 0) };
        pp_err err = { 0 };
        STEP_OK(pp_framework_get(refused[k], &found, &err), err);
        STEP_OK(pp_framework_lower(found, s.order, NULL, NULL, &s.program, &err), err);
        STEP_OK(pp_framework_repeat(found, s.order, 1, &s.program, &err), err);
        ck_assert_int_eq(pp_framework_repeat(found, s.order, 2, &s.program, &err), PP_USAGE);
        ck_assert_msg(strstr(err.text, "once per step"), "%s", err.text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("repeat");
    TCase *tc = tcase_create("repeat");
    tcase_add_loop_test(tc, runs_take_as_long_as_that_many_pipelines, 1, 7);
    tcase_add_loop_test(tc, every_run_gathers_and_reduces, 2, 7);
    tcase_add_test(tc, ranks_repeat_their_steps);
    tcase_add_test(tc, memory_of_runs_meets_its_closed_form);
    tcase_add_test(tc, nothing_but_shards_is_left_between_runs);
    tcase_add_test(tc, others_run_once);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
