/* Divides the time of a request among the searches that answer it: the callbacks of the part
 * convert between the time of the part and that of the whole. */
#include "planner/study/budget_slice.h"

#include <float.h>
#include <math.h>

static double spent(void *context)
{
    const pp_budget_slice *s = context;
    const double gone = s->request->spent(s->request->context);
    return s->to > s->from ? (gone - s->from) / (s->to - s->from) : gone < s->to ? 0 : 1;
}

static bool is_over(void *context)
{
    const pp_budget_slice *s = context;
    return s->request->stop(s->request->context) || spent(context) >= 1;
}

static void pass_on(void *context, const pp_candidate *better)
{
    const pp_budget_slice *s = context;
    s->request->found(s->request->context, better);
}

static void pass_miss(void *context, const pp_report *nearest)
{
    const pp_budget_slice *s = context;
    s->request->missed(s->request->context, nearest);
}

void pp_budget_slice_cut(pp_budget_slice *slice, const pp_plan_request *request, double from,
                         double to, pp_plan_request *part)
{
    *slice = (pp_budget_slice){ .request = request, .from = from, .to = to };
    if (!request->stop || !request->spent)
        return; /* nothing to divide */
    part->context = slice;
    part->stop = is_over;
    part->spent = spent;
    if (request->budget_s > 0) /* 0 would mean that it is not known */
        part->budget_s = fmax((to - from) * request->budget_s, DBL_MIN);
    part->found = request->found ? pass_on : NULL;
    part->missed = request->missed ? pass_miss : NULL;
}

bool pp_budget_slice_take(pp_budget_slice *slice, const pp_plan_request *request, size_t parts,
                          pp_plan_request *part)
{
    const double from = request->stop && request->spent ? request->spent(request->context) : 0;
    pp_budget_slice_cut(slice, request, from, from + (1 - from) / (double)parts, part);
    return from < 1;
}
