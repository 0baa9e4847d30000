/* The suggestions for names that people type. */
#include "sim/base/synonyms.h"

#include "sim/base/text.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"
#include "tests/support/step.h"

#include <check.h>
#include <string.h>

static const char *const models[] = { "deepseek-v3", "gpt1.7b",    "gpt175b",      "gpt3.6b",
                                      "gpt530b",     "llama2-70b", "llama2-7b",    "llama3-405b",
                                      "llama3-70b",  "llama3-8b",  "mixtral-8x7b", NULL };
static const char *const hardware[] = { "a100-80g",      "b200-180g", "b300-288g",   "gb200-nvl72",
                                        "gb300-nvl72",   "h100-80g",  "h20-96g",     "h200-141g",
                                        "h800-80g",      "l40s-48g",  "mi300x-192g", "mi325x-256g",
                                        "mi355x-288g",   "tpu-v5p",   "tpu-v6e",     "trn2",
                                        "v100-16g-mesh", "v100-32g",  NULL };
static const char *const plan[] = { "gpus",
                                    "pp",
                                    "hw",
                                    "output",
                                    "seq-length",
                                    "micro-batch-size",
                                    "global-batch-size",
                                    "memory-limit",
                                    "recompute",
                                    "vpp",
                                    NULL };
static const char *const metrics[] = { "step",        "makespan",         "step-high",
                                       "peak-memory", "peak-memory-rank", NULL };
static const char *const columns[] = { "step_ns", "tokens_per_s", "model_flops_utilization", NULL };
static const char *const no_noun[] = { "hidden", "heads", "head_dim", NULL };

typedef struct hint_case {
    const char *noun;
    const char *const *names; /* NULL: the schedules */
    const char *typed, *hint;
} hint_case;

static const hint_case hints[] = {
    { "model", models, "gpt3", ", did you mean 'gpt175b'?" },
    { "model", models, "GPT-3", ", did you mean 'gpt175b'?" },
    { "model", models, "llama3", ", did you mean 'llama3-405b', 'llama3-70b' or 'llama3-8b'?" },
    { "model", models, "llama-3-70b", ", did you mean 'llama3-70b'?" },
    { "model", models, "Meta-Llama-3-8B-Instruct", ", did you mean 'llama3-8b'?" },
    { "model", models, "llama3.1-70b", ", did you mean 'llama3-70b'?" },
    { "model", models, "Llama-3.1-70B-Instruct", ", did you mean 'llama3-70b'?" },
    { "model", models, "Llama-2-7b-hf", ", did you mean 'llama2-7b'?" },
    { "model", models, "deepseek", ", did you mean 'deepseek-v3'?" },
    { "model", models, "mixtral", ", did you mean 'mixtral-8x7b'?" },
    { "model", models, "Mixtral-8x7B-v0.1", ", did you mean 'mixtral-8x7b'?" },
    { "model", models, "gpt175d", ", did you mean 'gpt175b'?" },
    { "model", models, "qwen", "" },
    { "hardware", hardware, "h100-pcie", ", did you mean 'h100-80g'?" },
    { "hardware", hardware, "A100-40GB", ", did you mean 'a100-80g'?" },
    { "hardware", hardware, "mi250x", "" },
    { "hardware", hardware, "tpu", ", did you mean 'tpu-v5p' or 'tpu-v6e'?" },
    { "schedule", NULL, "zero-bubble",
      ", did you mean 'interleaved-zb', 'zb-h1', 'zb-h2' or 'zbv'?" },
    { "schedule", NULL, "ZeroBubble",
      ", did you mean 'interleaved-zb', 'zb-h1', 'zb-h2' or 'zbv'?" },
    { "schedule", NULL, "vpp", ", did you mean 'interleaved'?" },
    { "schedule", NULL, "interleaved-1f1b", ", did you mean 'interleaved'?" },
    { "schedule", NULL, "1F1B", ", did you mean '1f1b'?" },
    { "schedule", NULL, "GPipe", ", did you mean 'gpipe'?" },
    { "schedule", NULL, "zbh1", ", did you mean 'zb-h1'?" },
    { "schedule", NULL, "gpiep", ", did you mean 'gpipe'?" },
    { "option", plan, "batch-size", ", did you mean 'micro-batch-size' or 'global-batch-size'?" },
    { "option", plan, "gpu", ", did you mean 'gpus'?" },
    { "option", plan, "ngpus", ", did you mean 'gpus'?" },
    { "option", plan, "num-gpus", ", did you mean 'gpus'?" },
    { "option", plan, "sequence-length", ", did you mean 'seq-length'?" },
    { "option", plan, "seq-len", ", did you mean 'seq-length'?" },
    { "option", plan, "hardware", ", did you mean 'hw'?" },
    { "option", plan, "out", ", did you mean 'output'?" },
    { "option", plan, "micro-batch", ", did you mean 'micro-batch-size'?" },
    { "option", plan, "vp", ", did you mean 'vpp'?" },
    { "option", plan, "activation-checkpointing", ", did you mean 'recompute'?" },
    { "option", plan, "frobnicate", "" },
    { "option", plan, "", "" },
    { "metric", metrics, "step-time", ", did you mean 'step'?" },
    { "metric", metrics, "steptime", ", did you mean 'step'?" },
    { "metric", metrics, "memory", ", did you mean 'peak-memory'?" },
    { "metric", columns, "step-time", ", did you mean 'step_ns'?" },
    { "metric", columns, "mfu", ", did you mean 'model_flops_utilization'?" },
    { NULL, no_noun, "head", ", did you mean 'heads' or 'head_dim'?" },
    { NULL, no_noun, "hiden", ", did you mean 'hidden'?" },
};

START_TEST(suggestions)
{
    const hint_case *c = &hints[_i];
    char hint[PP_TEXT_HINT_BYTES];
    pp_text_search search = pp_text_search_begin(c->noun, c->typed);
    for (size_t i = 0; c->names ? c->names[i] != NULL : i < pp_schedule_count(); i++)
        pp_text_search_offer(&search, c->names ? c->names[i] : pp_schedule_at(i)->name);
    ck_assert_str_eq(pp_text_search_hint(&search, hint), c->hint);
}
END_TEST

typedef struct alias_case {
    const char *typed, *name; /* NULL: it is not another name of any hardware */
} alias_case;

static const alias_case aliases[] = {
    { "H100", "h100-80g" },
    { "h100", "h100-80g" },
    { "H100-80GB", "h100-80g" },
    { "h100_sxm5", "h100-80g" },
    { "A100", "a100-80g" },
    { "b200", "b200-180g" },
    { "L40S", "l40s-48g" },
    { "v100", "v100-32g" },
    { "H200", "h200-141g" },
    { "GB200", "gb200-nvl72" },
    { "gb300", "gb300-nvl72" },
    { "b300", "b300-288g" },
    { "H800", "h800-80g" },
    { "h20", "h20-96g" },
    { "MI300X", "mi300x-192g" },
    { "mi325x", "mi325x-256g" },
    { "mi355x", "mi355x-288g" },
    { "v100-16gb", "v100-16g-mesh" },
    { "trainium2", "trn2" },
    { "TPU-v5p", "tpu-v5p" },
    { "trillium", "tpu-v6e" },
    { "tpu", NULL },
    { "a100-40gb", NULL },
    { "h100-pcie", NULL },
    { "gh200", NULL },
    { "h", NULL },
    { "", NULL },
};

START_TEST(other_names_of_hardware)
{
    const alias_case *c = &aliases[_i];
    for (size_t i = 0; hardware[i]; i++)
        ck_assert_msg(pp_hardware_alias(c->typed, hardware[i]) ==
                          (c->name && strcmp(c->name, hardware[i]) == 0),
                      "%s and %s", c->typed, hardware[i]);
}
END_TEST

START_TEST(other_names_of_models)
{
    ck_assert(pp_model_alias("qwen3-235b", "qwen3-235b-a22b"));
    ck_assert(pp_model_alias("Qwen3-30B", "qwen3-30b-a3b"));
    ck_assert(!pp_model_alias("qwen3-235b", "qwen3-30b-a3b"));
    ck_assert(!pp_model_alias("gpt-175b", "gpt175b")); /* only suggested */
    ck_assert(!pp_model_alias("", "qwen3-235b-a22b"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("synonyms");
    TCase *tc = tcase_create("synonyms");
    tcase_add_loop_test(tc, suggestions, 0, sizeof hints / sizeof hints[0]);
    tcase_add_loop_test(tc, other_names_of_hardware, 0, sizeof aliases / sizeof aliases[0]);
    tcase_add_test(tc, other_names_of_models);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
