#include "runtime/transport.h"

#include "sim/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PP_TRANSPORT(id) extern const pp_transport pp_transport_##id;
#include "runtime/transports.def"
#undef PP_TRANSPORT

static const pp_transport *const transports[] = {
#define PP_TRANSPORT(id) &pp_transport_##id,
#include "runtime/transports.def"
#undef PP_TRANSPORT
};

enum { TRANSPORT_COUNT = sizeof transports / sizeof transports[0] };

size_t pp_transport_count(void)
{
    return TRANSPORT_COUNT;
}

const pp_transport *pp_transport_at(size_t index)
{
    return transports[index];
}

pp_status pp_transport_get(const char *name, const pp_transport **transport_out, pp_err *err)
{
    const char *names[TRANSPORT_COUNT + 1] = { NULL };
    for (size_t i = 0; i < TRANSPORT_COUNT; i++) {
        names[i] = transports[i]->name;
        if (strcmp(names[i], name) == 0) {
            *transport_out = transports[i];
            return PP_OK;
        }
    }
    const char *near = pp_text_nearest(name, names);
    return pp_err_set(err, PP_USAGE, "--transport",
                      "there is no transport '%.64s'%s%s%s; 'ppsim list transports' shows all",
                      name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

pp_status pp_link_parse(const char *text, pp_link *link_out, pp_err *err)
{
    pp_link link = { .kind = PP_LINK_FREE };
    const char *plus = strchr(text, '+');
    char latency[32];
    if (strcmp(text, "plan") == 0) {
        link.kind = PP_LINK_PLAN;
    } else if (strcmp(text, "free") != 0) {
        if (!plus || (size_t)(plus - text) >= sizeof latency)
            return pp_err_set(err, PP_USAGE, "--link",
                              "'%.64s' is no link; write free, plan, or a latency and a rate such "
                              "as 20us+1GB/s",
                              text);
        snprintf(latency, sizeof latency, "%.*s", (int)(plus - text), text);
        link.kind = PP_LINK_THROTTLE;
        pp_status status = pp_parse_duration(latency, "--link", &link.latency_ns, err);
        if (!status)
            status = pp_parse_rate(plus + 1, "--link", &link.bytes_per_s, err);
        if (status)
            return PP_USAGE;
    }
    *link_out = link;
    return PP_OK;
}

/* "2SEND_F3 of step 4, message 7 from rank 1 to rank 2, 1024 B". */
static void describe(const pp_message *m, char *buffer, size_t size)
{
    char transfer[40];
    pp_transfer_print(
        &(pp_transfer){ .microbatch = m->microbatch, .stage = m->stage, .kind = m->kind }, transfer,
        sizeof transfer);
    snprintf(buffer, size,
             "%s (part %d) of step %" PRIu32 ", message %" PRIu32 " from rank %" PRIu32
             " to rank %" PRIu32 ", %" PRId64 " B",
             transfer, m->part, m->step, m->sequence, m->from, m->to, m->bytes);
}

pp_status pp_message_check(const pp_message *expected, const pp_message *came, pp_err *err)
{
    char wanted[160];
    char got[160];
    if (memcmp(expected, came, sizeof *came) == 0)
        return PP_OK;
    describe(expected, wanted, sizeof wanted);
    if (expected->program != came->program)
        return pp_err_set(err, PP_INPUT, NULL,
                          "rank %" PRIu32 " expected %s, but rank %" PRIu32
                          " runs another program; start all ranks with one plan",
                          expected->to, wanted, came->from);
    describe(came, got, sizeof got);
    return pp_err_set(err, PP_INPUT, NULL,
                      "a message came wrongly: rank %" PRIu32
                      " expected %s, but got %s; nothing after it can be trusted, so the run ends",
                      expected->to, wanted, got);
}

pp_status pp_world_stopped(pp_err *err)
{
    return pp_err_set(err, PP_INFEASIBLE, NULL, "stopped");
}
