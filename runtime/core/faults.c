/* Parses faults that are injected on purpose, and looks up whether one hits a message or an op.
 * There are at most PP_FAULTS_MAX, so that a look-up is a loop over them. */
#include "runtime/core/faults.h"

#include "sim/base/field.h"
#include "sim/base/text.h"

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
