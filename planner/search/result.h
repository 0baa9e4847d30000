/* The answer of a search: a plan, every candidate that was considered, and what the loops around
 * the search found, as values. */
#ifndef PPSIM_PLANNER_SEARCH_RESULT_H
#define PPSIM_PLANNER_SEARCH_RESULT_H

#include "planner/search/assumed.h"
#include "planner/search/search.h"
#include "sim/framework/target_limits.h"

/* ---- settings of the framework that were left free (planner/study/framework_choice.h) -------- */

typedef enum pp_setting_kind {
    PP_SETTING_FRAMEWORK,
    PP_SETTING_SHAPES,
    PP_SETTING_COMMUNICATORS,
    PP_SETTING_COPIES, /* this and the next two of sharded parameters: sharding_choice.h, */
    PP_SETTING_LOOKAHEAD,
    PP_SETTING_RESHARD, /* and planner/study/plan_search.h */
    PP_SETTING_COUNT,
} pp_setting_kind;

/* How much is known of a value. */
typedef enum pp_setting_standing {
    PP_SETTING_SEARCHED,
    PP_SETTING_RATED,        /* not searched: the best of a few named schedules with it */
    PP_SETTING_NOTHING_FITS, /* nothing was found that runs and fits */
    PP_SETTING_NOT_KNOWN,    /* the budget ended first */
    PP_SETTING_STANDINGS,
} pp_setting_standing;

/* One value of a setting; only the member of its kind is used. */
typedef struct pp_setting_value {
    const pp_framework *framework;
    pp_size_protocol shapes;
    pp_communicators communicators;
    int64_t copies, reshard_after_forward; /* as in pp_switches */
    int32_t unshard_lookahead;             /* as in pp_pytorch_settings */
    pp_setting_standing standing;
    pp_ns step_ns; /* of the best plan with it; 0: not searched, or on another number of GPUs */
    double more;   /* relative excess of step x GPUs over the chosen one; up to RATED */
    bool tie;      /* it ties with the chosen one */
    bool crowded;  /* unlike the chosen one, its plan does not leave the headroom */
} pp_setting_value;

typedef struct pp_setting_choice {
    pp_setting_value *value; /* [count]: the chosen one, then the others */
    size_t count;            /* 0: the setting was not free */
    bool one_size;           /* all microbatches have one size, so there were no shapes to choose */
} pp_setting_choice;

/* ---- packings (planner/study/packing_choice.h) ----------------------------------------------- */

typedef enum pp_packing_verdict {
    PP_PACKING_NOT_ASKED,
    PP_PACKING_UNSEARCHED,  /* the budget was used up before the search */
    PP_PACKING_NONE_BETTER, /* none was found that is better than the original microbatches */
    PP_PACKING_NO_GAIN,     /* the best one found is not measurably better */
    PP_PACKING_TAKEN,       /* the best one found is measurably better, or had to be taken */
    PP_PACKING_ONLY,        /* the original microbatches do not fit with any schedule */
} pp_packing_verdict;

typedef struct pp_packing_outcome {
    pp_packing_verdict verdict;
    pp_packing_method method; /* of the best packing found: NO_GAIN, TAKEN, ONLY */
    bool grouped;             /* before: the file's microbatches; otherwise first fit */
    double gain;              /* part of before_ns that it saves; negative: it costs more */
    pp_ns before_ns;          /* step of the original microbatches */
    double most;              /* largest part of before_ns that any packing saves */
    double above_bound;       /* ONLY: relative excess over the bound of any packing */
} pp_packing_outcome;

/* ---- limits of a target (planner/study/target.h) --------------------------------------------- */

/* The chosen plan compared with the best named schedule without the target's limits. */
typedef struct pp_target_cost {
    const pp_target_limits *target; /* NULL: not compared */
    const pp_schedule *schedule;    /* of the other plan; NULL: there is none */
    pp_ns step_ns;                  /* its step */
    double more;                    /* relative excess of step x GPUs over the other plan */
} pp_target_cost;

/* ---- the result ------------------------------------------------------------------------------ */

/* Owner frees with pp_search_result_free. */
typedef struct pp_search_result {
    pp_plan *plan;           /* version, command and assumptions are the caller's to fill */
    pp_why why;              /* where the time of the predicted step goes */
    pp_cost_context context; /* of its costs; model, hardware and overrides belong to the request */
    pp_assumed assumed;
    pp_bound bound;
    pp_candidate *candidate; /* [count]: the chosen one, other OK ones by speed, pruned, others */
    size_t count, ok, pruned, simulated;
    pp_candidate *split; /* [splits]: with request.gpus, the best of each legal split, as far as it
                            is known; the chosen one first */
    size_t splits;
    bool per_gpu; /* numbers of GPUs differ between candidates, so tokens/s per GPU are compared */
    bool stopped; /* the budget ended before the search did */
    pp_free_orders_outcome orders;
    pp_recommendation recommendation;
    pp_jitter_ranking ranking;
    pp_packing_outcome packing;
    pp_setting_choice setting[PP_SETTING_COUNT];
    pp_target_cost target;
} pp_search_result;

void pp_search_result_free(pp_search_result **choice); /* for PP_CLEANUP; *choice NULL is fine */
/* Fills in the names and numbers of a plan for a candidate; its orders, costs, stages and data are
 * the caller's to fill. */
void pp_search_describe(const pp_search *search, const pp_candidate *candidate, pp_plan *plan);

/* The score of the fastest plan in a result, whatever jitter or a tie made of it. */
double pp_search_result_fastest(const pp_search_result *result);

/* Makes the result of a finished search that found something. Plan and candidates move out of the
 * search, which can then only be closed with pp_search_close. Fails: INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_search_result_new(pp_search *search, const pp_search_outcome *outcome,
                                             pp_search_result **result_out, pp_err *err);

#endif
