/* The names on the command line of the fields in the libraries' messages, such as "--vpp" for
 * chunks. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_OPTION_NAMES_H
#define PPSIM_TOOLS_PPSIM_BASE_OPTION_NAMES_H

#include "sim/base/field.h"

/* The names for pp_err. Every pp_err of a command is initialised with PP_COMMAND_ERR or made by
 * pp_err_like. */
extern const struct pp_field_names pp_option_names;
/* The same where --dp-shard gave the number of copies. */
extern const struct pp_field_names pp_option_names_shard;
#define PP_COMMAND_ERR            \
    {                             \
        .names = &pp_option_names \
    }

#endif
