#include "sim/program.h"

#include "sim/text.h"

#include <stdlib.h>
#include <string.h>

#define PP_EXECUTOR(id) extern const pp_executor pp_executor_##id;
#include "sim/executors.def"
#undef PP_EXECUTOR

static const pp_executor *const executors[] = {
#define PP_EXECUTOR(id) &pp_executor_##id,
#include "sim/executors.def"
#undef PP_EXECUTOR
};

enum { EXECUTOR_COUNT = sizeof executors / sizeof executors[0] };

size_t pp_executor_count(void)
{
    return EXECUTOR_COUNT;
}

const pp_executor *pp_executor_at(size_t index)
{
    return executors[index];
}

pp_status pp_executor_get(const char *name, const pp_executor **executor_out, pp_err *err)
{
    const char *names[EXECUTOR_COUNT + 1] = { NULL };
    for (size_t i = 0; i < EXECUTOR_COUNT; i++) {
        names[i] = executors[i]->name;
        if (strcmp(names[i], name) == 0) {
            *executor_out = executors[i];
            return PP_OK;
        }
    }
    const char *near = pp_text_nearest(name, names);
    return pp_err_set(err, PP_USAGE, "--executor",
                      "there is no executor '%.64s'%s%s%s; "
                      "'ppsim list executors' shows all",
                      name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

void pp_program_free(pp_program **program)
{
    free(*program);
    *program = NULL;
}
