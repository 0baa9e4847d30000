/* Reads PyTorch schedule rows: a line per rank, a cell per op. */
#ifndef PPSIM_TRACES_READ_PYTORCH_ROWS_H
#define PPSIM_TRACES_READ_PYTORCH_ROWS_H

#include "sim/order/order.h"

bool pp_pytorch_rows_recognise(const char *text, size_t bytes);
/* As pp_format.read. */
PP_MUST_CHECK pp_status pp_pytorch_rows_read(const char *text, size_t bytes, const char *file,
                                             pp_order **order_out, pp_err *err);

#endif
