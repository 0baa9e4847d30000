/* Turns the record of a measured step into an iteration: its timeline, its step time, and whether
 * other processes disturbed it; then chooses the iteration with the median step time to represent
 * the run. */
#include "runtime/core/iteration.h"

#include "runtime/core/measured_timeline.h"
#include "runtime/core/memory_check.h"

#define OPS_PER_PREEMPTION 8
#define PART_LOST 50 /* a void iteration was preempted for more than 1/50 of its ops' time */

pp_status pp_worker_group_keep(pp_worker_group *group, uint32_t number, pp_err *err)
{
    const pp_program *program = group->job->program;
    const pp_record *record = &group->record;
    pp_iteration *it = &group->result->iteration[number];
    pp_status status = pp_record_timeline(program, group->job->costs, record, &it->timeline, err);
    if (status)
        return status;
    group->result->count = number + 1;
    pp_ns begin_ns = record->begin_ns[0];
    pp_ns over_ns = record->over_ns[0];
    for (uint32_t r = 0; r < program->ranks; r++) {
        begin_ns = record->begin_ns[r] < begin_ns ? record->begin_ns[r] : begin_ns;
        over_ns = record->over_ns[r] > over_ns ? record->over_ns[r] : over_ns;
        it->preemptions += record->preemptions[r];
    }
    for (size_t i = 0; i < program->count; i++) {
        it->cpu_ns += record->cpu_ns[i];
        it->busy_ns += it->timeline->end_ns[i] - it->timeline->start_ns[i];
    }
    it->step_ns = over_ns - begin_ns;
    it->voided = !group->job->compute->sleeps &&
                 it->preemptions > (int64_t)(program->count / OPS_PER_PREEMPTION) &&
                 it->busy_ns - it->cpu_ns > it->busy_ns / PART_LOST;
    return record->bytes ? pp_memory_check(program, group->job->costs, record, it->timeline,
                                           &group->result->memory_checks, err)
                         : PP_OK;
}

void pp_run_choose_median(pp_run_result *result)
{
    uint32_t valid = 0;
    for (uint32_t k = 0; k < result->count; k++)
        result->voided += result->iteration[k].voided;
    bool all_void = result->voided == result->count;
    valid = all_void ? result->count : result->count - result->voided;
    for (uint32_t k = 0; k < result->count; k++) {
        const pp_iteration *it = &result->iteration[k];
        uint32_t faster = 0;
        for (uint32_t o = 0; o < result->count; o++) {
            const pp_iteration *other = &result->iteration[o];
            if (other->voided && !all_void)
                continue;
            faster += other->step_ns < it->step_ns || (other->step_ns == it->step_ns && o < k);
        }
        if ((!it->voided || all_void) && faster == (valid - 1) / 2)
            result->median = k;
    }
}
