/* A stack: a training framework of some time, what it has, how it is set, and what it leaves of the
 * speed of kernels. It is read from a file ("format":"ppsim.stack"); traces/data/stacks/ has those
 * of known frameworks, each number with its source. docs/explanation/cost-model.md explains the
 * cost of each setting. */
#ifndef PPSIM_SIM_JOB_STACK_H
#define PPSIM_SIM_JOB_STACK_H

#include "sim/base/status.h"
#include "sim/job/hardware.h"
#include "sim/job/software.h"

#define PP_STACK_GPUS_MAX 16
#define PP_STACK_SETTINGS 13 /* that are on or off */

/* What a stack has; a plan has nothing that its stack lacks. */
typedef struct pp_stack_features {
    bool sequence_parallel, distributed_optimizer, context_parallel, expert_parallel,
        selective_recompute;
    bool recompute_modules;        /* selective recomputation of others than the attention core */
    bool free_schedules;           /* false: Megatron's schedules, and all stages recompute alike */
    bool precision[PP_PRECISIONS]; /* trains in it; bf16 always */
} pp_stack_features;

/* What a stack makes of the GPUs of one architecture. sustained: the speed of kernels in a whole
 * step, as a share of that in short loops, with 16-bit GEMMs, and with GEMMs in 8 or 4 bits. Fitted
 * to steps, it may exceed 1; 0: not known, the hardware's. The others are those of pp_switches. */
typedef struct pp_stack_gpu {
    char architecture[32];
    double sustained, sustained_low, growth, power_limit, step_offset_s;
} pp_stack_gpu;

/* An alias stands for another stack on the GPUs of this architecture. */
typedef struct pp_stack_alias {
    char architecture[32], stack[64];
} pp_stack_alias;

typedef struct pp_stack {
    char name[256];      /* that of a file is its path */
    char stands_for[64]; /* of an alias: the stack that is meant; "": it is no alias */
    pp_stack_alias on[PP_STACK_GPUS_MAX]; /* [on_count]: where an alias stands for others */
    size_t on_count;
    char sha256[65]; /* of a file: of its content; "": it is built in */
    char summary[160];
    pp_stack_features has;
    pp_switches switches;
    pp_stack_gpu gpu[PP_STACK_GPUS_MAX];
    size_t gpu_count;
} pp_stack;

/* Parses a stack file. file: what messages call it. Of an alias only names, summary and
 * free_schedules are set: pp_stack_resolve adds the others.
 * Fails: INPUT with file and JSON Pointer, NOMEM. */
PP_MUST_CHECK pp_status pp_stack_parse(const char *text, size_t bytes, const char *file,
                                       pp_stack *stack_out, pp_err *err);

/* The stack for which an alias stands on a hardware. NULL: where nothing else is said. */
const char *pp_stack_stands_for(const pp_stack *alias, const pp_hardware *hardware);

/* Gives an alias what the stack has for which it stands. Free schedules of the alias remain. */
void pp_stack_resolve(const pp_stack *meant, pp_stack *alias);

/* The name of the stack that is meant: that of an alias is the stack for which it stands. */
const char *pp_stack_meant(const pp_stack *stack);
/* "nemo-2025", "current (megatron-bridge-2026)". Returns buffer. */
const char *pp_stack_print(const char *name, const char *stands_for, char *buffer, size_t size);

/* Settings of a job that are not those of its stack. */
typedef struct pp_stack_changes {
    signed char to[PP_STACK_SETTINGS]; /* 1 on, -1 off, 0 as the stack has it */
    bool has_dtype;
    pp_dtype dtype;
    pp_communicators communicators;
} pp_stack_changes;

/* The key of a setting in stack files. index: below PP_STACK_SETTINGS. */
const char *pp_stack_setting_name(size_t index);
/* What was changed from the switches of the stack to those of the job. */
pp_stack_changes pp_stack_changes_of(const pp_switches *stack, const pp_switches *job);
/* Makes these changes to the switches of the stack. */
void pp_stack_change(const pp_stack_changes *changes, pp_switches *switches);

/* The switches of a stack. recompute is AUTO; if the stack supports them, sequence_parallel is
 * tp > 1, and zero is 1 where dp x cp > 1. hardware: NULL takes the kernels' speed from the
 * hardware. */
pp_switches pp_stack_switches(const pp_stack *stack, const pp_hardware *hardware,
                              const pp_parallel *parallel);

#endif
