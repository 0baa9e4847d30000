/* How the cost model uses measurements: if the truth is a known line, the costs are on that
 * line. */
#include "calib/profile/measured_notes.h"
#include "sim/cost/cost_model.h"
#include "sim/order/order.h"
#include "tests/support/profile_rig.h"
#include "tests/support/published.h"

#define T 1024
#define PROBE_SOURCE "probe cpu-ops, thread time: layers=2,hidden=64,heads=4,mlp=256"

/* llama3-8b in two stages of 16 layers, one microbatch of T tokens. */
typedef struct job {
    pp_model model;
    pp_hardware hardware;
    pp_cost_context context;
    pp_stage stage[4];
    uint32_t stages;
    pp_workload workload;
    pp_measured_profile *measured;
} job;

static void job_new(job *j, pp_profile *profile, pp_profile_part part, int64_t layers,
                    bool hardware, uint32_t stages)
{
    pp_err err = { 0 };
    *j = (job){ .model = run_model("llama3-8b"), .stages = stages };
    if (hardware)
        j->hardware = run_hardware("h100-80g");
    else
        pp_hardware_unknown("machine", &j->hardware);
    if (profile) {
        STEP_OK(pp_measured_open(profile, part, layers, &j->measured, &err), err);
        j->hardware.measured = &j->measured->measured;
    }
    j->context = (pp_cost_context){ .model = &j->model,
                                    .hardware = &j->hardware,
                                    .parallel = { stages, 1, 1, 1, 1, 1 } };
    j->context.switches = stack_switches("every-schedule", &j->context.parallel);
    j->context.switches.recompute = PP_RECOMPUTE_NONE;
    for (uint32_t s = 0; s < stages; s++)
        j->stage[s] = (pp_stage){ .first_layer = s * 32 / stages,
                                  .layers = 32 / stages,
                                  .embedding = s == 0,
                                  .loss = s + 1 == stages };
    STEP_OK(pp_workload_fixed(2, 1, T, &j->workload, &err), err);
}

static pp_costs *job_costs(job *j)
{
    pp_err err = { 0 };
    pp_costs *costs = NULL;
    STEP_OK(pp_cost_model_build(&j->context, j->stage, j->stages, &j->workload, 0, &costs, &err),
            err);
    return costs;
}

static void job_free(job *j)
{
    pp_measured_close(&j->measured);
    pp_workload_free(&j->workload);
}

static pp_costs *costs_of(const rig_class *classes, pp_profile_part part, int64_t layers,
                          bool hardware, uint32_t stages)
{
    pp_profile *profile PP_CLEANUP(rig_free) = rig_profile(classes);
    job j PP_CLEANUP(job_free);
    job_new(&j, profile, part, layers, hardware, stages);
    return job_costs(&j);
}

static double line(const rig_class *c, double x)
{
    return 1e9 * (c->a + c->b * x);
}

static void near(pp_ns found_ns, double expected_ns)
{
    ck_assert_msg(fabs((double)found_ns - expected_ns) <= 1 + 1e-7 * expected_ns,
                  "%lld, expected %.1f", (long long)found_ns, expected_ns);
}

/* Two layers were measured together, and sixteen make a stage. */
START_TEST(stages_take_what_layers_took)
{
    const rig_class c[] = {
        { .name = "stage_f", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6 },
        { .name = "stage_i", .variable = PP_VARIABLE_TOKENS, .a = 2e-4, .b = 2e-6 },
        { .name = "stage_w", .variable = PP_VARIABLE_TOKENS, .a = 3e-4, .b = 1e-6 },
        { .name = "stage_b", .variable = PP_VARIABLE_TOKENS, .a = 4e-4, .b = 2.5e-6 },
        { .name = "thread_link",
          .variable = PP_VARIABLE_BYTES,
          .a = 1e-5,
          .b = 1e-10,
          .link = true },
        { 0 },
    };
    pp_costs *costs PP_CLEANUP(pp_costs_free) = costs_of(c, PP_PROFILE_ALL, 2, false, 2);
    for (int s = 0; s < 2; s++) {
        near(costs->f_ns[s], 8 * line(&c[0], T));
        near(costs->i_ns[s], 8 * line(&c[1], T));
        near(costs->w_ns[s], 8 * line(&c[2], T));
        near(costs->b_ns[s], 8 * line(&c[3], T));
    }
    near(costs->send_f_ns[0], line(&c[4], T * 4096.0 * 2));
    ck_assert_int_eq(costs->optimizer_ns[0], 0);
    ck_assert_double_eq(costs->peak_flops_per_s, 0);
}
END_TEST

START_TEST(a_backward_measured_whole_is_halved)
{
    const rig_class c[] = {
        { .name = "stage_f", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6 },
        { .name = "stage_b", .variable = PP_VARIABLE_TOKENS, .a = 4e-4, .b = 2e-6 },
        { 0 },
    };
    pp_costs *costs PP_CLEANUP(pp_costs_free) = costs_of(c, PP_PROFILE_ALL, 16, false, 2);
    near(costs->i_ns[1], line(&c[1], T) / 2);
    near(costs->w_ns[1], line(&c[1], T) / 2);
    near(costs->b_ns[1], line(&c[1], T));
    ck_assert_int_eq(costs->send_f_ns[0], 0);
}
END_TEST

/* The time that the first and the last stage take beyond the middle one belongs to their ends,
 * whatever the number of stages, and replaces what a hardware file has for them. */
START_TEST(measured_stages_bring_their_ends)
{
    static const char *const names[][6] = {
        { "stage_f 0", "stage_f 1", "stage_f 2", "stage_b 0", "stage_b 1", "stage_b 2" },
        { "stage_f first", "stage_f", "stage_f last", "stage_b", "stage_b first", "stage_b last" },
    };
    for (int bare = 0; bare < 2; bare++) {
        const rig_class c[] = {
            { .name = names[bare][0], .variable = PP_VARIABLE_TOKENS, .a = 1e-3, .b = 1e-6 },
            { .name = names[bare][1], .variable = PP_VARIABLE_TOKENS, .a = 1.2e-3, .b = 1e-6 },
            { .name = names[bare][2], .variable = PP_VARIABLE_TOKENS, .a = 2e-3, .b = 2e-6 },
            { .name = names[bare][3], .variable = PP_VARIABLE_TOKENS, .a = 4e-3, .b = 2e-6 },
            { .name = names[bare][4], .variable = PP_VARIABLE_TOKENS, .a = 4e-3, .b = 2e-6 },
            { .name = names[bare][5], .variable = PP_VARIABLE_TOKENS, .a = 5e-3, .b = 3e-6 },
            { 0 },
        };
        const pp_hardware hw = run_hardware("h100-80g");
        const double gap = 1e9 * hw.host_gap_s;
        pp_costs *costs PP_CLEANUP(pp_costs_free) = costs_of(c, PP_PROFILE_ALL, 4, true, 4);
        const double two = 2 * line(&c[1], T); /* 8 layers; 4 were measured */
        near(costs->f_ns[0], two + line(&c[0], T) - line(&c[1], T) + gap);
        near(costs->f_ns[1], two + gap);
        near(costs->f_ns[3], two + line(&c[2], T) - line(&c[1], T) + gap);
        near(costs->b_ns[3], line(&c[3], T) + line(&c[5], T) + gap);
    }
}
END_TEST

/* A head takes longer than an embedding, so the first of two stages is taken for layers only. */
START_TEST(the_first_of_two_stages_represents_layers)
{
    const rig_class c[] = {
        { .name = "stage_f 0", .variable = PP_VARIABLE_TOKENS, .a = 1e-3, .b = 1e-6 },
        { .name = "stage_f 1", .variable = PP_VARIABLE_TOKENS, .a = 2e-3, .b = 2e-6 },
        { .name = "stage_b 0", .variable = PP_VARIABLE_TOKENS, .a = 4e-3, .b = 2e-6 },
        { .name = "stage_b 1", .variable = PP_VARIABLE_TOKENS, .a = 5e-3, .b = 3e-6 },
        { 0 },
    };
    for (int hardware = 0; hardware < 2; hardware++) {
        const pp_hardware hw = run_hardware("h100-80g");
        const double gap = hardware ? 1e9 * hw.host_gap_s : 0;
        pp_costs *costs PP_CLEANUP(pp_costs_free) = costs_of(c, PP_PROFILE_ALL, 16, hardware, 2);
        for (int s = 0; s < 2; s++) {
            near(costs->f_ns[s], line(&c[s], T) + gap);
            near(costs->b_ns[s], line(&c[2 + s], T) + gap);
        }
    }
}
END_TEST

/* Kernels end before the host's gap, and timers of the host after it. */
START_TEST(the_gap_of_the_host_is_counted_once)
{
    static const char *const sources[] = { "host time: train.log", PROBE_SOURCE, "rank0.json" };
    const pp_hardware hw = run_hardware("h100-80g");
    ck_assert_double_gt(hw.host_gap_s, 0);
    for (size_t k = 0; k < 3; k++) {
        const rig_class c[] = {
            { .name = "stage_f",
              .variable = PP_VARIABLE_TOKENS,
              .a = 1e-3,
              .b = 1e-6,
              .source = sources[k] },
            { .name = "stage_b", .variable = PP_VARIABLE_TOKENS, .a = 4e-3, .b = 2e-6 },
            { 0 },
        };
        const double gap = k == 2 ? 1e9 * hw.host_gap_s : 0;
        pp_costs *costs PP_CLEANUP(pp_costs_free) =
            costs_of(c, PP_PROFILE_ALL, k == 1 ? 2 : 8, true, 4);
        near(costs->f_ns[1], (k == 1 ? 4 : 1) * line(&c[0], T) + gap);
    }
}
END_TEST

/* A stage in the middle has neither embedding nor head. */
START_TEST(of_two_stages_no_head_is_taken_for_a_layer)
{
    const rig_class c[] = {
        { .name = "stage_f 0", .variable = PP_VARIABLE_TOKENS, .a = 1e-3, .b = 1e-6 },
        { .name = "stage_f 1", .variable = PP_VARIABLE_TOKENS, .a = 2e-3, .b = 2e-6 },
        { .name = "stage_b 0", .variable = PP_VARIABLE_TOKENS, .a = 4e-3, .b = 2e-6 },
        { .name = "stage_b 1", .variable = PP_VARIABLE_TOKENS, .a = 5e-3, .b = 3e-6 },
        { 0 },
    };
    pp_costs *costs PP_CLEANUP(pp_costs_free) = costs_of(c, PP_PROFILE_ALL, 16, false, 4);
    near(costs->f_ns[2], line(&c[0], T) / 2);
    near(costs->f_ns[3], line(&c[0], T) / 2 + line(&c[1], T) - line(&c[0], T));
}
END_TEST

/* Answers from the question alone. */
static bool answer(void *context, const pp_measured_at *at, double *seconds_out)
{
    double *wgrad = context;
    if (at->kind == PP_MEASURED_GEMM_WGRAD && at->m == 14336) {
        wgrad[0] = at->n;
        wgrad[1] = at->k;
    }
    if (at->kind != PP_MEASURED_LAYER + PP_OP_F && at->kind != PP_MEASURED_LAYER + PP_OP_B)
        return false;
    *seconds_out = 1e-6 * at->longest + 1e-3 * at->tiles;
    return wgrad[2] == 0;
}

static pp_workload packs(void)
{
    static const int64_t lengths[] = { 26, 130, 156, 52, 78, 182, 156, 26, 130 };
    static const size_t ends[] = { 3, 6, 9 };
    pp_err err = { 0 };
    pp_workload w;
    STEP_OK(pp_workload_group(lengths, ends, 3, 4096, 1, &w, &err), err);
    return w;
}

/* 128 + 130 + 1 and 129 + 129 + 1 tokens do not have the same tiles; the order within a pack does
 * not matter. */
START_TEST(sequences_of_a_pack_are_reported)
{
    double wgrad[3] = { 0 };
    const pp_measured measured = { .ask = answer, .context = wgrad };
    job j PP_CLEANUP(job_free);
    job_new(&j, NULL, PP_PROFILE_ALL, 0, false, 2);
    j.hardware.measured = &measured;
    pp_workload_free(&j.workload);
    j.workload = packs();
    pp_costs *costs PP_CLEANUP(pp_costs_free) = job_costs(&j);
    ck_assert_uint_eq(costs->classes, 2);
    ck_assert_uint_eq(costs->class_of[2], 0);
    near(costs->f_ns[0], 16 * (156e3 + 9e6));
    near(costs->f_ns[2], 16 * (182e3 + 6e6));
}
END_TEST

START_TEST(weight_gradients_are_asked_for_by_their_weight)
{
    double wgrad[3] = { 0, 0, 1 };
    const pp_measured measured = { .ask = answer, .context = wgrad };
    job j PP_CLEANUP(job_free);
    job_new(&j, NULL, PP_PROFILE_ALL, 0, false, 2);
    j.hardware.measured = &measured;
    pp_costs *costs PP_CLEANUP(pp_costs_free) = job_costs(&j);
    ck_assert_double_eq(wgrad[0], 4096);
    ck_assert_double_eq(wgrad[1], T);
}
END_TEST

/* The hardware file gives the other part, to the nanosecond. */
START_TEST(a_part_of_a_profile_leaves_the_rest)
{
    const rig_class c[] = {
        { .name = "stage_f", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6 },
        { .name = "stage_b", .variable = PP_VARIABLE_TOKENS, .a = 4e-4, .b = 2e-6 },
        { .name = "send_recv",
          .variable = PP_VARIABLE_BYTES,
          .a = 1e-3,
          .b = 1e-10,
          .link = true,
          .nodes = 1 },
        { 0 },
    };
    job plain PP_CLEANUP(job_free);
    job_new(&plain, NULL, PP_PROFILE_ALL, 0, true, 2);
    pp_costs *own PP_CLEANUP(pp_costs_free) = job_costs(&plain);
    pp_costs *links PP_CLEANUP(pp_costs_free) = costs_of(c, PP_PROFILE_LINKS, 0, true, 2);
    pp_costs *kernels PP_CLEANUP(pp_costs_free) = costs_of(c, PP_PROFILE_KERNELS, 16, true, 2);
    ck_assert_int_eq(links->f_ns[0], own->f_ns[0]);
    ck_assert_int_eq(links->b_ns[1], own->b_ns[1]);
    near(links->send_f_ns[0], line(&c[2], T * 4096.0 * 2));
    ck_assert_int_eq(kernels->send_f_ns[0], own->send_f_ns[0]);
    ck_assert_int_ne(kernels->f_ns[0], own->f_ns[0]);
    ck_assert_int_eq(kernels->optimizer_ns[0], own->optimizer_ns[0]);
}
END_TEST

/* A product is used only for a layer with the same weights. */
START_TEST(products_are_those_of_their_weights)
{
    rig_class c[] = {
        { .name = "gemm_fwd mlp_down",
          .variable = PP_VARIABLE_ROWS,
          .a = 1,
          .b = 1e-6,
          .n = 4096,
          .k = 14336 },
        { 0 },
    };
    job plain PP_CLEANUP(job_free);
    job_new(&plain, NULL, PP_PROFILE_ALL, 0, true, 2);
    pp_costs *own PP_CLEANUP(pp_costs_free) = job_costs(&plain);
    pp_costs *with PP_CLEANUP(pp_costs_free) = costs_of(c, PP_PROFILE_ALL, 0, true, 2);
    const double longer = (double)(with->f_ns[0] - own->f_ns[0]);
    const double sustained = plain.hardware.sustained;
    ck_assert_double_gt(longer, 16 * 0.99e9 / sustained);
    ck_assert_double_lt(longer, 16 * line(&c[0], T) / sustained);
    ck_assert_int_eq(with->b_ns[0], own->b_ns[0]);
    c[0].k = 14000;
    pp_costs *other PP_CLEANUP(pp_costs_free) = costs_of(c, PP_PROFILE_ALL, 0, true, 2);
    ck_assert_int_eq(other->f_ns[0], own->f_ns[0]);
}
END_TEST

#define PRODUCT(of, seconds)                                                                       \
    {                                                                                              \
        .name = of, .variable = PP_VARIABLE_ROWS, .a = (seconds), .b = 1e-3, .n = 4096, .k = 14336 \
    }

/* Which class answers: of a format and a number of experts, or none. */
START_TEST(formats_and_experts_have_classes_of_their_own)
{
    const rig_class c[] = {
        PRODUCT("gemm_fwd mlp_down", 1),
        PRODUCT("gemm_fwd_fp8 mlp_down", 2),
        PRODUCT("gemm_fwd_grouped 8 mlp_down", 3),
        PRODUCT("gemm_fwd_grouped_fp8 8 mlp_down", 4),
        { .name = "quantize_fp8", .variable = PP_VARIABLE_BYTES, .a = 5, .b = 1e-6 },
        { .name = "quantize_fp8_current", .variable = PP_VARIABLE_BYTES, .a = 6, .b = 1e-6 },
        { 0 },
    };
    static const struct {
        pp_measured_kind kind;
        pp_gemm_format format;
        double experts;
        int answer; /* index of the class; -1: none */
    } asked[] = {
        { PP_MEASURED_GEMM_FWD, PP_GEMM_16BIT, 0, 0 },
        { PP_MEASURED_GEMM_FWD, PP_GEMM_FP8, 0, 1 },
        { PP_MEASURED_GEMM_FWD, PP_GEMM_16BIT, 8, 2 },
        { PP_MEASURED_GEMM_FWD, PP_GEMM_FP8, 8, 3 },
        { PP_MEASURED_GEMM_FWD, PP_GEMM_16BIT, 80, -1 },
        { PP_MEASURED_GEMM_FWD, PP_GEMM_16BIT, 4, -1 },
        { PP_MEASURED_GEMM_DGRAD, PP_GEMM_FP8, 0, -1 },
        { PP_MEASURED_GEMM_FWD, PP_GEMM_FP8_BLOCK, 0, -1 },
        { PP_MEASURED_GEMM_FWD, PP_GEMM_MXFP8, 8, -1 },
        { PP_MEASURED_QUANTIZE, PP_GEMM_FP8, 0, 4 },
        { PP_MEASURED_QUANTIZE_CURRENT, PP_GEMM_FP8, 0, 5 },
        { PP_MEASURED_QUANTIZE, PP_GEMM_FP8_BLOCK, 0, -1 },
    };
    pp_err err = { 0 };
    pp_profile *profile PP_CLEANUP(rig_free) = rig_profile(c);
    pp_measured_profile *m PP_CLEANUP(pp_measured_close) = NULL;
    STEP_OK(pp_measured_open(profile, PP_PROFILE_ALL, 0, &m, &err), err);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        const pp_measured_at at = { .kind = asked[i].kind,
                                    .format = asked[i].format,
                                    .experts = asked[i].experts,
                                    .m = T,
                                    .n = 4096,
                                    .k = 14336,
                                    .bytes = T };
        double seconds = 0;
        ck_assert_msg(m->measured.ask(m->measured.context, &at, &seconds) == (asked[i].answer >= 0),
                      "question %zu", i);
        if (asked[i].answer >= 0)
            near((pp_ns)(1e9 * seconds), line(&c[asked[i].answer], T));
    }
}
END_TEST

/* Costs of the first stage's forward in a precision, with and without these classes. */
static void forwards(const char *model, pp_precision precision, const rig_class *classes,
                     double *own_ns_out, double *with_ns_out)
{
    pp_profile *profile PP_CLEANUP(rig_free) = rig_profile(classes);
    for (int with = 0; with < 2; with++) {
        job j PP_CLEANUP(job_free);
        job_new(&j, with ? profile : NULL, PP_PROFILE_ALL, 0, true, 2);
        j.model = run_model(model);
        j.context.switches.precision = precision;
        pp_costs *costs PP_CLEANUP(pp_costs_free) = job_costs(&j);
        *(with ? with_ns_out : own_ns_out) = (double)costs->f_ns[0] * j.hardware.sustained;
    }
}

/* Of each of 16 layers: a product in 8 bits is the measured one, or the quantization of a tensor
 * for each of its four weights takes a second; those in bf16 change nothing. */
START_TEST(a_precision_takes_the_products_measured_in_it)
{
    const rig_class low[] = { PRODUCT("gemm_fwd_fp8 mlp_down", 1), { 0 } };
    const rig_class plain[] = { PRODUCT("gemm_fwd mlp_down", 1), { 0 } };
    const rig_class current[] = {
        { .name = "quantize_fp8_current", .variable = PP_VARIABLE_BYTES, .a = 1, .b = 0 }, { 0 }
    };
    double own, with;
    forwards("llama3-8b", PP_PRECISION_FP8, low, &own, &with);
    ck_assert_double_eq_tol((with - own) / 16e9, 1 + 1e-3 * T, 0.02);
    forwards("llama3-8b", PP_PRECISION_FP8, plain, &own, &with);
    ck_assert_double_eq(with, own);
    forwards("llama3-8b", PP_PRECISION_FP8_CURRENT_ALL, current, &own, &with);
    ck_assert_double_eq_tol((with - own) / 16e9, 4, 0.02);
    forwards("llama3-8b", PP_PRECISION_FP8, current, &own, &with);
    ck_assert_double_eq(with, own);
}
END_TEST

/* Eight experts, of which each token has two: the time of all their rows together. */
START_TEST(experts_are_asked_for_together)
{
    const rig_class grouped[] = { PRODUCT("gemm_fwd_grouped 8 mlp_down", 1), { 0 } };
    const rig_class single[] = { PRODUCT("gemm_fwd mlp_down", 1), { 0 } };
    const rig_class both[] = { PRODUCT("gemm_fwd_grouped 8 mlp_down", 1),
                               PRODUCT("gemm_fwd mlp_down", 2),
                               { 0 } };
    double own, with;
    forwards("mixtral-8x7b", PP_PRECISION_BF16, grouped, &own, &with);
    ck_assert_double_eq_tol((with - own) / 16e9, 1 + 1e-3 * 2 * T, 0.02);
    forwards("mixtral-8x7b", PP_PRECISION_BF16, both, &own, &with);
    ck_assert_double_eq_tol((with - own) / 16e9, 1 + 1e-3 * 2 * T, 0.02);
    forwards("mixtral-8x7b", PP_PRECISION_BF16, single, &own, &with);
    ck_assert_double_eq_tol((with - own) / 16e9, 8 + 1e-3 * 2 * T, 0.05);
}
END_TEST

static const char *note_of(const pp_notes *notes, const char *key)
{
    for (size_t i = 0; i < notes->count; i++) {
        if (strcmp(notes->note[i].key, key) == 0)
            return notes->note[i].value;
    }
    return "";
}

/* RIG_SIZES range from 64 to 3072 tokens. */
START_TEST(sizes_outside_the_domain_are_noted)
{
    const rig_class c[] = {
        { .name = "stage_f", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6 },
        { .name = "stage_b", .variable = PP_VARIABLE_TOKENS, .a = 4e-4, .b = 2e-6 },
        { 0 },
    };
    for (int far = 0; far < 2; far++) {
        pp_err err = { 0 };
        pp_notes notes PP_CLEANUP(pp_notes_free) = { 0 };
        pp_profile *profile PP_CLEANUP(rig_free) = rig_profile(c);
        job j PP_CLEANUP(job_free);
        job_new(&j, profile, PP_PROFILE_ALL, 16, false, 2);
        if (far) {
            pp_workload_free(&j.workload);
            STEP_OK(pp_workload_fixed(2, 1, 4096, &j.workload, &err), err);
        }
        pp_costs *costs PP_CLEANUP(pp_costs_free) = job_costs(&j);
        STEP_OK(pp_measured_notes(j.measured, NULL, &notes, &err), err);
        ck_assert_str_eq(note_of(&notes, PP_NOTE_OUTSIDE),
                         far ? "stage_f: tokens 4096, measured from 64 to 3072; and 1 more: stage_b"
                             : "");
        ck_assert_ptr_nonnull(strstr(note_of(&notes, "profile"), "stage_f (affine"));
        ck_assert_ptr_nonnull(strstr(note_of(&notes, "not in the profile"), "transfers"));
        ck_assert_ptr_nonnull(strstr(note_of(&notes, "I and W"), "half of B"));
    }
}
END_TEST

static void job_notes(const rig_class *classes, int64_t layers, pp_notes *notes)
{
    pp_err err = { 0 };
    pp_profile *profile PP_CLEANUP(rig_free) = rig_profile(classes);
    job j PP_CLEANUP(job_free);
    job_new(&j, profile, PP_PROFILE_ALL, layers, layers == 0, 4);
    pp_costs *costs PP_CLEANUP(pp_costs_free) = job_costs(&j);
    STEP_OK(pp_measured_notes(j.measured, layers ? NULL : "h100-80g", notes, &err), err);
}

/* An end adds work to a forward, so a stage at an end that takes less time had fewer layers. With
 * 7, 9 and 7 layers of 1 ms, both ends would take away two layers from the stages that the plan
 * gives them. */
START_TEST(stages_of_unequal_layers_are_reported)
{
    for (int unequal = 0; unequal < 2; unequal++) {
        pp_notes notes PP_CLEANUP(pp_notes_free) = { 0 };
        const double end =
            unequal ? 7e-6 : 8.8e-6; /* 2 % less time does not mean one layer less of 9 */
        const rig_class c[] = {
            { .name = "stage_f 0", .variable = PP_VARIABLE_TOKENS, .b = end, .noise = 0.01 },
            { .name = "stage_f 1", .variable = PP_VARIABLE_TOKENS, .b = 9e-6, .noise = 0.01 },
            { .name = "stage_f 2", .variable = PP_VARIABLE_TOKENS, .b = 9.5e-6, .noise = 0.01 },
            { .name = "stage_b 0", .variable = PP_VARIABLE_TOKENS, .b = 18e-6, .noise = 0.01 },
            { .name = "stage_b 1", .variable = PP_VARIABLE_TOKENS, .b = 18e-6, .noise = 0.01 },
            { .name = "stage_b 2", .variable = PP_VARIABLE_TOKENS, .b = 19e-6, .noise = 0.01 },
            { 0 },
        };
        job_notes(c, 9, &notes);
        ck_assert_str_eq(note_of(&notes, PP_NOTE_UNEQUAL),
                         unequal ? "stage_f 0 takes 7.17 ms, stage_f 1 9.22 ms; times are wrong "
                                   "if stages were measured with different numbers of layers; "
                                   "measure equal ones"
                                 : "");
    }
}
END_TEST

/* A class that was never asked for, and one that no form fits, are not listed as used. */
START_TEST(classes_that_answered_nothing_are_reported)
{
    const rig_class c[] = {
        { .name = "stage_f", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6 },
        { .name = "stage_b", .variable = PP_VARIABLE_TOKENS, .a = 4e-4, .b = 2e-6 },
        { .name = "attn_fwd", .variable = PP_VARIABLE_TOKENS, .a = 4e-4, .b = 2e-6 },
        { .name = "all_gather", .variable = PP_VARIABLE_BYTES, .a = 4e-4, .b = 2e-6, .link = true },
        { 0 },
    };
    pp_err err = { 0 };
    pp_notes notes PP_CLEANUP(pp_notes_free) = { 0 };
    pp_profile *profile PP_CLEANUP(rig_free) = rig_profile(c);
    for (size_t i = 0; i < profile->count; i++) {
        profile->entry[i].fitted = false;
        snprintf(profile->entry[i].reason, sizeof profile->entry[i].reason, "too few sizes");
    }
    job j PP_CLEANUP(job_free);
    job_new(&j, profile, PP_PROFILE_KERNELS, 16, true, 2);
    pp_costs *costs PP_CLEANUP(pp_costs_free) = job_costs(&j);
    STEP_OK(pp_measured_notes(j.measured, "h100-80g", &notes, &err), err);
    ck_assert_ptr_nonnull(strstr(note_of(&notes, "profile"), ": none of its classes was usable"));
    ck_assert_str_eq(note_of(&notes, "measured stages"), "");
    ck_assert_str_eq(note_of(&notes, PP_NOTE_REFUSED),
                     "stage_f: not fitted, too few sizes; stage_b: not fitted, too few sizes; "
                     "attn_fwd: not fitted, too few sizes");
}
END_TEST

/* Both directions come from cuDNN, or both from kernels of ppsim. fitted, asked: bits of the
 * classes. */
START_TEST(attention_is_of_one_source)
{
    pp_err err = { 0 };
    static const struct {
        unsigned fitted, asked;
        const char *refused;
    } cases[] = {
        { 15, 3, "" },
        { 13, 12, "attn_bwd: not fitted, too few sizes" },
        { 12, 12, "attn_fwd: not fitted, too few sizes; attn_bwd: not fitted, too few sizes" },
        { 9, 1, "attn_bwd: not fitted, too few sizes" },
    };
    const rig_class c[] = {
        { .name = "attn_fwd", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6 },
        { .name = "attn_bwd", .variable = PP_VARIABLE_TOKENS, .a = 2e-4, .b = 2e-6 },
        { .name = "attn_fwd ppsim", .variable = PP_VARIABLE_TOKENS, .a = 3e-3, .b = 1e-6 },
        { .name = "attn_bwd ppsim", .variable = PP_VARIABLE_TOKENS, .a = 4e-3, .b = 2e-6 },
        { 0 },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        pp_notes notes PP_CLEANUP(pp_notes_free) = { 0 };
        pp_profile *profile PP_CLEANUP(rig_free) = rig_profile(c);
        job j PP_CLEANUP(job_free);
        for (size_t i = 0; i < 4; i++) {
            profile->entry[i].fitted = cases[k].fitted >> i & 1;
            snprintf(profile->entry[i].reason, sizeof profile->entry[i].reason, "too few sizes");
        }
        job_new(&j, profile, PP_PROFILE_KERNELS, 0, true, 2);
        pp_costs *costs PP_CLEANUP(pp_costs_free) = job_costs(&j);
        for (size_t i = 0; i < 4; i++)
            ck_assert_int_eq(j.measured->use[i].asked > 0, cases[k].asked >> i & 1);
        STEP_OK(pp_measured_notes(j.measured, "h100-80g", &notes, &err), err);
        ck_assert_str_eq(note_of(&notes, PP_NOTE_REFUSED), cases[k].refused);
    }
}
END_TEST

/* The last stage is the last one that was measured, even if one before it has no form. */
START_TEST(a_stage_without_a_form_does_not_end_the_others)
{
    const rig_class c[] = {
        { .name = "stage_f 0", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6 },
        { .name = "stage_f 1", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6 },
        { .name = "stage_f 2", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6 },
        { .name = "stage_f 3", .variable = PP_VARIABLE_TOKENS, .a = 5e-4, .b = 1e-6 },
        { 0 },
    };
    pp_err err = { 0 };
    pp_measured_profile *m PP_CLEANUP(pp_measured_close) = NULL;
    pp_profile *profile PP_CLEANUP(rig_free) = rig_profile(c);
    profile->entry[2].fitted = false;
    STEP_OK(pp_measured_open(profile, PP_PROFILE_ALL, 8, &m, &err), err);
    ck_assert_uint_eq(m->stage[PP_STAGE_MIDDLE][0], 1);
    ck_assert_uint_eq(m->stage[PP_STAGE_LAST][0], 3);
}
END_TEST

START_TEST(stages_that_nothing_was_asked_of_are_not_reported)
{
    const rig_class c[] = {
        { .name = "stage_f", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6 },
        { .name = "stage_b", .variable = PP_VARIABLE_TOKENS, .a = 4e-4, .b = 2e-6 },
        { 0 },
    };
    pp_err err = { 0 };
    pp_notes notes PP_CLEANUP(pp_notes_free) = { 0 };
    pp_profile *profile PP_CLEANUP(rig_free) = rig_profile(c);
    job j PP_CLEANUP(job_free);
    job_new(&j, profile, PP_PROFILE_ALL, 16, true, 2);
    STEP_OK(pp_measured_notes(j.measured, "h100-80g", &notes, &err), err);
    ck_assert_str_eq(note_of(&notes, "measured stages"), "");
    ck_assert_str_eq(note_of(&notes, "I and W"), "");
}
END_TEST

START_TEST(ends_of_intervals_lie_around_the_fit)
{
    const rig_class c[] = {
        { .name = "stage_f", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6, .noise = 0.02 },
        { .name = "stage_b", .variable = PP_VARIABLE_TOKENS, .a = 4e-4, .b = 2e-6, .noise = 0.02 },
        { 0 },
    };
    pp_profile *profile PP_CLEANUP(rig_free) = rig_profile(c);
    job j PP_CLEANUP(job_free);
    job_new(&j, profile, PP_PROFILE_ALL, 16, false, 2);
    pp_ns f_ns[3];
    pp_ns b_ns[3];
    for (int k = 0; k < 3; k++) {
        pp_measured_move(j.measured, 0, k - 1);
        pp_costs *costs PP_CLEANUP(pp_costs_free) = job_costs(&j);
        f_ns[k] = costs->f_ns[0];
        b_ns[k] = costs->b_ns[0];
    }
    ck_assert_double_lt((double)f_ns[0], 0.98 * (double)f_ns[1]);
    ck_assert_double_gt((double)f_ns[2], 1.02 * (double)f_ns[1]);
    ck_assert_int_eq(b_ns[0], b_ns[1]);
    ck_assert_int_eq(b_ns[2], b_ns[1]);
}
END_TEST

/* The number of layers of imported stages is not known; the probe records that of its own
 * stages. */
START_TEST(layers_of_a_measured_stage_are_known_or_asked_for)
{
    rig_class c[] = {
        { .name = "stage_f", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6 },
        { .name = "stage_b", .variable = PP_VARIABLE_TOKENS, .a = 4e-4, .b = 2e-6 },
        { 0 },
    };
    for (int probe = 0; probe < 2; probe++) {
        pp_err err = { 0 };
        char settings[128];
        c[0].source = probe ? PROBE_SOURCE : NULL;
        pp_profile *profile PP_CLEANUP(rig_free) = rig_profile(c);
        pp_measured_profile *m PP_CLEANUP(pp_measured_close) = NULL;
        const pp_status status = pp_measured_open(profile, PP_PROFILE_ALL, 0, &m, &err);
        pp_measured_settings(profile, settings, sizeof settings);
        ck_assert_int_eq(status, probe ? PP_OK : PP_USAGE);
        ck_assert_str_eq(err.where, probe ? "" : "profile_layers");
        ck_assert_str_eq(settings, probe ? "hidden=64,heads=4,mlp=256" : "");
        if (probe)
            ck_assert_int_eq(m->layers, 2);
    }
}
END_TEST

START_TEST(classes_that_lack_are_named)
{
    const rig_class c[] = {
        { .name = "stage_i", .variable = PP_VARIABLE_TOKENS, .a = 1e-4, .b = 1e-6 },
        { 0 },
    };
    pp_err err = { 0 };
    char text[128];
    pp_profile *profile PP_CLEANUP(rig_free) = rig_profile(c);
    pp_measured_profile *m PP_CLEANUP(pp_measured_close) = NULL;
    STEP_OK(pp_measured_open(profile, PP_PROFILE_ALL, 1, &m, &err), err);
    ck_assert(!pp_measured_has_stages(m, text, sizeof text));
    ck_assert_str_eq(text, "stage_f, stage_b (or stage_i and stage_w)");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("measured");
    TCase *tc = tcase_create("measured");
    tcase_add_test(tc, stages_take_what_layers_took);
    tcase_add_test(tc, a_backward_measured_whole_is_halved);
    tcase_add_test(tc, measured_stages_bring_their_ends);
    tcase_add_test(tc, the_gap_of_the_host_is_counted_once);
    tcase_add_test(tc, of_two_stages_no_head_is_taken_for_a_layer);
    tcase_add_test(tc, sequences_of_a_pack_are_reported);
    tcase_add_test(tc, weight_gradients_are_asked_for_by_their_weight);
    tcase_add_test(tc, the_first_of_two_stages_represents_layers);
    tcase_add_test(tc, a_part_of_a_profile_leaves_the_rest);
    tcase_add_test(tc, products_are_those_of_their_weights);
    tcase_add_test(tc, formats_and_experts_have_classes_of_their_own);
    tcase_add_test(tc, a_precision_takes_the_products_measured_in_it);
    tcase_add_test(tc, experts_are_asked_for_together);
    tcase_add_test(tc, sizes_outside_the_domain_are_noted);
    tcase_add_test(tc, stages_of_unequal_layers_are_reported);
    tcase_add_test(tc, classes_that_answered_nothing_are_reported);
    tcase_add_test(tc, attention_is_of_one_source);
    tcase_add_test(tc, a_stage_without_a_form_does_not_end_the_others);
    tcase_add_test(tc, stages_that_nothing_was_asked_of_are_not_reported);
    tcase_add_test(tc, ends_of_intervals_lie_around_the_fit);
    tcase_add_test(tc, layers_of_a_measured_stage_are_known_or_asked_for);
    tcase_add_test(tc, classes_that_lack_are_named);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
