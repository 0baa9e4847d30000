/* Ops in words, for readers who do not know the tokens of schedules. */
#ifndef PPSIM_TOOLS_PPSIM_REPORT_OP_WORDS_H
#define PPSIM_TOOLS_PPSIM_REPORT_OP_WORDS_H

#include "sim/order/order.h"

/* The legend line that is printed below a table with op tokens. */
#define PP_OP_LEGEND \
    "op: stage, kind (F forward, B backward; I for input, W for weights), microbatch\n"

enum { PP_OP_WORDS_BYTES = 96 };

/* Writes "95I44 (backward for the input, stage 95, microbatch 44)". Returns buffer. */
const char *pp_op_words(pp_op op, char buffer[PP_OP_WORDS_BYTES]);

#endif
