/* The step tail, and what groups of GPUs exchange: bytes over the rate that they have. Latencies
 * come on top, within 5 %. */
#include "sim/cost/cost_model.h"
#include "tests/support/published.h"

/* gpt22b over pp 4, tp 8, dp 4 on nodes of 8: every group but tp has one GPU per node, with an
 * eighth of the node's network. */
static run job(void)
{
    run r = { .model = run_model("gpt22b"),
              .micro_batch_size = 1,
              .seq_length = 2048,
              .microbatches = 8,
              .parallel = { .pp = 4, .tp = 8, .cp = 1, .dp = 4, .ep = 1, .vpp = 1 } };
    r.switches = stack_switches("every-schedule", &r.parallel);
    r.switches.recompute = PP_RECOMPUTE_NONE;
    r.switches.grad_sync_overlap = false;
    r.switches.grad_dtype = PP_DTYPE_FP32;
    return r;
}

static double rate_of(const pp_hardware *hw)
{
    return hw->network_efficiency * hw->network_bytes_per_s / 8;
}

static void within(pp_ns found_ns, double least_s)
{
    ck_assert_double_ge((double)found_ns, 1e9 * least_s - 1);
    ck_assert_double_le((double)found_ns, 1.05e9 * least_s);
}

/* Rings of 4 move 3/4: with ZeRO-1 once for 4 bytes of gradient and once for 2 of parameter,
 * without it twice for the gradient. */
START_TEST(gradients_are_reduced_over_the_network)
{
    const pp_hardware hw = run_hardware("a100-80g");
    run r = job();
    for (int zero = 0; zero < 2; zero++) {
        r.switches.zero = zero;
        pp_costs *c = run_costs(&r, &hw);
        for (int rank = 0; rank < 4; rank++) {
            const double parameters = (double)c->parameter_bytes[rank] / 2;
            within(c->grad_sync_ns[rank],
                   0.75 * (zero ? 4 + 2 : 2 * 4) * parameters / rate_of(&hw));
        }
        pp_costs_free(&c);
    }
}
END_TEST

/* At least 24 bytes per parameter: 12 of state are read and written. ZeRO-1 leaves a quarter. */
START_TEST(the_optimizer_updates_what_it_owns)
{
    const pp_hardware hw = run_hardware("a100-80g");
    run r = job();
    pp_ns all_ns = 0;
    for (int zero = 0; zero < 2; zero++) {
        r.switches.zero = zero;
        pp_costs *c = run_costs(&r, &hw);
        const double owned = (double)c->parameter_bytes[1] / 2 / (zero ? 4 : 1);
        ck_assert_double_ge((double)c->optimizer_ns[1], 1e9 * 24 * owned / hw.memory_bytes_per_s);
        if (!zero)
            all_ns = c->optimizer_ns[1];
        else
            ck_assert_int_le(llabs(4 * c->optimizer_ns[1] - all_ns), 4);
        pp_costs_free(&c);
    }
}
END_TEST

/* FSDP2 over 4 GPUs: a quarter of the parameters, of their gradients' sums and of both moments in
 * 4 bytes; in the middle of a step also all parameters in 2 bytes and all gradients in 4. A ring
 * gathers 3/4 of 2 bytes and scatters 3/4 of 4. Copies take the rest. */
START_TEST(sharded_parameters_are_whole_in_the_step)
{
    const pp_hardware hw = run_hardware("a100-80g");
    run r = job();
    r.switches.zero = 0;
    pp_costs *whole = run_costs(&r, &hw);
    ck_assert(!whole->sharded);
    r.switches.zero = 3;
    pp_costs *c = run_costs(&r, &hw);
    ck_assert(c->sharded);
    for (int rank = 0; rank < 4; rank++) {
        const double n = (double)whole->parameter_bytes[rank] / 2;
        ck_assert_double_eq_tol((double)c->parameter_bytes[rank], n * 4.0 / 4, 1);
        ck_assert_double_eq_tol((double)c->gathered_bytes[rank], n * 2, 1);
        ck_assert_double_eq_tol((double)c->whole_gradient_bytes[rank], n * 4, 1);
        ck_assert_double_eq_tol((double)c->gradient_shard_bytes[rank], n * 4.0 / 4, 1);
        ck_assert_int_eq(c->gradient_bytes[rank], 0);
        ck_assert_double_eq_tol((double)c->optimizer_bytes[rank], n * 8 / 4, 1);
        const double memory = hw.elementwise * hw.memory_bytes_per_s;
        within(c->unshard_ns[rank], 0.75 * 2 * n / rate_of(&hw));
        within(c->unshard_copy_ns[rank], n * (6.0 / 4 + 4) / memory);
        within(c->reduce_grad_ns[rank], 0.75 * 4 * n / rate_of(&hw) + 8 * n / memory);
        ck_assert_int_eq(c->grad_sync_ns[rank], c->reduce_grad_ns[rank]);
    }
    ck_assert_double_eq_tol(c->unshard_slowdown, 108.0 / (108 - 16), 1e-9); /* NCCL's channels */
    ck_assert_double_eq(c->gather_slowdown, 1.15);
    pp_costs_free(&whole);
    pp_costs_free(&c);
    pp_hardware unknown = hw; /* a file that does not say how many SMs there are */
    unknown.sm_count = 1;
    c = run_costs(&r, &unknown);
    ck_assert_double_eq(c->unshard_slowdown, 1);
    ck_assert_double_eq(c->gather_slowdown, 1.15);
    pp_costs_free(&c);
}
END_TEST

/* Megatron-FSDP over 4 GPUs: shards in 2 bytes beside 12 of the optimizer and 4 of the gradient. A
 * layer is held while 5e8 elements are gathered ahead of it; of gradients there are 1e9 elements in
 * the queue and two layers. Every op gathers 3/4 of 2 bytes, every backward reduces 3/4 of 4. */
START_TEST(megatron_fsdp_divides_in_every_op)
{
    const pp_hardware hw = run_hardware("a100-80g");
    const double memory = hw.elementwise * hw.memory_bytes_per_s;
    for (int64_t tp = 1; tp <= 8; tp *= 8) {
        run r = job();
        r.parallel.tp = tp;
        r.switches.zero = 0;
        pp_costs *whole = run_costs(&r, &hw);
        const double n = (double)whole->parameter_bytes[1] / 2, layer = n / 12;
        const double ahead = tp == 1 ? 2 : 9; /* layers: 5e8 elements, rounded up */
        ck_assert(layer * ahead >= 5e8 && layer * (ahead - 1) < 5e8);
        r.shards_ops = true;
        r.switches.zero = 3;
        pp_costs *c = run_costs(&r, &hw);
        ck_assert(c->sharded && c->shards_ops && !c->regathers);
        ck_assert_double_eq_tol((double)c->parameter_bytes[1], 2 * n / 4, 1);
        ck_assert_double_eq_tol((double)c->gradient_bytes[1], 4 * n / 4, 1);
        ck_assert_double_eq_tol((double)c->optimizer_bytes[1], 12 * n / 4, 1);
        ck_assert_double_eq_tol((double)c->gathered_bytes[1], 2 * layer * (1 + ahead), 1);
        ck_assert_double_eq_tol((double)c->whole_gradient_bytes[1],
                                4 * (tp == 1 ? 1e9 + 2 * layer : n), 1);
        ck_assert_int_eq(c->gradient_shard_bytes[1], 0);
        /* the embedding stays whole, beside its shard */
        const double first = (double)whole->parameter_bytes[0] / 2;
        ck_assert_double_eq_tol((double)c->parameter_bytes[0], 2 * first / 4 + 2 * (first - n), 1);
        ck_assert_int_eq(c->gathered_bytes[0], c->gathered_bytes[1]);
        if (tp == 8) {
            within(c->regather_ns[1], 0.75 * 2 * n / rate_of(&hw));
            within(c->regather_first_ns[1], 0.75 * 2 * layer / rate_of(&hw));
            within(c->unshard_ns[0], 0.75 * 2 * (first - n) / rate_of(&hw));
            within(c->reduce_grad_ns[1], 0.75 * 4 * n / rate_of(&hw) + 3 * n / 4 * 4 / memory);
            within(c->reduce_last_ns[0],
                   0.75 * 4 * (first - n) / rate_of(&hw) + 3 * (first - n) / 4 * 4 / memory);
        }
        ck_assert_int_eq(c->unshard_ns[1], 0);
        ck_assert_int_eq(c->regather_last_ns[0], c->regather_first_ns[1]);
        ck_assert_int_eq(c->grad_sync_ns[1], 0);
        pp_costs_free(&c);
        r.switches.zero = 2;
        c = run_costs(&r, &hw);
        ck_assert_double_eq_tol((double)c->parameter_bytes[1], 2 * n, 1);
        ck_assert_double_eq_tol((double)c->gradient_bytes[1], 4 * n / 4, 1);
        ck_assert_int_eq(c->gathered_bytes[1], 0);
        ck_assert_int_eq(c->regather_ns[1], 0);
        ck_assert_int_gt(c->reduce_grad_ns[1], 0);
        if (tp == 8)
            within(c->grad_sync_ns[1], 0.75 * 2 * n / rate_of(&hw));
        pp_costs_free(&c);
        pp_costs_free(&whole);
    }
}
END_TEST

/* ZeRO 2 of ppsim's runtime: gradients are whole until the last backward, then a quarter; the step
 * ends with their reduction and a gather of the parameters. */
START_TEST(gradients_alone_are_divided)
{
    const pp_hardware hw = run_hardware("a100-80g");
    run r = job();
    r.switches.zero = 2;
    r.switches.grad_sync_overlap = true; /* changes nothing */
    pp_costs *c = run_costs(&r, &hw);
    const double n = (double)c->parameter_bytes[1] / 2;
    ck_assert(c->sharded && !c->shards_ops);
    ck_assert_int_eq(c->gathered_bytes[1], 0);
    ck_assert_int_eq(c->unshard_ns[1], 0);
    ck_assert_int_eq(c->unshard_copy_ns[1], 0);
    ck_assert_int_eq(c->gradient_bytes[1], 0);
    ck_assert_double_eq_tol((double)c->whole_gradient_bytes[1], 4 * n, 1);
    ck_assert_double_eq_tol((double)c->gradient_shard_bytes[1], 4 * n / 4, 1);
    ck_assert_double_eq_tol((double)c->optimizer_bytes[1], 12 * n / 4, 1);
    within(c->grad_sync_ns[1] - c->reduce_grad_ns[1], 0.75 * 2 * n / rate_of(&hw));
    pp_costs_free(&c);
}
END_TEST

/* Two copies, each over two GPUs: rings of two move a half, and then an all-reduce of two moves the
 * half that each GPU owns. One GPU per copy has nothing to gather, and casts its parameters. */
START_TEST(copies_reduce_what_they_own)
{
    const pp_hardware hw = run_hardware("a100-80g");
    const double memory = hw.elementwise * hw.memory_bytes_per_s;
    run r = job();
    r.switches.zero = 0;
    pp_costs *whole = run_costs(&r, &hw);
    const double n = (double)whole->parameter_bytes[1] / 2;
    r.switches.zero = 3;
    for (int copies = 2; copies <= 4; copies *= 2) {
        r.switches.dp_replicate = copies;
        pp_costs *c = run_costs(&r, &hw);
        const double own = copies == 4 ? 1 : 2;
        ck_assert_double_eq_tol((double)c->parameter_bytes[1], n * 4 / own, 1);
        ck_assert_double_eq_tol((double)c->gradient_shard_bytes[1], n * 4 / own, 1);
        ck_assert_double_eq_tol((double)c->optimizer_bytes[1], n * 8 / own, 1);
        within(c->unshard_copy_ns[1], n * (6 / own + (own > 1 ? 4 : 0)) / memory);
        ck_assert_double_eq(c->gather_slowdown, own > 1 ? 1.15 : 1);
        within(c->reduce_grad_ns[1],
               (own > 1 ? 0.5 * 4 * n + 4 * n / 2 : 2 * 0.75 * 4 * n) / rate_of(&hw) +
                   8 * n / memory);
        if (own > 1)
            within(c->unshard_ns[1], 0.5 * 2 * n / rate_of(&hw));
        else
            ck_assert_int_eq(c->unshard_ns[1], 0);
        pp_costs_free(&c);
    }
    pp_costs_free(&whole);
}
END_TEST

/* What a forward frees is gathered again from all 4 GPUs or, by rings of two, from 2. Of a stage of
 * layers alone any one is exposed; the first stage begins with the embedding, the last one ends
 * with the head. */
START_TEST(parameters_are_gathered_again_from_those_that_keep_them)
{
    const pp_hardware hw = run_hardware("a100-80g");
    run r = job();
    r.switches.zero = 0;
    pp_costs *whole = run_costs(&r, &hw);
    r.switches.zero = 3;
    pp_costs *never = run_costs(&r, &hw);
    ck_assert(!never->regathers);
    ck_assert_int_eq(never->regather_ns[1], 0);
    r.switches.reshard_after_forward = PP_RESHARD_ALWAYS;
    pp_costs *always = run_costs(&r, &hw);
    r.switches.reshard_after_forward = 2;
    pp_costs *two = run_costs(&r, &hw);
    ck_assert(always->regathers && two->regathers);
    for (int s = 0; s < 4; s++) {
        ck_assert_int_eq(always->regather_ns[s], never->unshard_ns[s]);
        within(two->regather_ns[s], 0.5 * (double)whole->parameter_bytes[s] / rate_of(&hw));
        if (s == 1 || s == 2) {
            within(always->regather_first_ns[s],
                   0.75 * (double)whole->parameter_bytes[s] / 12 / rate_of(&hw));
            ck_assert_int_eq(always->regather_first_ns[s], always->regather_last_ns[s]);
        }
    }
    /* nothing stays, or a half; two of twelve layers pass through */
    ck_assert_int_eq(always->kept_bytes[1], 0);
    ck_assert_double_eq_tol((double)two->kept_bytes[1], (double)two->gathered_bytes[1] / 2, 1);
    ck_assert_double_eq_tol((double)always->passing_bytes[1], (double)always->gathered_bytes[1] / 6,
                            1);
    ck_assert_int_eq(never->passing_bytes[1], 0);
    ck_assert_int_ne(always->regather_first_ns[0], always->regather_first_ns[1]);
    ck_assert_int_eq(always->regather_last_ns[0], always->regather_first_ns[1]);
    ck_assert_int_eq(always->regather_first_ns[3], always->regather_first_ns[1]);
    ck_assert_int_ne(always->regather_last_ns[3], always->regather_first_ns[1]);
    pp_costs_free(&whole);
    pp_costs_free(&never);
    pp_costs_free(&always);
    pp_costs_free(&two);
}
END_TEST

/* PyTorch frees all where as many GPUs would keep a parameter as share it, which is so for experts
 * on pairs of GPUs: a half of the dense parameters stays. */
START_TEST(what_all_gpus_keep_is_freed)
{
    const pp_hardware hw = run_hardware("a100-80g");
    run r = job();
    r.model = run_model("mixtral-8x7b");
    r.parallel = (pp_parallel){ .pp = 4, .tp = 1, .cp = 1, .dp = 8, .ep = 4, .vpp = 1 };
    r.switches.zero = 3;
    r.switches.reshard_after_forward = 2;
    pp_costs *c = run_costs(&r, &hw);
    const double all = (double)c->gathered_bytes[1] / 2; /* and 4 bytes of an eighth, or a half */
    const double dense = (2 * all - (double)c->parameter_bytes[1]) / (2 - 0.5);
    ck_assert_double_gt(dense, 0.01 * all);
    ck_assert_double_eq_tol((double)c->kept_bytes[1], 2 * dense / 2, 4);
    pp_costs_free(&c);
}
END_TEST

/* The two largest units pass through: a table that is larger than a layer, and one layer. */
START_TEST(two_different_units_pass)
{
    const pp_hardware hw = run_hardware("a100-80g");
    run r = job();
    r.model.vocab *= 10;
    r.switches.zero = 3;
    r.switches.reshard_after_forward = PP_RESHARD_ALWAYS;
    pp_costs *c = run_costs(&r, &hw);
    const double layer = (double)c->gathered_bytes[1] / 12;
    const double table = (double)c->gathered_bytes[0] - 12 * layer;
    ck_assert_double_gt(table, layer);
    ck_assert_double_eq_tol((double)c->passing_bytes[0], table + layer, 2);
    pp_costs_free(&c);
}
END_TEST

/* 51200 / 8 x 6144 gradients of 4 bytes; two ranks on two nodes send each other the whole table. */
START_TEST(the_tied_table_crosses_the_network)
{
    const pp_hardware hw = run_hardware("a100-80g");
    const run r = job();
    pp_costs *c = run_costs(&r, &hw);
    within(c->tied_ns[0], 51200.0 / 8 * 6144 * 4 / rate_of(&hw));
    ck_assert_int_eq(c->tied_ns[0], c->tied_ns[3]);
    pp_costs_free(&c);
}
END_TEST

/* Two moments of 4, 2 or 1 bytes beside the master weight's 4, or the 2 that a bf16 weight lacks;
 * what an update reads and writes shrinks by as much twice. */
START_TEST(moments_of_fewer_bits_take_less)
{
    static const double state[PP_MOMENTS_COUNT] = { 12, 6, 6, 4 };
    static const double moment[PP_MOMENTS_COUNT] = { 4, 2, 2, 1 };
    const pp_hardware hw = run_hardware("h100-80g");
    for (int k = 0; k < PP_MOMENTS_COUNT; k++) {
        run r = job();
        r.switches.zero = 1;
        r.switches.moments = (pp_moments)k;
        pp_costs *c = run_costs(&r, &hw);
        const double owned = (double)c->parameter_bytes[1] / 2 / 4;
        ck_assert_double_eq_tol((double)c->optimizer_bytes[1], state[k] * owned, 1);
        const double moved = hw.optimizer_bytes_per_parameter - 4 * (4 - moment[k]);
        ck_assert_double_eq_tol((double)c->optimizer_ns[1],
                                1e9 * owned * moved / (hw.elementwise * hw.memory_bytes_per_s), 2);
        r.switches.dtype = PP_DTYPE_FP16; /* no part of the master weight is in the weight */
        pp_costs_free(&c);
        c = run_costs(&r, &hw);
        ck_assert_double_eq_tol((double)c->optimizer_bytes[1], (4 + 2 * moment[k]) * owned, 1);
        pp_costs_free(&c);
    }
    pp_hardware little = hw; /* a file of the user: less than moments in fp8 save */
    run r = job();
    little.optimizer_bytes_per_parameter = 2;
    r.switches.moments = PP_MOMENTS_FP8;
    pp_costs *c = run_costs(&r, &little);
    ck_assert_int_eq(c->optimizer_ns[1], 0);
    pp_costs_free(&c);
}
END_TEST

/* Keys and values of 2048 tokens, one head each of 128, to the other node. Attention over sequences
 * of 64 is too short to hide them on a slow network. */
START_TEST(context_parallel_ranks_exchange_keys)
{
    pp_hardware hw = run_hardware("h100-80g");
    run r = job();
    r.model = run_model("llama3-8b");
    r.parallel = (pp_parallel){ .pp = 1, .tp = 8, .cp = 2, .dp = 1, .ep = 1, .vpp = 1 };
    const pp_cost_context context = {
        .model = &r.model, .hardware = &hw, .parallel = r.parallel, .switches = r.switches
    };
    double f_s[2];
    for (int slow = 0; slow < 2; slow++) {
        pp_unit_cost cost;
        pp_err err = { 0 };
        hw.network_bytes_per_s = slow ? 1e9 : 1e12;
        STEP_OK(pp_cost_unit(&context, PP_UNIT_LAYER, 0, 4096, 64 * 64 * 64, &cost, &err), err);
        f_s[slow] = cost.f_s;
    }
    const double exchange_s = 2048.0 * 2 * 128 * 2 / (1e9 / 8);
    ck_assert_double_ge(f_s[1] - f_s[0], 0.95 * exchange_s);
    ck_assert_double_le(f_s[1] - f_s[0], 1.05 * exchange_s / hw.network_efficiency / hw.sustained);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("step_costs");
    TCase *tc = tcase_create("step_costs");
    tcase_add_test(tc, gradients_are_reduced_over_the_network);
    tcase_add_test(tc, the_optimizer_updates_what_it_owns);
    tcase_add_test(tc, sharded_parameters_are_whole_in_the_step);
    tcase_add_test(tc, parameters_are_gathered_again_from_those_that_keep_them);
    tcase_add_test(tc, copies_reduce_what_they_own);
    tcase_add_test(tc, what_all_gpus_keep_is_freed);
    tcase_add_test(tc, megatron_fsdp_divides_in_every_op);
    tcase_add_test(tc, gradients_alone_are_divided);
    tcase_add_test(tc, two_different_units_pass);
    tcase_add_test(tc, moments_of_fewer_bits_take_less);
    tcase_add_test(tc, the_tied_table_crosses_the_network);
    tcase_add_test(tc, context_parallel_ranks_exchange_keys);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
