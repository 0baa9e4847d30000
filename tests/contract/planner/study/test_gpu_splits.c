/* A given number of GPUs: the split that is found is the best of all, compared with each split
 * alone. */
#include "planner/candidate/rules.h"
#include "tests/support/planning.h"

#include <math.h>

typedef struct enumeration {
    double best; /* step of the fastest */
    size_t legal, fit;
} enumeration;

static const pp_candidate *row_of(const pp_search_result *choice, const pp_parallel *p)
{
    for (size_t i = 0; i < choice->splits; i++) {
        const pp_parallel *x = &choice->split[i].parallel;
        if (x->pp == p->pp && x->tp == p->tp && x->cp == p->cp && x->dp == p->dp &&
            x->ep == p->ep && x->etp == p->etp)
            return &choice->split[i];
    }
    return NULL;
}

/* Plans the split alone; what the choice reports of it must be true. */
static void look_at(const pp_plan_request *request, const pp_search_result *choice,
                    const pp_parallel *p, enumeration *all)
{
    pp_plan_request one = *request;
    pp_search_result *alone = NULL;
    pp_err err = { 0 };
    pp_rule_broken broken;
    one.parallel = *p;
    one.gpus = 0;
    if (pp_rules_refuse(request, p, &broken)) {
        ck_assert_ptr_null(row_of(choice, p));
        return;
    }
    pp_status status = pp_plan_search(&one, &alone, &err);
    const pp_candidate *row = row_of(choice, p);
    if (status == PP_USAGE) { /* not legal */
        ck_assert_msg(!row, "pp %d tp %d cp %d ep %d: %s", (int)p->pp, (int)p->tp, (int)p->cp,
                      (int)p->ep, err.text);
        return;
    }
    ck_assert_msg(row != NULL, "pp %d tp %d cp %d dp %d ep %d is missing", (int)p->pp, (int)p->tp,
                  (int)p->cp, (int)p->dp, (int)p->ep);
    all->legal++;
    if (row->status == PP_CANDIDATE_OK)
        ck_assert(status == PP_OK && alone->candidate[0].step_ns <= row->step_ns);
    if (row->status == PP_CANDIDATE_INFEASIBLE)
        ck_assert_int_eq(status, PP_INFEASIBLE);
    if (status == PP_OK) {
        pp_ns step_ns = alone->candidate[0].step_ns;
        if (row->status == PP_CANDIDATE_NOT_SIMULATED) {
            ck_assert_int_le(row->least_step_ns, step_ns);
            ck_assert_int_ge(step_ns, choice->plan->prediction->step_ns);
        }
        all->best = fmin(all->best, (double)step_ns);
        all->fit++;
    }
    pp_search_result_free(&alone);
}

static const struct {
    const char *model, *hardware;
    int64_t gpus, pp, seq_length, batch;
    const char *framework; /* that overlaps pairs; NULL: the default */
} cases[] = {
    { "llama3-8b", "h100-80g", 8, 0, 4096, 16, NULL },
    { "llama3-8b", "a100-80g", 12, 0, 2048, 24, NULL },
    { "mixtral-8x7b", "h200-141g", 16, 4, 4096, 32, NULL },
    { "gpt1.7b", "h100-80g", 4, 0, 0, 0, NULL },
    { "qwen3-30b-a3b", "h100-80g", 16, 0, 4096, 128, "megatron-overlap" },
};

START_TEST(the_best_of_all_splits_is_found)
{
    planning p = planning_of(cases[_i].model, cases[_i].hardware);
    pp_plan_request request = request_of(&p, cases[_i].pp);
    request.gpus = cases[_i].gpus;
    request.seq_length = cases[_i].seq_length;
    request.global_batch_size = cases[_i].batch;
    if (cases[_i].framework) {
        request.framework = pp_framework_find(cases[_i].framework);
        request.switches.given.dispatcher = true;
        request.switches.value.dispatcher = PP_DISPATCHER_ALLTOALL;
    }
    pp_search_result *choice = choose(&request);
    request.global_batch_size = choice->plan->global_batch_size;
    enumeration all = { .best = HUGE_VAL };
    const int64_t g = request.gpus;
    pp_parallel x = { 0 };
    for (x.pp = 1; x.pp <= g; x.pp++) {
        for (x.tp = 1; x.tp <= 8 && x.tp * x.pp <= g; x.tp++) {
            for (x.cp = 1; x.cp * x.tp * x.pp <= g; x.cp++) {
                x.dp = g / (x.pp * x.tp * x.cp);
                if (x.pp * x.tp * x.cp * x.dp != g ||
                    (request.parallel.pp && x.pp != request.parallel.pp))
                    continue;
                for (x.etp = 0; x.etp <= (p.model.experts && x.tp > 1); x.etp++) {
                    for (x.ep = 1; x.ep <= (p.model.experts ? g : 1); x.ep++)
                        look_at(&request, choice, &x, &all);
                }
            }
        }
    }
    ck_assert_uint_eq(all.legal, choice->splits);
    ck_assert_uint_ge(all.fit, 2);
    ck_assert_int_eq(choice->plan->prediction->step_ns, (pp_ns)all.best);
    ck_assert_int_eq(pp_parallel_gpus(&choice->plan->parallel), g);
    pp_search_result_free(&choice);
}
END_TEST

/* Thanks to bounds, most of many splits are not examined. */
START_TEST(most_splits_are_pruned)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    pp_plan_request request = request_of(&p, 0);
    request.gpus = 256;
    pp_search_result *choice = choose(&request);
    size_t pruned = 0;
    for (size_t i = 1; i < choice->splits; i++) {
        const pp_candidate *c = &choice->split[i];
        pruned += c->status == PP_CANDIDATE_NOT_SIMULATED;
        if (c->status == PP_CANDIDATE_NOT_SIMULATED)
            ck_assert_int_ge(c->least_step_ns, choice->plan->prediction->step_ns);
        else if (c->status == PP_CANDIDATE_OK)
            ck_assert_int_ge(c->step_ns, choice->plan->prediction->step_ns);
        ck_assert(c->status == PP_CANDIDATE_OK || c->reason.kind);
    }
    ck_assert_uint_gt(2 * pruned, choice->splits);
    ck_assert(!choice->per_gpu);
    pp_search_result_free(&choice);
}
END_TEST

/* Free orders are searched in more splits than the one that is best without them. */
START_TEST(free_orders_can_change_the_split)
{
    planning p = planning_of("gpt7.5b", "h100-80g");
    pp_plan_request request = request_of(&p, 0);
    request.gpus = 64;
    request.seq_length = 2048;
    request.switches.given.zero = true; /* with ZeRO 1, the first split is the best */
    pp_search_result *named = choose(&request);
    request.orders = PP_ORDERS_BETTER;
    pp_search_result *found = choose(&request);
    pp_plan_request one = request;
    one.parallel = named->plan->parallel;
    one.parallel.vpp = 0;
    one.gpus = 0;
    one.global_batch_size = named->plan->global_batch_size;
    pp_search_result *alone = choose(&one);
    ck_assert_int_lt(found->candidate[0].step_ns, alone->candidate[0].step_ns);
    ck_assert_uint_eq(found->splits, named->splits);
    ck_assert_int_eq(found->split[0].step_ns, found->plan->prediction->step_ns);
    for (size_t i = 1; i < found->splits; i++) {
        const pp_candidate *row = &found->split[i];
        ck_assert_ptr_eq(row_of(found, &row->parallel), row); /* once each */
        if (row->status == PP_CANDIDATE_OK)
            ck_assert_int_ge(row->step_ns, found->split[0].step_ns);
    }
    pp_search_result_free(&alone);
    pp_search_result_free(&found);
    pp_search_result_free(&named);
}
END_TEST

START_TEST(a_counted_budget_repeats)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = request_of(&p, 0);
    char *text[2];
    request.gpus = 64;
    request.orders = PP_ORDERS_BETTER;
    request.max_simulations = 600;
    for (uint32_t k = 0; k < 2; k++) {
        request.threads = 1 + 2 * k;
        pp_search_result *choice = choose(&request);
        ck_assert_uint_le(choice->simulated, 600);
        text[k] = plan_text(choice->plan);
        pp_search_result_free(&choice);
    }
    ck_assert_str_eq(text[0], text[1]);
    free(text[0]);
    free(text[1]);
}
END_TEST

/* Another packing gains most where there are few microbatches: first fit alone is fastest with pp
 * 4, but with packings of equal work pp 1 is. */
START_TEST(packings_can_change_the_split)
{
    planning p = planning_of("gpt3.6b", "h100-80g");
    const bool packings[PP_PACKING_COUNT] = { true, true, true, true };
    int64_t lengths[32];
    uint64_t state = 7;
    for (size_t k = 0; k < 32; k++) { /* many short ones, some long ones */
        state = state * 6364136223846793005u + 1442695040888963407u;
        const double u = (double)(state >> 40) / (1 << 24);
        lengths[k] = 16 + (int64_t)(4080 * u * u * u);
    }
    pp_plan_request request = request_of(&p, 0);
    request.lengths = lengths;
    request.length_count = 32;
    request.seq_length = 4096;
    request.global_batch_size = 0;
    request.packings = packings;
    request.orders = PP_ORDERS_NAMED;
    request.gpus = 4;
    pp_search_result *choice = choose(&request);
    for (int64_t pp = 1; pp <= 4; pp *= 2) {
        pp_plan_request one = request;
        one.gpus = 0;
        one.parallel = (pp_parallel){ .pp = pp, .tp = 1, .cp = 1, .dp = 4 / pp, .ep = 1 };
        pp_search_result *alone = choose(&one);
        ck_assert_msg(choice->candidate[0].step_ns <= alone->candidate[0].step_ns,
                      "pp %d: %lld instead of pp %d: %lld", (int)choice->plan->parallel.pp,
                      (long long)choice->candidate[0].step_ns, (int)pp,
                      (long long)alone->candidate[0].step_ns);
        pp_search_result_free(&alone);
    }
    pp_search_result_free(&choice);
}
END_TEST

START_TEST(impossible_splits_are_refused)
{
    planning p = planning_of("llama3-70b", "h100-80g");
    pp_plan_request request = request_of(&p, 3);
    request.gpus = 16;
    refuse(&request, PP_USAGE, "16 GPUs cannot be split with these degrees");
    request = request_of(&p, 0);
    request.gpus = 2;
    refuse(&request, PP_INFEASIBLE, "nothing fits");
    request.gpus = 8;
    request.parallel.tp = 3;
    refuse(&request, PP_USAGE, "8 GPUs cannot be split");
}
END_TEST

/* The budget ends the search among splits; the best plan found until then is the answer. */
START_TEST(a_budget_is_kept)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_plan_request request = request_of(&p, 0);
    request.gpus = 32;
    request.max_simulations = 1;
    pp_search_result *choice = choose(&request);
    ck_assert(choice->stopped);
    pp_search_result_free(&choice);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("splits");
    TCase *tc = tcase_create("splits");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, the_best_of_all_splits_is_found, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tc, most_splits_are_pruned);
    tcase_add_test(tc, free_orders_can_change_the_split);
    tcase_add_test(tc, packings_can_change_the_split);
    tcase_add_test(tc, a_counted_budget_repeats);
    tcase_add_test(tc, impossible_splits_are_refused);
    tcase_add_test(tc, a_budget_is_kept);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
