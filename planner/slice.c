/* A part of the time of a search that is made of several. */
#include "planner/choose_int.h"

static double spent(void *context)
{
    const pp_slice *s = context;
    const double gone = s->wish->spent(s->wish->context);
    return s->to > s->from ? (gone - s->from) / (s->to - s->from) : gone < s->to ? 0 : 1;
}

static bool is_over(void *context)
{
    return spent(context) >= 1;
}

static void pass_on(void *context, const pp_candidate *better)
{
    const pp_slice *s = context;
    s->wish->found(s->wish->context, better);
}

bool pp_slice_take(pp_slice *slice, const pp_wish *wish, size_t parts, pp_wish *part)
{
    *slice = (pp_slice){ .wish = wish };
    if (!wish->stop || !wish->spent)
        return true; /* nothing to divide */
    if (wish->found)
        part->found = pass_on;
    part->context = slice;
    slice->from = wish->spent(wish->context);
    slice->to = slice->from + (1 - slice->from) / (double)parts;
    part->stop = is_over;
    part->spent = spent;
    return slice->from < 1;
}
