/* Packing compared with the best of all packings if these can be enumerated, and its guarantees. */
#include "planner/study/pack_pipeline.h"
#include "tests/support/planning.h"

#include <string.h>

enum { LENGTHS_MOST = 400 };

typedef struct setting {
    planning p;
    pp_plan_request request;
    int64_t lengths[LENGTHS_MOST];
    pp_packer *packer;
} setting;

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* Mostly short ones, and a tail up to `longest`. */
static void draw_lengths(uint64_t seed, size_t count, int64_t longest, int64_t *lengths)
{
    for (size_t i = 0; i < count; i++) {
        int64_t n = 16 + (int64_t)draw(&seed, (uint64_t)longest - 15);
        for (uint64_t k = draw(&seed, 4); k > 0; k--)
            n = n / 2 + 1;
        lengths[i] = n;
    }
}

static void open_setting(setting *s, int64_t pp, int64_t dp, const char *schedule, size_t count,
                         uint64_t seed)
{
    pp_err err = { 0 };
    s->p = planning_of("gpt3.6b", "h100-80g");
    s->request = request_of(&s->p, pp);
    draw_lengths(seed, count, 2048, s->lengths);
    s->request.parallel.tp = 1;
    s->request.parallel.dp = dp;
    s->request.parallel.vpp = 0;
    s->request.seq_length = 2048;
    s->request.micro_batch_size = 1;
    s->request.global_batch_size = 0;
    s->request.lengths = s->lengths;
    s->request.length_count = count;
    s->request.schedule = pp_schedule_find(schedule);
    ck_assert_msg(pp_packer_open(&s->request, &s->packer, &err) == PP_OK, "%s", err.text);
}

static pp_pack_task task_of(const setting *s, int64_t iterations)
{
    return (pp_pack_task){ .lengths = s->lengths,
                           .count = s->request.length_count,
                           .packings = { true, true, true, true },
                           .iterations = iterations };
}

static pp_packed *pack(setting *s, const pp_pack_task *task)
{
    pp_packed *packed = NULL;
    pp_err err = { 0 };
    ck_assert_msg(pp_pack(s->packer, task, &packed, &err) == PP_OK, "%s", err.text);
    return packed;
}

/* ---- against all packings ------------------------------------------------------------------- */

typedef struct counting {
    setting *s;
    uint32_t bin_of[8];
    uint32_t microbatches, replicas;
    pp_ns best_ns;
} counting;

static void judge_one(counting *c)
{
    bool used[8] = { false };
    int64_t tokens[8] = { 0 };
    for (size_t i = 0; i < c->s->request.length_count; i++) {
        used[c->bin_of[i]] = true;
        tokens[c->bin_of[i]] += c->s->lengths[i];
    }
    for (uint32_t j = 0; j < c->microbatches * c->replicas; j++) {
        if (!used[j] || tokens[j] > 2048)
            return;
    }
    pp_grouping grouping PP_CLEANUP(pp_grouping_free) = { 0 };
    pp_pack_verdict verdict;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_grouping_from_bins(c->bin_of, c->s->request.length_count, c->replicas,
                                           c->microbatches, &grouping, &err),
                     PP_OK);
    ck_assert_int_eq(pp_pack_judge(c->s->packer, c->s->lengths, &grouping, &verdict, &err), PP_OK);
    if (verdict.short_bytes <= 0 && (!c->best_ns || verdict.step_ns < c->best_ns))
        c->best_ns = verdict.step_ns;
}

static void count_all(counting *c, size_t i)
{
    if (i == c->s->request.length_count) {
        judge_one(c);
        return;
    }
    for (uint32_t j = 0; j < c->microbatches * c->replicas; j++) {
        c->bin_of[i] = j;
        count_all(c, i + 1);
    }
}

/* No packing of six sequences, in any order and number of microbatches, on one replica or two, is
 * below the bound, or more than 1 % below the result. */
START_TEST(the_best_of_all_packings_is_found)
{
    static const char *const schedules[] = { "1f1b", "zb-h1", "gpipe" };
    setting s = { .packer = NULL };
    const uint32_t dp = 1 + (uint32_t)_i % 2;
    open_setting(&s, 2, dp, schedules[_i % 3], 6, (uint64_t)_i);
    pp_pack_task task = task_of(&s, 300);
    pp_packed *packed = pack(&s, &task);
    counting c = { .s = &s, .replicas = dp };
    for (c.microbatches = 1; c.microbatches <= 6 / dp; c.microbatches++)
        count_all(&c, 0);
    const pp_ns found = packed->row[packed->best].step_ns;
    ck_assert_int_ge(found, c.best_ns);
    ck_assert_int_ge(c.best_ns, packed->bound.step_ns);
    ck_assert_msg((double)found <= 1.01 * (double)c.best_ns, "%lld, best %lld", (long long)found,
                  (long long)c.best_ns);
    pp_packed_free(&packed);
    pp_packer_close(&s.packer);
}
END_TEST

/* ---- promises ------------------------------------------------------------------------------- */

/* Each sequence occurs once, no microbatch is empty or too full, and all replicas have the same
 * number. */
static void check_grouping(const setting *s, const pp_packed *packed)
{
    const pp_grouping *g = &packed->grouping;
    bool seen[LENGTHS_MOST] = { false };
    ck_assert_uint_eq(g->count, s->request.length_count);
    ck_assert_uint_eq(g->microbatches, packed->row[packed->best].microbatches);
    for (size_t b = 0; b < (size_t)g->replicas * g->microbatches; b++) {
        pp_microbatch sums = pp_grouping_bin(g, s->lengths, b);
        ck_assert_uint_ge(sums.count, 1);
        ck_assert_int_le(sums.tokens, pp_packer_capacity(s->packer));
    }
    ck_assert_uint_eq(g->end[(size_t)g->replicas * g->microbatches - 1], g->count);
    for (size_t i = 0; i < g->count; i++) {
        ck_assert(!seen[g->sequence[i]]);
        seen[g->sequence[i]] = true;
    }
}

START_TEST(first_fit_is_never_better)
{
    static const struct {
        int64_t pp, dp;
        const char *schedule;
        size_t count;
    } rows[] = { { 2, 1, "1f1b", 30 },         { 4, 2, "1f1b", 120 },    { 4, 1, "zb-h1", 64 },
                 { 2, 4, "interleaved", 150 }, { 8, 1, "zbv", 200 },     { 5, 3, "gpipe", 90 },
                 { 1, 2, "1f1b", 40 },         { 3, 1, "eager-1f1b", 3 } };
    setting s = { .packer = NULL };
    open_setting(&s, rows[_i].pp, rows[_i].dp, rows[_i].schedule, rows[_i].count, (uint64_t)_i);
    pp_pack_task task = task_of(&s, 50);
    pp_packed *packed = pack(&s, &task);
    const pp_pack_row *best = &packed->row[packed->best];
    check_grouping(&s, packed);
    ck_assert(best->fits);
    ck_assert_int_le(best->peak_bytes, pp_packer_memory_limit(s.packer));
    ck_assert_uint_ne(packed->today, SIZE_MAX);
    ck_assert_int_le(best->step_ns, packed->row[packed->today].step_ns);
    for (size_t i = 0; i < packed->count; i++)
        ck_assert(!packed->row[i].step_ns || packed->row[i].step_ns >= packed->bound.step_ns);
    pp_packed_free(&packed);
    pp_packer_close(&s.packer);
}
END_TEST

/* The finding of docs/explanation: equal microbatches beat first fit, and light ends beat equal
 * ones. */
START_TEST(light_ends_beat_equal_microbatches)
{
    setting s = { .packer = NULL };
    open_setting(&s, 8, 1, "1f1b", 300, 3);
    pp_pack_task task = task_of(&s, 0);
    pp_packed *packed = pack(&s, &task);
    pp_ns best[PP_PACKING_COUNT] = { 0 };
    for (size_t i = 0; i < packed->count; i++) {
        pp_ns *ns = &best[packed->row[i].method.packing];
        if (packed->row[i].fits && (!*ns || packed->row[i].step_ns < *ns))
            *ns = packed->row[i].step_ns;
    }
    ck_assert_int_lt(best[PP_PACKING_EQUAL], packed->row[packed->today].step_ns);
    ck_assert_int_lt(best[PP_PACKING_RAMPED], best[PP_PACKING_EQUAL]);
    pp_packed_free(&packed);
    pp_packer_close(&s.packer);
}
END_TEST

/* Six sequences of 1500 tokens and six of 500. With six bins, each has one of either length, so the
 * replicas are alike, and no packing is faster than the best of all. */
START_TEST(two_sizes_are_paired)
{
    setting s = { .packer = NULL };
    pp_err err = { 0 };
    open_setting(&s, 2, 2, "1f1b", 12, 1);
    for (size_t i = 0; i < 12; i++)
        s.lengths[i] = i < 6 ? 1500 : 500;
    pp_pack_task task = task_of(&s, 100);
    task.packings[PP_PACKING_GIVEN] = task.packings[PP_PACKING_RAMPED] = false;
    pp_packed *packed = pack(&s, &task);
    const pp_pack_row *row = NULL;
    for (size_t i = 0; i < packed->count; i++) {
        if (packed->row[i].method.packing == PP_PACKING_EQUAL && packed->row[i].microbatches == 3)
            row = &packed->row[i];
    }
    ck_assert_ptr_nonnull(row);
    ck_assert_int_eq(row->mean_step_ns, row->step_ns);
    uint32_t bin_of[12];
    pp_grouping paired PP_CLEANUP(pp_grouping_free) = { 0 };
    pp_pack_verdict verdict;
    for (uint32_t i = 0; i < 12; i++)
        bin_of[i] = i % 6;
    ck_assert_int_eq(pp_grouping_from_bins(bin_of, 12, 2, 3, &paired, &err), PP_OK);
    ck_assert_int_eq(pp_pack_judge(s.packer, s.lengths, &paired, &verdict, &err), PP_OK);
    ck_assert_int_eq(row->step_ns, verdict.step_ns);
    ck_assert_int_le(packed->row[packed->best].step_ns, verdict.step_ns);
    pp_packed_free(&packed);
    pp_packer_close(&s.packer);
}
END_TEST

/* With a limit on ops, the result is first fit and what was found by then. */
START_TEST(ops_limit_the_work)
{
    setting s = { .packer = NULL };
    open_setting(&s, 4, 2, "1f1b", 200, 5);
    pp_pack_task task = task_of(&s, 0);
    int64_t before = 0;
    for (task.ops_most = 1; task.ops_most <= 1000000; task.ops_most *= 100) {
        pp_packed *packed = pack(&s, &task);
        ck_assert_uint_ne(packed->today, SIZE_MAX);
        ck_assert_int_le(packed->row[packed->best].step_ns, packed->row[packed->today].step_ns);
        ck_assert_int_ge(packed->simulated, before);
        before = packed->simulated;
        pp_packed_free(&packed);
    }
    pp_packer_close(&s.packer);
}
END_TEST

/* One microbatch of one sequence: no move is legal, and a limit on ops still ends the search. */
START_TEST(it_ends_where_nothing_can_move)
{
    setting s = { .packer = NULL };
    open_setting(&s, 2, 1, "1f1b", 1, 1);
    pp_pack_task task = task_of(&s, 0);
    task.ops_most = 100000;
    pp_packed *packed = pack(&s, &task);
    ck_assert_uint_eq(packed->row[packed->best].microbatches, 1);
    pp_packed_free(&packed);
    pp_packer_close(&s.packer);
}
END_TEST

START_TEST(equal_tasks_give_equal_answers)
{
    setting s = { .packer = NULL };
    open_setting(&s, 4, 2, "1f1b", 60, 11);
    pp_pack_task task = task_of(&s, 200);
    pp_packed *a = pack(&s, &task);
    pp_packed *b = pack(&s, &task);
    ck_assert_uint_eq(a->count, b->count);
    ck_assert_int_eq(a->row[a->best].step_ns, b->row[b->best].step_ns);
    ck_assert_mem_eq(a->grouping.sequence, b->grouping.sequence,
                     a->grouping.count * sizeof *a->grouping.sequence);
    pp_packed_free(&a);
    pp_packed_free(&b);
    pp_packer_close(&s.packer);
}
END_TEST

/* The step that is found equals the one that `ppsim plan` simulates for the same microbatches,
 * padded to the longest of all replicas or not. */
START_TEST(plan_takes_the_same_time)
{
    setting s = { .packer = NULL };
    pp_err err = { 0 };
    open_setting(&s, 3, 2, "1f1b", 60, 5);
    pp_packer_close(&s.packer);
    s.request.partition = PP_PARTITION_UNIFORM; /* a balanced one depends on the microbatches */
    s.request.exchange.shapes.kind = _i ? PP_SIZES_PADDED : PP_SIZES_PLAN;
    ck_assert_int_eq(pp_packer_open(&s.request, &s.packer, &err), PP_OK);
    pp_pack_task task = task_of(&s, 100);
    pp_packed *packed = pack(&s, &task);
    const pp_grouping *g = &packed->grouping;
    int64_t lengths[LENGTHS_MOST];
    size_t end[LENGTHS_MOST];
    size_t next = 0;
    for (size_t k = 0; k < (size_t)g->microbatches * 2; k++) {
        const size_t bin = k % 2 * g->microbatches + k / 2;
        for (size_t i = bin ? g->end[bin - 1] : 0; i < g->end[bin]; i++)
            lengths[next++] = s.lengths[g->sequence[i]];
        end[k] = next;
    }
    pp_plan_request request = s.request;
    request.lengths = lengths;
    request.group_end = end;
    request.group_count = (size_t)g->microbatches * 2;
    request.switches.given.recompute = true;
    request.switches.value.recompute = pp_packer_pipeline(s.packer)->recompute;
    pp_search_result *choice = choose(&request);
    ck_assert_uint_eq(choice->plan->workload.microbatches, g->microbatches);
    ck_assert_int_eq(choice->candidate[0].peak_bytes, packed->row[packed->best].peak_bytes);
    ck_assert_int_eq(choice->plan->prediction->step_ns, packed->row[packed->best].step_ns);
    pp_search_result_free(&choice);
    pp_packed_free(&packed);
    pp_packer_close(&s.packer);
}
END_TEST

/* With less memory than first fit needs, another packing is found or the shortfall is reported. */
START_TEST(the_memory_limit_holds)
{
    setting s = { .packer = NULL };
    open_setting(&s, 4, 1, "gpipe", 60, 8);
    pp_pack_task task = task_of(&s, 100);
    pp_packed *packed = pack(&s, &task);
    const int64_t peak = packed->row[packed->today].peak_bytes;
    pp_packed_free(&packed);
    pp_err err = { 0 };
    for (int64_t less = 1; less < peak / 4; less *= 32) {
        s.packer->request.memory_limit_bytes = peak - less;
        STEP_OK(pp_search_continue(&s.packer->search, &s.packer->request, &err), err);
        pp_status status = pp_pack(s.packer, &task, &packed, &err);
        ck_assert(status == PP_OK || status == PP_INFEASIBLE);
        if (status)
            ck_assert_ptr_nonnull(strstr(err.text, "short by"));
        else
            ck_assert_int_le(packed->row[packed->best].peak_bytes, peak - less);
        pp_packed_free(&packed);
    }
    pp_packer_close(&s.packer);
}
END_TEST

/* Twenty short batches after one long one: the pipeline that is chosen for the first batch alone
 * takes at least as long for all of them. */
START_TEST(a_pipeline_is_chosen_for_all_batches)
{
    setting s = { .packer = NULL };
    pp_err err = { 0 };
    open_setting(&s, 4, 1, "1f1b", 32, 2);
    pp_packer_close(&s.packer);
    for (size_t i = 0; i < 6 * 32; i++)
        s.lengths[i] = i < 32 ? 2048 : 64 + (int64_t)(i * 97 % 400);
    s.request.schedule = NULL;
    pp_pack_batches batches = {
        .lengths = s.lengths, .size = 32, .count = 6, .packings = { true, true, true, true }
    };
    pp_packer *both[2] = { NULL };
    ck_assert_msg(pp_packer_open(&s.request, &both[0], &err) == PP_OK, "%s", err.text);
    ck_assert_msg(pp_packer_open_for(&s.request, &batches, &both[1], &err) == PP_OK, "%s",
                  err.text);
    double total[2] = { 0 };
    for (int k = 0; k < 2; k++) {
        for (size_t b = 0; b < batches.count; b++) {
            pp_pack_task task = { .lengths = s.lengths + 32 * b,
                                  .count = 32,
                                  .packings = { true, true, true, true },
                                  .coarse = true,
                                  .ops_most = 200000 };
            pp_packed *packed = NULL;
            ck_assert_int_eq(pp_pack(both[k], &task, &packed, &err), PP_OK);
            total[k] += pp_candidate_score(&both[k]->candidate, packed->row[packed->best].step_ns);
            pp_packed_free(&packed);
        }
        pp_packer_close(&both[k]);
    }
    ck_assert_msg(total[1] < total[0], "%.0f, of the first batch's %.0f", total[1], total[0]);
}
END_TEST

/* If a link is slow, layers are shifted, for many batches as for one. */
START_TEST(equal_batches_take_the_step_of_one)
{
    setting s = { .packer = NULL };
    pp_err err = { 0 };
    pp_rank_override slow = { .kind = PP_RANK_OVERRIDE_LINK, .rank = 2, .other = 3, .value = 1e9 };
    const pp_rank_overrides overrides = { .item = &slow, .count = 1 };
    open_setting(&s, 4, 1, "1f1b", 16, 2);
    pp_packer_close(&s.packer);
    for (size_t i = 0; i < 32; i++)
        s.lengths[i] = i < 16 ? 1024 + 64 * (int64_t)i : s.lengths[i - 16];
    s.request.overrides = &overrides;
    pp_ns step_ns[2];
    for (size_t count = 1; count <= 2; count++) {
        pp_pack_batches batches = {
            .lengths = s.lengths, .size = 16, .count = count, .packings = { true, true }
        };
        pp_pack_task task = task_of(&s, 100);
        task.count = 16;
        ck_assert_msg(pp_packer_open_for(&s.request, &batches, &s.packer, &err) == PP_OK, "%s",
                      err.text);
        ck_assert_int_eq(pp_packer_pipeline(s.packer)->partition, PP_PARTITION_SHIFTED);
        pp_packed *packed = pack(&s, &task);
        step_ns[count - 1] = packed->row[packed->best].step_ns;
        pp_packed_free(&packed);
        pp_packer_close(&s.packer);
    }
    ck_assert_int_eq(step_ns[0], step_ns[1]);
}
END_TEST

START_TEST(what_cannot_be_packed_is_refused)
{
    setting s = { .packer = NULL };
    open_setting(&s, 2, 2, "1f1b", 8, 1);
    pp_pack_task task = task_of(&s, 0);
    pp_packed *packed = NULL;
    pp_err err = { 0 };
    s.lengths[3] = 2049;
    ck_assert_int_eq(pp_pack(s.packer, &task, &packed, &err), PP_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "2049"));
    s.lengths[3] = 0;
    ck_assert_int_eq(pp_pack(s.packer, &task, &packed, &err), PP_INPUT);
    task.count = 1; /* for two replicas */
    ck_assert_int_eq(pp_pack(s.packer, &task, &packed, &err), PP_USAGE);
    ck_assert_ptr_null(packed);
    pp_packer_close(&s.packer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pack");
    TCase *tc = tcase_create("pack");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, the_best_of_all_packings_is_found, 0, 12);
    tcase_add_loop_test(tc, first_fit_is_never_better, 0, 8);
    tcase_add_test(tc, light_ends_beat_equal_microbatches);
    tcase_add_test(tc, equal_tasks_give_equal_answers);
    tcase_add_test(tc, two_sizes_are_paired);
    tcase_add_test(tc, ops_limit_the_work);
    tcase_add_test(tc, it_ends_where_nothing_can_move);
    tcase_add_loop_test(tc, plan_takes_the_same_time, 0, 2);
    tcase_add_test(tc, the_memory_limit_holds);
    tcase_add_test(tc, a_pipeline_is_chosen_for_all_batches);
    tcase_add_test(tc, equal_batches_take_the_step_of_one);
    tcase_add_test(tc, what_cannot_be_packed_is_refused);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
