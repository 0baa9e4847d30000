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
    static const char *const names[] = { "current", "megatron-2021", "megatron-2022", NULL };
    return names;
}

/* Returns NULL if there is no stack of this name. */
static inline const pp_stack *stack_or_null(const char *name)
{
    static pp_stack stacks[16];
    static size_t count;
    char path[512];
    char *text = NULL;
    size_t bytes = 0;
    pp_err err = { 0 };
    for (size_t i = 0; i < count; i++) {
        if (strcmp(stacks[i].name, name) == 0)
            return &stacks[i];
    }
    snprintf(path, sizeof path, PPSIM_SOURCE_DIR "/traces/data/stacks/%s.json", name);
    if (count == 16 || pp_file_read(path, &text, &bytes, &err))
        return NULL;
    ck_assert_msg(pp_stack_parse(text, bytes, name, &stacks[count], &err) == PP_OK, "%s %s",
                  err.where, err.text);
    free(text);
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
