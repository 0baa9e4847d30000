/* The uncertainty of a step's time: the plan is simulated twice for each family of classes that it
 * used, with their times at the lower and at the upper bound of the 95 % interval. The deviations
 * are treated as independent and add up as the root of the sum of their squares. Cost: two
 * simulations per family. */
#include "calib/profile/uncertainty.h"

#include "calib/profile/measured_notes.h"

#include "sim/base/alloc.h"
#include "sim/base/minmax.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pp_status pp_entry_describe(const pp_profile_entry *entry, pp_text *text, pp_err *err)
{
    const pp_fit *fit = &entry->choice.fit;
    const bool knots = fit->form->terms == 0;
    pp_text_add(text, "%s:", fit->form->name);
    for (size_t k = 0; k < fit->parameters; k++)
        pp_text_add(text, "%s %s %.6g", k ? "," : "", fit->form->parameter[knots ? 0 : k].name,
                    fit->value[k]);
    return pp_text_check(text, err);
}

static pp_status add_classes(const pp_measured_profile *m, pp_plan *plan, pp_err *err)
{
    pp_notes_free(&plan->profile_classes);
    for (size_t i = 0; i < m->profile->count; i++) {
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        char name[96];
        if (!m->use[i].asked)
            continue;
        pp_status status = pp_entry_describe(&m->profile->entry[i], &text, err);
        if (!status)
            status = pp_notes_add(&plan->profile_classes, err,
                                  pp_entry_name(m->profile, i, name, sizeof name), "%s", text.data);
        if (status)
            return status;
    }
    return PP_OK;
}

pp_status pp_measured_describe(pp_measured_profile *measured, const pp_cost_context *context,
                               const char *hardware, pp_plan *plan, pp_err *err)
{
    pp_measured_move(measured, PP_ENTRY_NONE, 0);
    pp_measured_forget(measured);
    pp_status status = pp_plan_recost(context, plan, err);
    if (status || (status = add_classes(measured, plan, err)) ||
        (status = pp_measured_notes(measured, hardware, &plan->assumptions, err)))
        return status;
    snprintf(plan->profile_sha256, sizeof plan->profile_sha256, "%s", measured->profile->sha256);
    return PP_OK;
}

/* Simulates the plan with one family of classes at one bound of its interval. */
static pp_status simulate_moved(pp_measured_profile *m, const pp_cost_context *context,
                                const pp_plan *plan, size_t entry, int towards,
                                pp_report **report_out, pp_err *err)
{
    pp_plan moved = *plan; /* everything but the costs is shared */
    moved.costs = NULL;
    moved.costs_count = 0;
    pp_measured_move(m, entry, towards);
    pp_status status = pp_plan_recost(context, &moved, err);
    pp_measured_move(m, PP_ENTRY_NONE, 0);
    if (!status)
        status = pp_plan_simulate(&moved, NULL, NULL, NULL, report_out, err);
    for (uint32_t i = 0; moved.costs && i < moved.costs_count; i++)
        pp_costs_free(&moved.costs[i]);
    free(moved.costs);
    return status;
}

static void add_memory(const pp_report *report, pp_uncertainty *u)
{
    if (report->peak_memory_bytes < u->peak_low_bytes)
        u->peak_low_bytes = report->peak_memory_bytes;
    if (report->peak_memory_bytes > u->peak_high_bytes)
        u->peak_high_bytes = report->peak_memory_bytes;
}

static bool compute_was_asked(const pp_measured_profile *m)
{
    for (size_t i = 0; i < m->profile->count; i++) {
        if (m->use[i].asked && !m->profile->entry[i].link)
            return true;
    }
    return false;
}

static bool family_was_asked(const pp_measured_profile *m, size_t family)
{
    for (size_t i = family; i < m->profile->count; i++) {
        if (m->use[i].asked && pp_entry_family(m->profile, i) == family)
            return true;
    }
    return false;
}

static pp_status add_family(pp_measured_profile *m, const pp_cost_context *context,
                            const pp_plan *plan, size_t entry, pp_uncertainty *u, pp_err *err)
{
    pp_uncertain_part *part = &u->part[u->count];
    pp_entry_name(m->profile, entry, part->name, sizeof part->name);
    if (!m->profile->entry[entry].link)
        part->name[strcspn(part->name, " ")] = '\0';
    for (int towards = -1; towards <= 1; towards += 2) {
        pp_report *report PP_CLEANUP(pp_report_free) = NULL;
        pp_status status = simulate_moved(m, context, plan, entry, towards, &report, err);
        if (status)
            return status;
        part->less_ns = pp_max(part->less_ns, u->step_ns - report->step_ns);
        part->more_ns = pp_max(part->more_ns, report->step_ns - u->step_ns);
        add_memory(report, u);
    }
    u->count += part->less_ns || part->more_ns;
    return PP_OK;
}

static int compare_parts(const void *left, const void *right)
{
    const pp_uncertain_part *a = left, *b = right;
    const pp_ns x = pp_max(a->less_ns, a->more_ns), y = pp_max(b->less_ns, b->more_ns);
    return x != y ? (x > y ? -1 : 1) : strcmp(a->name, b->name);
}

static void sum_up(pp_uncertainty *u)
{
    double less = 0, more = 0;
    qsort(u->part, u->count, sizeof *u->part, compare_parts);
    for (size_t i = 0; i < u->count; i++) {
        less += (double)u->part[i].less_ns * (double)u->part[i].less_ns;
        more += (double)u->part[i].more_ns * (double)u->part[i].more_ns;
    }
    u->step_low_ns = pp_max(0, u->step_ns - (pp_ns)(sqrt(less) + 0.5));
    u->step_high_ns = u->step_ns + (pp_ns)(sqrt(more) + 0.5);
}

pp_status pp_measured_uncertainty(pp_measured_profile *measured, const pp_cost_context *context,
                                  const pp_plan *plan, pp_uncertainty *uncertainty_out, pp_err *err)
{
    const size_t count = measured->profile->count;
    pp_uncertainty u PP_CLEANUP(pp_uncertainty_free) = { 0 };
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_status status = pp_plan_simulate(plan, NULL, NULL, NULL, &report, err);
    if (status)
        return status;
    u.step_ns = report->step_ns;
    u.links_only = !compute_was_asked(measured);
    u.has_memory = report->has_memory;
    u.peak_low_bytes = u.peak_high_bytes = report->peak_memory_bytes;
    u.part = pp_alloc_array(count + 1, sizeof *u.part);
    if (!u.part)
        return pp_err_nomem(err);
    for (size_t i = 0; i < count && !status; i++) {
        memset(&u.part[u.count], 0, sizeof *u.part);
        if (pp_entry_family(measured->profile, i) == i && family_was_asked(measured, i))
            status = add_family(measured, context, plan, i, &u, err);
    }
    if (status)
        return status;
    pp_uncertainty_free(uncertainty_out);
    if (!u.count)
        return PP_OK; /* nothing in the step depends on the profile, so there is no interval */
    sum_up(&u);
    *uncertainty_out = u;
    u = (pp_uncertainty){ 0 };
    return PP_OK;
}
