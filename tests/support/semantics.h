/* Semantics of transfers from the texts of the command line, for tests. */
#ifndef PPSIM_TESTS_SUPPORT_SEMANTICS_H
#define PPSIM_TESTS_SUPPORT_SEMANTICS_H

#include "sim/program/comm.h"

/* Applies what pp_comm_settings_parse reads. Fails: USAGE. */
static inline pp_status parse_semantics(const char *comm, const char *lanes,
                                        pp_comm_semantics *semantics, pp_err *err)
{
    pp_comm_settings settings = { .has_mode = false };
    pp_status status = pp_comm_settings_parse(comm, lanes, &settings, err);
    if (!status)
        pp_comm_settings_apply(&settings, semantics);
    return status;
}

#endif
