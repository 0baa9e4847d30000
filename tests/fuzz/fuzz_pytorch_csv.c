/* Rows that are accepted are checked orders, and writing them again changes nothing. */
#include "sim/order/order_check.h"
#include "traces/format/registry.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void need(int holds)
{
    if (!holds)
        abort();
}

static void write_rows(const pp_order *order, pp_text *rows)
{
    const pp_format *format = NULL;
    pp_companion companion = { 0 };
    pp_err err = { 0 };
    const pp_export export = { .order = order };
    need(pp_format_get("pytorch-csv", &format, &err) == PP_OK);
    need(format->emit(&export, rows, &companion, &err) == PP_OK);
    pp_text_free(&companion.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_order *again PP_CLEANUP(pp_order_free) = NULL;
    pp_text rows PP_CLEANUP(pp_text_free) = { 0 };
    pp_text same PP_CLEANUP(pp_text_free) = { 0 };
    pp_err err = { 0 };
    pp_status status = pp_format_read((const char *)data, bytes, "fuzz", &order, &err);
    if (status != PP_OK) {
        need(status == PP_INPUT || status == PP_NOMEM);
        need(err.text[0] != '\0' && order == NULL);
        return 0;
    }
    need(pp_order_check(order, "fuzz", &err) == PP_OK);
    write_rows(order, &rows);
    need(pp_format_read(rows.data, rows.bytes, "again", &again, &err) == PP_OK);
    need(pp_order_equal(order, again));
    write_rows(again, &same);
    need(rows.bytes == same.bytes && memcmp(rows.data, same.data, rows.bytes) == 0);
    return 0;
}
