/* What libraries keep on a GPU: dummy weight gradients and work areas of GEMMs. */
#include "sim/cost/workspace.h"

#include "tests/support/published.h"

#define MIB 1048576.0

static pp_cost_context context_of(const pp_model *model, const pp_hardware *hw, const char *stack,
                                  int64_t tp)
{
    pp_cost_context c = { .model = model,
                          .hardware = hw,
                          .parallel = { .pp = 1, .tp = tp, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 } };
    c.switches = stack_switches(stack, &c.parallel);
    return c;
}

/* llama3-70b: joint q, k and v 10240 x 8192, projection 8192 x 8192, gate and first matrix 57344 x
 * 8192, second 8192 x 28672; 16 bits each, a part of every one per tensor-parallel rank. SimuMax
 * measured 1.7 GiB more on 8 x B200 than parameters, their state and activations explain. */
START_TEST(one_dummy_gradient_per_shape)
{
    const pp_model model = run_model("llama3-70b");
    const pp_hardware hw = run_hardware("b200-180g");
    const pp_rank_units layers = { .layer[0] = true }, last = { .layer[0] = true, .loss = true };
    for (int64_t tp = 1; tp <= 8; tp *= 2) {
        pp_cost_context c = context_of(&model, &hw, "megatron-2025", tp);
        const double dummies = 2.0 * 8192 * (10240 + 8192 + 57344 + 28672) / (double)tp;
        ck_assert_double_eq(pp_workspace_bytes(&c, &layers), dummies + 32 * MIB);
        ck_assert_double_eq(pp_workspace_bytes(&c, &last), dummies + 64 * MIB);
        c.switches.fused_wgrad = false; /* then autograd gets real gradients, which do not stay */
        ck_assert_double_eq(pp_workspace_bytes(&c, &last), 64 * MIB);
    }
}
END_TEST

/* In mixtral-8x7b attention's projection is square, all experts have equal shapes, and dense layers
 * would share attention's; four streams of grouped GEMMs have an area each. */
START_TEST(experts_share_their_shapes)
{
    const pp_model model = run_model("mixtral-8x7b");
    const pp_hardware hw = run_hardware("h100-80g");
    const pp_cost_context c = context_of(&model, &hw, "every-schedule", 1);
    const pp_rank_units one = { .layer[1] = true }, both = { .layer[1] = true, .layer[0] = true };
    const double attention = 2.0 * 4096 * (6144 + 4096), expert = 2.0 * 4096 * 3 * 14336;
    const double dense = 2.0 * 4096 * 3 * (double)model.ffn;
    ck_assert_double_eq(pp_workspace_bytes(&c, &one), attention + expert + 6 * 32 * MIB);
    ck_assert_double_eq(pp_workspace_bytes(&c, &both),
                        attention + expert + (model.ffn == model.expert_ffn ? 0 : dense) +
                            6 * 32 * MIB);
}
END_TEST

/* Before Hopper the areas are smaller; without TransformerEngine there is PyTorch's alone, and
 * outside of CUDA none is known. */
START_TEST(work_areas_are_those_of_the_architecture)
{
    static const struct {
        const char *hardware, *stack;
        double bytes;
    } cases[] = {
        { "a100-80g", "megatron-2022", 8.125 * MIB },
        { "h100-80g", "megatron-2022", 32 * MIB },
        { "trn2", "megatron-2022", 0 },
    };
    const pp_model model = run_model("gpt22b");
    const pp_rank_units units = { .layer[0] = true, .loss = true };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pp_hardware hw = run_hardware(cases[i].hardware);
        const pp_cost_context c = context_of(&model, &hw, cases[i].stack, 1);
        ck_assert_double_eq(pp_workspace_bytes(&c, &units), cases[i].bytes);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("workspace");
    TCase *tc = tcase_create("workspace");
    tcase_add_test(tc, one_dummy_gradient_per_shape);
    tcase_add_test(tc, experts_share_their_shapes);
    tcase_add_test(tc, work_areas_are_those_of_the_architecture);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
