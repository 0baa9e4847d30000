/* Parses and prints shared NICs and the slow-down of overlap. */
#include "sim/job/sharing.h"

#include "sim/base/field.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pp_sharing_is_on(const pp_sharing *sharing)
{
    return sharing->ranks_per_nic > 0 || sharing->compute_slowdown > 1 ||
           sharing->comm_slowdown > 1;
}

/* Reads the factor after '=' and moves *text past it. */
static pp_status read_factor(const char **text, double *factor_out, pp_err *err)
{
    size_t length = strspn(*text, "0123456789.");
    char number[32] = "";
    char *end = number;
    if (length > 0 && length < sizeof number) {
        memcpy(number, *text, length);
        *factor_out = strtod(number, &end);
    }
    if (end == number || *end || !(*factor_out >= 1 && *factor_out <= PP_SLOWDOWN_MAX))
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_OVERLAP_SLOWDOWN),
            "'%.40s' is not a factor from 1 to %g; write for example compute=1.1,comm=1.3", *text,
            PP_SLOWDOWN_MAX);
    *text += length;
    return PP_OK;
}

pp_status pp_slowdown_parse(const char *text, pp_sharing *sharing, pp_err *err)
{
    double factor[2] = { 0, 0 };
    static const char *const keys[2] = { "compute=", "comm=" };
    const char *at = text;
    do {
        size_t k = 0;
        while (k < 2 && strncmp(at, keys[k], strlen(keys[k])) != 0)
            k++;
        if (k == 2 || factor[k] > 0)
            return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_OVERLAP_SLOWDOWN),
                              "'%.64s' is not compute=X,comm=Y, with each at most once; write for "
                              "example compute=1.1,comm=1.3",
                              text);
        at += strlen(keys[k]);
        pp_status status = read_factor(&at, &factor[k], err);
        if (status)
            return status;
    } while (*at == ',' && at++);
    if (*at)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_OVERLAP_SLOWDOWN),
            "'%.64s' has text after its factors; write for example compute=1.1,comm=1.3", text);
    sharing->compute_slowdown = factor[0];
    sharing->comm_slowdown = factor[1];
    return PP_OK;
}

const char *pp_sharing_print(const pp_sharing *sharing, char *buffer, size_t size)
{
    char latency[32];
    char nic[96] = "no NIC is shared";
    if (sharing->ranks_per_nic)
        snprintf(nic, sizeof nic, "%" PRId64 " pipeline rank%s on a NIC, max-min fair",
                 sharing->ranks_per_nic, sharing->ranks_per_nic == 1 ? "" : "s");
    snprintf(buffer, size,
             "%s; while a rank computes and communicates, compute takes %g and transfers %g times "
             "as long; %s of every transfer move no bytes",
             nic, fmax(1, sharing->compute_slowdown), fmax(1, sharing->comm_slowdown),
             pp_format_duration(latency, sizeof latency, sharing->latency_ns));
    return buffer;
}
