/* What ppsim's command line calls the fields of the libraries' messages: "--vpp" for chunks. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_OPTION_NAMES_H
#define PPSIM_TOOLS_PPSIM_BASE_OPTION_NAMES_H

#include "sim/base/field.h"

/* Every pp_err of the command begins as PP_COMMAND_ERR, or is made by pp_err_like. */
extern const struct pp_field_names pp_option_names;
#define PP_COMMAND_ERR            \
    {                             \
        .names = &pp_option_names \
    }

#endif
