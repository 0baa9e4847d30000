/* Texts and exit codes of statuses, and the error object that keeps its first report. */
#include "sim/base/status.h"

#include <stdarg.h>
#include <stdio.h>

pp_err pp_err_like(const pp_err *err)
{
    return (pp_err){ .names = err ? err->names : NULL };
}

pp_status pp_err_set(pp_err *err, pp_status status, const char *where, const char *format, ...)
{
    if (!err || err->status != PP_OK)
        return status;
    err->status = status;
    snprintf(err->where, sizeof err->where, "%s", where ? where : "");
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return status;
}

pp_status pp_err_nomem(pp_err *err)
{
    return pp_err_set(err, PP_NOMEM, NULL, "not enough memory; try fewer microbatches or ranks");
}

const char *pp_status_text(pp_status status)
{
    switch (status) {
#define PP_STATUS_TEXT(name, exit_status, text) \
    case PP_##name:                             \
        return text;
        PP_STATUS_MAP(PP_STATUS_TEXT)
#undef PP_STATUS_TEXT
    }
    return "unknown status";
}

int pp_status_exit(pp_status status)
{
    switch (status) {
#define PP_STATUS_EXIT(name, exit_status, text) \
    case PP_##name:                             \
        return exit_status;
        PP_STATUS_MAP(PP_STATUS_EXIT)
#undef PP_STATUS_EXIT
    }
    return 3;
}
