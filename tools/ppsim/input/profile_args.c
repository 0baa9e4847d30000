/* Reads --profile and the options that belong to it. The profile then gives costs to the cost
 * model, --hw completes what the profile does not hold, and the plan gets notes about how far its
 * costs can be trusted. */
#include "tools/ppsim/input/profile_args.h"

#include "runtime/cpu/settings.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/input/load.h"

#include <stdio.h>
#include <string.h>

pp_status pp_profile_given(const pp_args *args, pp_profile_in_use *use, pp_err *err)
{
    static const char *const others[] = { "--profile-only", "--profile-layers", "--recost", NULL };
    use->path = pp_args_text(args, "--profile");
    for (size_t i = 0; others[i] && !use->path; i++) {
        if (pp_args_has(args, others[i]))
            return pp_err_set(err, PP_USAGE, others[i], "needs --profile FILE");
    }
    if (!use->path)
        return PP_OK;
    const pp_input *known = pp_inputs_find(use->inputs, PP_INPUT_PROFILE, use->path);
    pp_status status = known ? PP_OK : pp_load_profile(use->path, &use->owned, err);
    use->profile = known ? known->profile : use->owned;
    return status;
}

pp_status pp_profile_options(const pp_args *args, pp_profile_in_use *use, pp_err *err)
{
    static const char *const parts[] = { "kernels", "links", NULL };
    int64_t layers = 0;
    int part = -1;
    if (!use->profile)
        return PP_OK;
    pp_status status = pp_args_choice(args, "--profile-only", parts, &part, err);
    if (status ||
        (status = pp_args_int(args, "--profile-layers", 1, PP_MODEL_LAYERS_MAX, &layers, err)))
        return status;
    return pp_measured_open(use->profile, (pp_profile_part)(part + 1), layers, &use->measured, err);
}

void pp_profile_release(pp_profile_in_use *use)
{
    pp_measured_close(&use->measured);
    pp_profile_free(&use->owned);
    use->profile = NULL;
}

static bool read_settings(const pp_profile_in_use *use, char *text, size_t size,
                          pp_cpu_settings *settings_out)
{
    pp_err ignored = { 0 };
    if (!use->measured || !pp_measured_has_stages(use->measured, text, size))
        return false;
    pp_measured_settings(use->profile, text, size);
    return *text && !pp_cpu_settings_parse(text, settings_out, &ignored);
}

bool pp_profile_settings(const pp_profile_in_use *use, char *settings_out, size_t size,
                         pp_dtype *dtype_out)
{
    pp_cpu_settings s;
    if (!read_settings(use, settings_out, size, &s))
        return false;
    *dtype_out = s.single ? PP_DTYPE_FP32 : PP_DTYPE_FP64;
    return true;
}

/* Refuses a model whose layers differ from those that the probe of compute cpu measured, because
 * their times would differ, too. */
static pp_status check_shape(const pp_profile_in_use *use, const pp_model *model, pp_err *err)
{
    char text[128];
    pp_cpu_settings s;
    if (!read_settings(use, text, sizeof text, &s))
        return PP_OK;
    if (model->kv_heads != model->heads || model->gated_mlp || model->experts ||
        model->pattern.runs)
        return pp_err_set(err, PP_USAGE, "--profile",
                          "%.200s was measured with compute cpu, which cannot run the layers of "
                          "%s: each of its heads has its own keys and values, and its MLP has no "
                          "gate and no experts; use --profile-only links and --hw",
                          use->path, model->name);
    if (s.hidden == model->hidden && s.heads == model->heads && s.mlp == model->ffn)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, "--profile",
                      "%.200s was measured with %s, but the layers of %s are different; measure "
                      "them: ppsim calibrate --compute-settings hidden=%lld,heads=%lld,mlp=%lld",
                      use->path, text, model->name, (long long)model->hidden,
                      (long long)model->heads, (long long)model->ffn);
}

pp_status pp_profile_hardware(const pp_args *args, pp_profile_in_use *use, const pp_model *model,
                              pp_hardware *hardware_out, pp_err *err)
{
    const char *name = pp_args_text(args, "--hw");
    char lacks[128];
    pp_status status = check_shape(use, model, err);
    if (status)
        return status;
    if (name) {
        const pp_input *known = pp_inputs_find(use->inputs, PP_INPUT_HARDWARE, name);
        if (known)
            *hardware_out = known->hardware;
        else
            status = pp_load_hardware(name, hardware_out, err);
        use->hardware = hardware_out->name;
    } else if (!pp_measured_has_stages(use->measured, lacks, sizeof lacks)) {
        status = pp_err_set(
            err, PP_USAGE, "--hw",
            "is missing: %.200s%s has no %s; name hardware that provides the missing figures",
            use->path, use->measured->part == PP_PROFILE_LINKS ? " (links only)" : "", lacks);
    } else {
        const char *cpu = use->profile->environment.cpu;
        const char *device = use->profile->samples.device;
        pp_hardware_unknown(*device ? device : *cpu ? cpu : "the profile's machine", hardware_out);
    }
    hardware_out->measured = &use->measured->measured;
    return status;
}

static bool is_warning(const pp_note *note)
{
    return strcmp(note->key, PP_NOTE_OUTSIDE) == 0 || strcmp(note->key, PP_NOTE_REFUSED) == 0 ||
           strcmp(note->key, PP_NOTE_UNEQUAL) == 0;
}

void pp_profile_warnings(const pp_notes *assumptions, pp_text *text)
{
    for (size_t i = 0; i < assumptions->count; i++) {
        const pp_note *note = &assumptions->note[i];
        if (is_warning(note))
            pp_text_add(text, "%s%s: %s", text->bytes ? "; " : "", note->key, note->value);
    }
}

static void warn(const pp_profile_in_use *use, const pp_notes *notes)
{
    for (size_t i = 0; i < notes->count && !use->quiet; i++) {
        const pp_note *note = &notes->note[i];
        if (is_warning(note))
            pp_remark("%s: %s: %s", use->path, note->key, note->value);
    }
}

pp_status pp_profile_finish(const pp_profile_in_use *use, const pp_cost_context *context,
                            pp_plan *plan, pp_err *err)
{
    char settings[sizeof plan->compute_settings];
    pp_dtype ignored;
    if (!use->measured)
        return PP_OK;
    plan->compute_settings[0] = '\0';
    if (pp_profile_settings(use, settings, sizeof settings, &ignored))
        snprintf(plan->compute_settings, sizeof plan->compute_settings, "%s", settings);
    pp_status status = pp_measured_describe(use->measured, context, use->hardware, plan, err);
    if (!status)
        status = pp_measured_uncertainty(use->measured, context, plan, &plan->uncertainty, err);
    pp_report *report = plan->prediction;
    if (!status && report) {
        pp_notes_free(&report->assumptions);
        status = pp_notes_copy(&plan->assumptions, &report->assumptions, err);
    }
    if (!status && report)
        status = pp_uncertainty_copy(&plan->uncertainty, &report->uncertainty, err);
    if (!status)
        warn(use, &plan->assumptions);
    return status;
}
