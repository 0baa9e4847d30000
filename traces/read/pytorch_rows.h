/* Reads PyTorch's compute_only schedule rows: a line per rank, a cell such as 3F7 per op. */
#ifndef PPSIM_TRACES_READ_PYTORCH_ROWS_H
#define PPSIM_TRACES_READ_PYTORCH_ROWS_H

#include "sim/order/order.h"

bool pp_pytorch_rows_recognise(const char *text, size_t bytes);
/* Reads a schedule, numbering its ranks by lines. `file` names it in errors. order_out receives an
 * order that pp_order_check accepts; the caller frees it with pp_order_free.
 * Fails: INPUT with file:line:column (a cell is not an op, an op is missing or occurs twice, a
 * stage is on two lines, an op comes before one that it needs), NOMEM. */
PP_MUST_CHECK pp_status pp_pytorch_rows_read(const char *text, size_t bytes, const char *file,
                                             pp_order **order_out, pp_err *err);

#endif
