#include "planner/target.h"

#include "planner/choose_int.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const megatron_schedules[] = { "1f1b", "interleaved", NULL };
static const char *const overlapped[] = { "dualpipev", NULL };

static const pp_target targets[] = {
    { .name = "torchtitan",
      .rules = "torchtitan runs rows from a file (pipeline_parallel_schedule_csv): any order with "
               "every stage on one rank, on a loop or a V of two; one size for all microbatches; "
               "one order for all replicas",
      .executor = "torch",
      .orders = true,
      .one_order = true,
      .recompute_uniform = true,
      .constant_shapes = true },
    { .name = "automodel",
      .rules =
          "AutoModel runs rows from a file (pp_schedule_csv): as torchtitan, but stages go on a "
          "V for ZBVZeroBubble only, so not dualpipev",
      .executor = "torch",
      .never = overlapped,
      .orders = true,
      .one_order = true,
      .recompute_uniform = true,
      .constant_shapes = true },
    { .name = "megatron",
      .rules = "Megatron-LM makes its schedule itself: 1f1b or interleaved, backwards not split, "
               "stages on a loop; unequal microbatches send their sizes (variable_seq_lengths)",
      .executor = "megatron",
      .only = megatron_schedules,
      .recompute_alike = true,
      .unequal = PP_SHAPES_MESSAGE },
    { .name = "ppsim",
      .rules = "ppsim run executes every plan",
      .executor = "ppsim",
      .orders = true,
      .unequal = PP_SHAPES_PLAN },
};

pp_status pp_target_get(const char *name, const pp_target **target_out, pp_err *err)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (strcmp(targets[i].name, name) == 0) {
            *target_out = &targets[i];
            return PP_OK;
        }
    }
    return pp_err_set(err, PP_USAGE, "--target",
                      "'%.64s' is no target; it may be torchtitan, automodel, megatron or ppsim",
                      name);
}

static bool is_in(const char *const *names, const char *name)
{
    for (size_t i = 0; names && names[i]; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static pp_status check(const pp_target *target, bool shapes_given, const pp_wish *wish, pp_err *err)
{
    const char *schedule = wish->schedule                      ? wish->schedule->name
                           : wish->orders == PP_ORDERS_PLANNED ? "planned"
                                                               : NULL;
    if (wish->executor && strcmp(wish->executor, target->executor) != 0)
        return pp_err_set(err, PP_USAGE, "--executor",
                          "target %s communicates as executor %s does; leave the option out",
                          target->name, target->executor);
    if (schedule &&
        ((target->only && !is_in(target->only, schedule)) || is_in(target->never, schedule)))
        return pp_err_set(err, PP_INFEASIBLE, "--schedule",
                          "target %s does not run %s; leave out the option, or the target",
                          target->name, schedule);
    if (shapes_given && target->constant_shapes && wish->exchange.shapes.kind != PP_SHAPES_PADDED)
        return pp_err_set(err, PP_USAGE, "--shapes",
                          "target %s takes one size for all microbatches; leave the option out, or "
                          "give padded",
                          target->name);
    return PP_OK;
}

pp_status pp_target_apply(const pp_target *target, bool shapes_given, pp_wish *wish, pp_err *err)
{
    pp_status status = check(target, shapes_given, wish, err);
    if (status)
        return status;
    wish->executor = target->executor;
    wish->target = target->rules;
    wish->never = target->never;
    wish->one_order |= target->one_order;
    wish->recompute_alike |= target->recompute_alike;
    wish->recompute_uniform |= target->recompute_uniform;
    if (!wish->schedule)
        wish->only = target->only;
    if (!target->orders)
        wish->orders = PP_ORDERS_NAMED;
    if (wish->lengths && !shapes_given)
        wish->exchange.shapes.kind = target->constant_shapes ? PP_SHAPES_PADDED : target->unequal;
    return PP_OK;
}

/* "1.20 % (v-half, tp 8, 9.479 s)" */
static void say_more(const pp_candidate *c, const pp_candidate *f, char *text, size_t size)
{
    char step[32];
    double more = 100 * (pp_candidate_score(c, c->step_ns) / pp_candidate_score(f, f->step_ns) - 1);
    pp_format_duration(step, sizeof step, f->step_ns);
    if (fabs(more) * PP_MEASURABLE_GAIN < 100)
        snprintf(text, size, "nothing measurable");
    else
        snprintf(text, size, "%.2f %% (%s, tp %d: %s)", more, f->schedule->name,
                 (int)f->parallel.tp, step);
}

/* The cost against one other search. */
static pp_status compare(const pp_wish *wish, const pp_candidate *c, char *text, size_t size,
                         pp_err *err)
{
    pp_choice *other PP_CLEANUP(pp_choice_free) = NULL;
    pp_err why = { 0 };
    pp_status status = pp_choose(wish, &other, &why);
    if (status == PP_NOMEM) {
        *err = why;
        return status;
    }
    if (other && other->stopped)
        snprintf(text, size, "what is not known, as the budget ended first");
    else if (other)
        say_more(c, &other->candidate[0], text, size);
    else
        snprintf(text, size, "what is not known: %.80s", why.text);
    return PP_OK;
}

pp_status pp_target_compare(const pp_target *target, const pp_wish *free_wish, pp_choice *choice,
                            pp_err *err)
{
    const pp_candidate *c = &choice->candidate[0];
    pp_wish alike = *free_wish;
    char limits[120];
    char all[120];
    alike.executor = target->executor;
    pp_status status = compare(&alike, c, limits, sizeof limits, err);
    if (status || (status = compare(free_wish, c, all, sizeof all, err)))
        return status;
    snprintf(choice->target, sizeof choice->target,
             "limits of %s cost %s; against the free choice with executor %s it costs %s",
             target->name, limits, free_wish->executor ? free_wish->executor : "ideal", all);
    status = pp_notes_add(&choice->plan->assumptions, err, "target cost", "%s", choice->target);
    return status ? status
                  : pp_notes_add(&choice->plan->prediction->assumptions, err, "target cost", "%s",
                                 choice->target);
}
