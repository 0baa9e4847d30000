/* Pipeline ranks on machines of several kinds: docs/reference/formats.md, "ppsim.cluster". What
 * differs becomes overrides of ranks, so that everything that supports those supports clusters. */
#ifndef PPSIM_PLANNER_STUDY_CLUSTER_H
#define PPSIM_PLANNER_STUDY_CLUSTER_H

#include "planner/candidate/request.h"

#define PP_CLUSTER_CLASSES_MAX 8
#define PP_CLUSTER_LINKS_MAX 64

typedef struct pp_cluster {
    char name[64]; /* empty: the file is not a cluster file */
    uint32_t classes;
    struct {
        char hardware[256]; /* a name of `ppsim list hardware`, or a file */
        uint32_t ranks;     /* pipeline ranks, one class after the other */
    } class[PP_CLUSTER_CLASSES_MAX];
    uint32_t links;
    pp_rank_override link[PP_CLUSTER_LINKS_MAX];
} pp_cluster;

/* For a file of another format, returns PP_OK and leaves the name empty. Fails: INPUT with file and
 * JSON pointer, NOMEM. */
PP_MUST_CHECK pp_status pp_cluster_parse(const char *text, size_t bytes, const char *file,
                                         pp_cluster *cluster_out, pp_err *err);

/* Adds the speeds and memory limits of the ranks of all classes but the first, and the links.
 * Overrides that are already there stay. hardware: [classes]; request->hardware is the first.
 * speed_out: [classes], relative to the first class: F + I + W of all layers for one micro-batch of
 * request, with its tp (1 where it is free). Fails: USAGE (pp is not the number of ranks), NOMEM,
 * as pp_cost_unit. */
PP_MUST_CHECK pp_status pp_cluster_rank_overrides(const pp_cluster *cluster,
                                                  const pp_hardware *hardware,
                                                  const pp_plan_request *request,
                                                  pp_rank_overrides *overrides, double *speed_out,
                                                  pp_err *err);

#endif
