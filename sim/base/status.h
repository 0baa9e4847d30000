/* How every function of ppsim reports failure: a status, a place in the input, a sentence. */
#ifndef PPSIM_SIM_BASE_STATUS_H
#define PPSIM_SIM_BASE_STATUS_H

#define PP_CLEANUP(fn) __attribute__((cleanup(fn)))
#define PP_MUST_CHECK __attribute__((warn_unused_result))
#define PP_PRINTF(at, first) __attribute__((format(printf, at, first)))

/* X(name, exit status of the command, text). The library of the runtime has the shared ones, too,
 * with the same numbers; the others end no run. */
#define PP_STATUS_SHARED_MAP(X)                      \
    X(OK, 0, "done")                                 \
    X(INFEASIBLE, 1, "no plan satisfies the limits") \
    X(USAGE, 2, "wrong usage")                       \
    X(INPUT, 3, "bad input")                         \
    X(UNAVAILABLE, 4, "not available here")          \
    X(IO, 5, "input or output failed")               \
    X(NOMEM, 6, "out of memory")
#define PP_STATUS_MAP(X)                                 \
    PP_STATUS_SHARED_MAP(X)                              \
    X(UNDECIDED, 7, "the budget ended before an answer") \
    X(INTERNAL, 8, "an error of ppsim itself")           \
    X(CANCELLED, 9, "cancelled by the caller")

typedef enum pp_status {
#define PP_STATUS_ENUM(name, exit_status, text) PP_##name,
    PP_STATUS_MAP(PP_STATUS_ENUM)
#undef PP_STATUS_ENUM
} pp_status;

/* The first report wins: a second pp_err_set on the same object keeps the first text. */
typedef struct pp_err {
    pp_status status;
    char where[256]; /* file:line:column, file#/json/pointer, or a field's name; may be empty */
    char text[1024]; /* one sentence; it ends with what the user can do */
    const struct pp_field_names
        *names; /* names of fields (sim/base/field.h); NULL: the library's */
} pp_err;

/* An empty pp_err with the names of fields that `err` carries, for a call whose error may be
 * dropped or reported in another text. err: may be NULL. */
pp_err pp_err_like(const pp_err *err);

/* Reports an error and returns `status`. err and where: may be NULL. */
pp_status pp_err_set(pp_err *err, pp_status status, const char *where, const char *format, ...)
    PP_PRINTF(4, 5);
pp_status pp_err_nomem(pp_err *err);
const char *pp_status_text(pp_status status);
int pp_status_exit(pp_status status);

#endif
