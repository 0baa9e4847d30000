/* Reads PyTorch schedule rows with communication (compute_comms), or excerpts of them, into a
 * program that runs exactly these rows. */
#ifndef PPSIM_TRACES_READ_COMM_ROWS_H
#define PPSIM_TRACES_READ_COMM_ROWS_H

#include "sim/order/order.h"
#include "sim/program/program.h"

typedef enum pp_rows_grouping {
    PP_ROWS_SINGLE,  /* every send and receive is its own group */
    PP_ROWS_BATCHED, /* transfers between two consecutive compute ops of a rank form one group */
} pp_rows_grouping;

/* Returns whether any cell of the text is a send, a receive or a mark of FSDP. */
bool pp_comm_rows_recognise(const char *text, size_t bytes);

/* Finds the first cell `token` in the row of `rank`. line_out and cell_out count from 1. Returns
 * false, and writes nothing, when the row has no such cell. */
bool pp_comm_rows_locate(const char *text, size_t bytes, uint32_t rank, const char *token,
                         uint32_t *line_out, uint32_t *cell_out);

/* partial: the rows are an excerpt, and ops, producers and partners outside the file count as done.
 * program_out: with the communication of the rows. order_out: the compute ops; may be NULL. The
 * caller frees both.
 * Fails: INPUT (a cell is no token, with file:line:column); INFEASIBLE when the rows are readable
 * but incomplete, impossible in order, send a tensor before it is made or twice, do not pair up, or
 * cannot finish; NOMEM. */
PP_MUST_CHECK pp_status pp_comm_rows_read(const char *text, size_t bytes, const char *file,
                                          pp_rows_grouping grouping, bool partial,
                                          pp_order **order_out, pp_program **program_out,
                                          pp_err *err);

#endif
