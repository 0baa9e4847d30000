/* Parses faults that are injected on purpose, and looks up whether one hits a message or an op.
 * There are at most PP_FAULTS_MAX, so that a look-up is a loop over them. */
#include "runtime/core/faults.h"

#include "sim/base/field.h"
#include "sim/base/text.h"
#include "sim/program/comm.h"
#include "sim/program/transfer_costs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct kind_row {
    const char *name;
    bool hits_message, hits_op;
} kind_row;

static const kind_row kinds[PP_FAULT_KIND_COUNT] = {
#define PP_FAULT_ROW(id, name, message, op) { #name, message, op },
    PP_FAULT_MAP(PP_FAULT_ROW)
#undef PP_FAULT_ROW
};

static pp_status parse_kind(const char *word, pp_fault *fault, pp_err *err)
{
    const char *names[PP_FAULT_KIND_COUNT + 1] = { NULL };
    for (int k = 0; k < PP_FAULT_KIND_COUNT; k++) {
        names[k] = kinds[k].name;
        if (strcmp(word, kinds[k].name) == 0) {
            fault->kind = (pp_fault_kind)k;
            return PP_OK;
        }
    }
    char hint[PP_TEXT_HINT_BYTES];
    pp_text_nearest_hint(NULL, word, names, hint);
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FAULT),
                      "there is no fault '%.32s'%s%s choose drop, delay, duplicate, truncate, "
                      "reorder, tag, death, stall or plan",
                      word, hint, pp_text_hint_end(hint));
}

static pp_status parse_part(char *part, pp_fault *fault, pp_err *err)
{
    char *value = strchr(part, '=');
    int64_t number = 0;
    pp_status status;
    if (!value)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FAULT),
                          "'%.32s' is not a part of a fault; write KIND,rank=R,at=N,step=N,time=T",
                          part);
    *value++ = '\0';
    if (strcmp(part, "time") == 0)
        return pp_parse_duration(value, pp_err_name(err, PP_FIELD_FAULT), &fault->time_ns, err)
                   ? PP_USAGE
                   : PP_OK;
    uint32_t *field = strcmp(part, "rank") == 0   ? &fault->rank
                      : strcmp(part, "at") == 0   ? &fault->at
                      : strcmp(part, "step") == 0 ? &fault->step
                                                  : NULL;
    if (!field)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FAULT),
                          "a fault has no key '%.32s'; write KIND,rank=R,at=N,step=N,time=T", part);
    if ((status =
             pp_parse_int(value, pp_err_name(err, PP_FIELD_FAULT), 0, INT32_MAX, &number, err)))
        return PP_USAGE;
    *field = (uint32_t)number;
    return PP_OK;
}

pp_status pp_faults_add(const char *text, pp_faults *faults, pp_err *err)
{
    char copy[128];
    pp_fault fault = { .kind = PP_FAULT_DROP };
    if (faults->count == PP_FAULTS_MAX || strlen(text) >= sizeof copy)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FAULT),
                          "there can be at most %d faults of %d characters each", PP_FAULTS_MAX,
                          (int)sizeof copy - 1);
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = NULL;
    char *part = strtok_r(copy, ",", &rest);
    pp_status status = parse_kind(part ? part : "", &fault, err);
    while (!status && (part = strtok_r(NULL, ",", &rest)))
        status = parse_part(part, &fault, err);
    if (status)
        return status;
    bool takes_time = fault.kind == PP_FAULT_DELAY || fault.kind == PP_FAULT_STALL;
    if (takes_time != (fault.time_ns > 0))
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_FAULT), "%s %s", kinds[fault.kind].name,
            takes_time ? "needs time=T, for example time=2s" : "has no time; leave time out");
    faults->fault[faults->count++] = fault;
    return PP_OK;
}

/* Counts the messages that a rank sends in a step, in the order in which it posts them.
 * transfer_out: number `at` of them, if there are so many. */
static size_t count_sends(const pp_comm *comm, uint32_t rank, uint32_t at, uint32_t *transfer_out)
{
    size_t count = 0;
    if (!comm)
        return 0;
    for (size_t s = comm->step_begin[rank]; s < comm->step_begin[rank + 1]; s++) {
        if (comm->step[s].kind != PP_COMM_STEP_POST)
            continue;
        const pp_group *group = &comm->group[comm->step[s].index];
        for (uint32_t t = group->first; t < group->first + group->count; t++) {
            if (!pp_transfer_sends((pp_transfer_kind)comm->transfer[t].kind))
                continue;
            if (count++ == at)
                *transfer_out = t;
        }
    }
    return count;
}

static pp_status check_one(const pp_fault *f, const pp_program *program, const pp_costs *costs,
                           pp_err *err)
{
    const kind_row *kind = &kinds[f->kind];
    const char *name = pp_err_name(err, PP_FIELD_FAULT);
    uint32_t transfer = 0;
    const size_t count = kind->hits_message
                             ? count_sends(program->comm, f->rank, f->at, &transfer)
                             : program->rank_begin[f->rank + 1] - program->rank_begin[f->rank];
    const char *what = kind->hits_message ? "sends" : "runs";
    const char *things = kind->hits_message ? "message" : "op";
    if (!kind->hits_message && !kind->hits_op)
        return PP_OK;
    if (count == 0)
        return pp_err_set(err, PP_USAGE, name, "rank %" PRIu32 " %s no %s, so %s cannot happen",
                          f->rank, what, things, kind->name);
    if (f->at >= count)
        return pp_err_set(err, PP_USAGE, name,
                          "rank %" PRIu32 " %s %zu %s%s in a step; give %s an at=N from 0 to %zu",
                          f->rank, what, count, things, count == 1 ? "" : "s", kind->name,
                          count - 1);
    if (f->kind == PP_FAULT_TRUNCATE &&
        pp_comm_bytes(program->comm, costs, &program->comm->transfer[transfer]) == 0)
        return pp_err_set(err, PP_USAGE, name,
                          "message %" PRIu32 " of rank %" PRIu32
                          " is empty and cannot be cut; give a plan or costs with message sizes",
                          f->at, f->rank);
    return PP_OK;
}

pp_status pp_faults_check(const pp_faults *faults, const pp_program *program, const pp_costs *costs,
                          pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t i = 0; faults && i < faults->count && !status; i++)
        status = check_one(&faults->fault[i], program, costs, err);
    return status;
}

const pp_fault *pp_faults_at(const pp_faults *faults, pp_fault_kind kind, uint32_t rank,
                             uint32_t step, uint32_t at)
{
    for (size_t i = 0; faults && i < faults->count; i++) {
        const pp_fault *f = &faults->fault[i];
        bool counted = kinds[kind].hits_message || kinds[kind].hits_op;
        if (f->kind == kind && f->rank == rank && (!counted || (f->step == step && f->at == at)))
            return f;
    }
    return NULL;
}
