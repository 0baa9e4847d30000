/* The agreement: before the first op all ranks check that they are about to run the same program,
 * sizes and settings. */
#ifndef PPSIM_RUNTIME_CORE_AGREEMENT_H
#define PPSIM_RUNTIME_CORE_AGREEMENT_H

#include "runtime/core/run.h"

/* What a rank is about to run, as numbers that must be equal on all ranks. */
typedef struct pp_agreement {
    uint64_t program; /* pp_program_hash */
    uint64_t version; /* of ppsim and of this struct */
    uint64_t work;    /* compute, its settings and seed */
    uint64_t how;     /* numbers of steps, and what is carried and counted */
    int64_t microbatches, ops, message_bytes;
} pp_agreement;

/* Returns a hash of everything that execution depends on: ops, steps, transfers, and the bytes of
 * tensors. */
uint64_t pp_program_hash(const pp_program *program, const pp_costs *costs);

/* pp_agreement_on fills in what is known before a run; program_hash is pp_program_hash of both
 * arguments. pp_agreement_of adds the options of the run. */
pp_agreement pp_agreement_on(const pp_program *program, const pp_costs *costs,
                             uint64_t program_hash);
pp_agreement pp_agreement_of(const pp_interpreter *in, const pp_run_options *options);

/* all: [ranks]. Fails: INPUT, naming the ranks that differ from the majority, and in what. */
PP_MUST_CHECK pp_status pp_agreement_check(const pp_agreement *all, uint32_t ranks, pp_err *err);

#endif
