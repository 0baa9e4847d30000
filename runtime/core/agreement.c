/* Makes sure that all ranks are about to run the same. Each rank hashes what its run depends on
 * (FNV-1a over ops, steps, transfers and sizes); the hashes are gathered, and a rank that
 * differs from the majority is named. The cost is one pass over the program and one all-gather;
 * comparing takes ranks squared only when there is a difference. */
#include "runtime/core/agreement.h"

#include "sim/base/field.h"
#include "sim/base/hash.h"
#include "sim/program/transfer_costs.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = pp_hash_number(hash, (unsigned char)*text);
    return pp_hash_number(hash, 0x100);
}

uint64_t pp_program_hash(const pp_program *program, const pp_costs *costs)
{
    const pp_comm *comm = program->comm;
    uint64_t hash = pp_hash_number(PP_HASH_START, program->ranks);
    for (size_t i = 0; i < program->count; i++) {
        pp_op op = program->op[i];
        hash = pp_hash_number(hash, ((uint64_t)op.microbatch << 32) | ((uint64_t)op.stage << 16) |
                                        op.kind);
    }
    for (size_t s = 0; s < comm->step_count; s++)
        hash = pp_hash_number(hash, ((uint64_t)comm->step[s].index << 16) |
                                        ((uint64_t)comm->step[s].mark << 8) | comm->step[s].kind);
    for (size_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        hash =
            pp_hash_number(hash, ((uint64_t)own->microbatch << 32) | ((uint64_t)own->stage << 16) |
                                     ((uint64_t)own->kind << 8) | own->part);
        hash = pp_hash_number(hash, ((uint64_t)own->rank << 32) | own->peer);
        hash = pp_hash_number(hash, (uint64_t)pp_comm_bytes(comm, costs, own));
    }
    return hash;
}

static uint64_t hash_options(const pp_run_options *options)
{
    uint64_t hash = pp_hash_number(PP_HASH_START, options->first_step);
    hash = pp_hash_number(pp_hash_number(hash, options->warmup), options->iterations);
    hash = pp_hash_number(hash, (uint64_t)options->limit_bytes);
    return pp_hash_number(hash, (uint64_t)options->serialize << 3 |
                                    (uint64_t)options->check_messages << 2 |
                                    (uint64_t)options->check_memory << 1 | options->poison);
}

pp_agreement pp_agreement_on(const pp_program *program, const pp_costs *costs,
                             uint64_t program_hash)
{
    int64_t bytes = 0;
    for (size_t t = 0; t < program->comm->transfer_count; t++)
        bytes += pp_comm_bytes(program->comm, costs, &program->comm->transfer[t]);
    return (pp_agreement){ .program = program_hash,
                           .version = mix_text(sizeof(pp_agreement), PPSIM_VERSION),
                           .microbatches = program->microbatches,
                           .ops = (int64_t)program->count,
                           .message_bytes = bytes };
}

pp_agreement pp_agreement_of(const pp_interpreter *in, const pp_run_options *options)
{
    const pp_compute_work *work = in->work;
    uint64_t hash = pp_hash_number(mix_text(PP_HASH_START, in->compute->name), work->seed);
    pp_agreement own = pp_agreement_on(in->program, in->costs, in->program_hash);
    own.work = mix_text(hash, work->settings);
    own.how = hash_options(options);
    return own;
}

/* Returns what two ranks differ in, the most telling difference first, or NULL if they agree. how:
 * the words for a difference in the options of the run. */
static const char *difference(const pp_agreement *a, const pp_agreement *b, const char *how)
{
    if (a->version != b->version)
        return "another version of ppsim";
    if (a->microbatches != b->microbatches)
        return "another number of microbatches";
    if (a->ops != b->ops)
        return "another number of ops";
    if (a->message_bytes != b->message_bytes)
        return "other tensor sizes";
    if (a->program != b->program)
        return "another order of ops or messages";
    if (a->work != b->work)
        return "another compute, other settings or another seed";
    return a->how != b->how ? how : NULL;
}

static uint32_t like(const pp_agreement *all, uint32_t ranks, uint32_t rank)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < ranks; r++)
        count += difference(&all[rank], &all[r], "how") == NULL;
    return count;
}

pp_status pp_agreement_check(const pp_agreement *all, uint32_t ranks, pp_err *err)
{
    char text[400] = "";
    char how[160];
    uint32_t named = 0;
    uint32_t model = 0; /* the lowest rank of the largest group that agrees */
    snprintf(how, sizeof how, "another number of steps, or another value of %s, %s, %s or %s",
             pp_err_name(err, PP_FIELD_PAYLOAD), pp_err_name(err, PP_FIELD_VERIFY),
             pp_err_name(err, PP_FIELD_CHECK_MESSAGES),
             pp_err_name(err, PP_FIELD_SERIALIZE_COMPUTE));
    for (uint32_t r = 1; r < ranks; r++) {
        if (difference(&all[0], &all[r], how)) {
            for (uint32_t k = 1; k < ranks && k < 64; k++)
                model = like(all, ranks, k) > like(all, ranks, model) ? k : model;
            break;
        }
    }
    for (uint32_t r = 0; r < ranks; r++) {
        const char *what = difference(&all[model], &all[r], how);
        size_t used = strlen(text);
        if (what && named++ < 4)
            snprintf(text + used, sizeof text - used, "%srank %" PRIu32 " has %s", used ? ", " : "",
                     r, what);
    }
    if (!named)
        return PP_OK;
    return pp_err_set(err, PP_INPUT, NULL,
                      "the ranks were given different plans: %s%s, compared with rank %" PRIu32
                      "; start all of them with the same file and options",
                      text, named > 4 ? ", and more" : "", model);
}
