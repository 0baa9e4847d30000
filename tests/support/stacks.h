/* Stacks of traces/data/stacks by name, each read once. */
#ifndef PPSIM_TESTS_SUPPORT_STACKS_H
#define PPSIM_TESTS_SUPPORT_STACKS_H

#include "sim/base/file.h"
#include "sim/job/stack.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of all stacks, ends with NULL. */
static inline const char *const *stack_names(void)
{
    static const char *const names[] = { "current",
                                         "megatron-2021",
                                         "megatron-2022",
                                         "megatron-2024",
                                         "nemo-2023",
                                         "megatron-2025",
                                         "megatron-bridge-2026",
                                         "nemo-2025",
                                         "torchtitan-2025",
                                         "pytorch-eager",
                                         NULL };
    return names;
}

static inline bool stack_read(const char *name, pp_stack *stack_out)
{
    char path[512];
    char *text = NULL;
    size_t bytes = 0;
    pp_err err = { 0 };
    snprintf(path, sizeof path, PPSIM_SOURCE_DIR "/traces/data/stacks/%s.json", name);
    if (pp_file_read(path, &text, &bytes, &err))
        return false;
    ck_assert_msg(pp_stack_parse(text, bytes, name, stack_out, &err) == PP_OK, "%s %s", err.where,
                  err.text);
    free(text);
    return true;
}

/* Returns NULL if there is no stack of this name. An alias has what it stands for. "every-schedule"
 * is megatron-2024, whose GPUs have their own speed, without its limits of schedules: searches have
 * all their choices with it, and the default stack may change. */
static inline const pp_stack *stack_or_null(const char *name)
{
    static pp_stack stacks[16];
    static size_t count;
    const bool every = strcmp(name, "every-schedule") == 0;
    pp_stack meant;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(stacks[i].name, name) == 0)
            return &stacks[i];
    }
    if (count == 16 || !stack_read(every ? "megatron-2024" : name, &stacks[count]))
        return NULL;
    if (every) {
        snprintf(stacks[count].name, sizeof stacks[count].name, "%s", name);
        stacks[count].has.free_schedules = true;
    }
    if (stacks[count].stands_for[0]) {
        ck_assert(stack_read(pp_stack_stands_for(&stacks[count], NULL), &meant));
        pp_stack_resolve(&meant, &stacks[count]);
    }
    return &stacks[count++];
}

static inline const pp_stack *stack_named(const char *name)
{
    const pp_stack *stack = stack_or_null(name);
    ck_assert_msg(stack != NULL, "there is no stack %s", name);
    return stack;
}

/* The switches of a stack on any GPU. */
static inline pp_switches stack_switches(const char *name, const pp_parallel *parallel)
{
    return pp_stack_switches(stack_named(name), NULL, parallel);
}

#endif
