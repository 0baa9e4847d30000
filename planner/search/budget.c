/* A part of the time of a search that is made of several. */
#include "planner/search/search_int.h"

static double spent(void *context)
{
    const pp_slice *s = context;
    const double gone = s->wish->spent(s->wish->context);
    return s->to > s->from ? (gone - s->from) / (s->to - s->from) : gone < s->to ? 0 : 1;
}

static bool is_over(void *context)
{
    const pp_slice *s = context;
    return s->wish->stop(s->wish->context) || spent(context) >= 1;
}

static void pass_on(void *context, const pp_candidate *better)
{
    const pp_slice *s = context;
    s->wish->found(s->wish->context, better);
}

static void pass_miss(void *context, const pp_report *nearest)
{
    const pp_slice *s = context;
    s->wish->missed(s->wish->context, nearest);
}

void pp_slice_cut(pp_slice *slice, const pp_wish *wish, double from, double to, pp_wish *part)
{
    *slice = (pp_slice){ .wish = wish, .from = from, .to = to };
    if (!wish->stop || !wish->spent)
        return; /* nothing to divide */
    part->context = slice;
    part->stop = is_over;
    part->spent = spent;
    part->found = wish->found ? pass_on : NULL;
    part->missed = wish->missed ? pass_miss : NULL;
}

bool pp_slice_take(pp_slice *slice, const pp_wish *wish, size_t parts, pp_wish *part)
{
    const double from = wish->stop && wish->spent ? wish->spent(wish->context) : 0;
    pp_slice_cut(slice, wish, from, from + (1 - from) / (double)parts, part);
    return from < 1;
}
