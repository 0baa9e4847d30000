/* What all transports share: parsing of links, and the comparison of the header that arrived with
 * the one that was expected. */
#include "runtime/core/transport.h"

#include "sim/base/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

pp_status pp_link_parse(const char *text, pp_link *link_out, pp_err *err)
{
    pp_link link = { .kind = PP_LINK_FREE };
    const char *plus = strchr(text, '+');
    char latency[32];
    if (strcmp(text, "plan") == 0) {
        link.kind = PP_LINK_PLAN;
    } else if (strcmp(text, "free") != 0) {
        if (!plus || (size_t)(plus - text) >= sizeof latency)
            return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_LINK),
                              "'%.64s' is not a link; write free, plan, or a latency and a rate "
                              "such as 20us+1GB/s",
                              text);
        snprintf(latency, sizeof latency, "%.*s", (int)(plus - text), text);
        link.kind = PP_LINK_THROTTLE;
        pp_status status =
            pp_parse_duration(latency, pp_err_name(err, PP_FIELD_LINK), &link.latency_ns, err);
        if (!status)
            status =
                pp_parse_rate(plus + 1, pp_err_name(err, PP_FIELD_LINK), &link.bytes_per_s, err);
        if (status)
            return PP_USAGE;
    }
    *link_out = link;
    return PP_OK;
}

pp_status pp_transport_lost(const pp_transport *transport, pp_world *world, pp_err *err)
{
    uint32_t rank = 0;
    if (!transport->lost || !transport->lost(world, &rank))
        return PP_OK;
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "rank %" PRIu32 " is gone: its process was killed, or crashed; the log of "
                      "its machine may say why (too little memory, for example)",
                      rank);
}

/* Describes a message: "2SEND_F3 (step 4, message 7, 1024 B)". */
static void describe(const pp_message *m, char *buffer, size_t size)
{
    /* the header of another program may hold anything */
    char transfer[48] = "something that is not a message of ppsim";
    if (m->kind < PP_TRANSFER_KIND_COUNT)
        pp_transfer_print(
            &(pp_transfer){ .microbatch = m->microbatch, .stage = m->stage, .kind = m->kind },
            transfer, sizeof transfer);
    snprintf(buffer, size, "%s (step %" PRIu32 ", message %" PRIu32 ", %" PRId64 " B)", transfer,
             m->step, m->sequence, m->bytes);
}

/* Returns what must have happened to the message that arrived. */
static const char *mishap(const pp_message *expected, const pp_message *came)
{
    pp_message same = *came;
    same.bytes = expected->bytes;
    if (came->program != expected->program)
        return "its sender runs another program; start all ranks with one plan";
    if (came->step != expected->step)
        return "it belongs to another step";
    if (came->sequence > expected->sequence)
        return "a message was lost or overtaken";
    if (came->sequence < expected->sequence)
        return "a message arrived twice or late";
    return memcmp(expected, &same, sizeof same) == 0
               ? "it is incomplete, or its sender has other sizes"
               : "it has the tag of another tensor";
}

pp_status pp_message_check(const pp_message *expected, const pp_message *came, pp_err *err)
{
    char wanted[96];
    char got[96];
    if (memcmp(expected, came, sizeof *came) == 0)
        return PP_OK;
    describe(expected, wanted, sizeof wanted);
    describe(came, got, sizeof got);
    return pp_err_set(
        err, PP_INPUT, NULL,
        "from rank %" PRIu32 ", rank %" PRIu32
        " expected %s but received %s: %s. Later messages cannot be trusted, so the run ends",
        expected->from, expected->to, wanted, got, mishap(expected, came));
}

pp_status pp_world_stopped(pp_err *err)
{
    return pp_err_set(err, PP_INFEASIBLE, NULL, "stopped");
}
