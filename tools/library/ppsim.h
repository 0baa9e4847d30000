/* ppsim's planner and simulator as a library: what the commands `plan`, `simulate`, `check`,
 * `pack`, `compare`, `sweep`, `shapes` and `list` do, with the same options, without printing.
 *
 *     ppsim_request_new("plan", &request, &error);
 *     ppsim_request_set(request, "model", "gpt175b", &error);
 *     ppsim_request_set(request, "pp", "16", &error);
 *     ppsim_run(request, &result, &error);
 *     ppsim_result_step_ns(result);
 *     ppsim_result_free(result);
 *     ppsim_request_free(request);
 *
 * Times are in nanoseconds, sizes in bytes, and texts end with a NUL. Functions that can fail
 * return a status and explain it in *error, which may be NULL; on success it has the status OK and
 * empty texts. Other pointers must not be NULL unless their comment says so. The library prints
 * nothing, leaves signals alone and has no state outside its objects: threads may run requests at
 * the same time.
 * Running ops in a schedule's order is in pp_runtime.h. Guide: docs/how-to/library.md. */
#ifndef PPSIM_TOOLS_LIBRARY_PPSIM_H
#define PPSIM_TOOLS_LIBRARY_PPSIM_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PPSIM_PUBLIC __attribute__((visibility("default")))
#define PPSIM_CHECKED __attribute__((visibility("default"), warn_unused_result))
#else
#define PPSIM_PUBLIC
#define PPSIM_CHECKED
#endif

/* The version of this header, which is that of the library it came with (ppsim_version). */
#define PPSIM_VERSION_TEXT "0.2.0"

#ifdef __cplusplus
extern "C" {
#endif

/* The first seven are those of pp_runtime_status. */
typedef enum ppsim_status {
    PPSIM_OK,
    PPSIM_INFEASIBLE,  /* no plan fits, a schedule hangs, a result is worse: the answer is no */
    PPSIM_USAGE,       /* wrong options */
    PPSIM_INPUT,       /* a bad file */
    PPSIM_UNAVAILABLE, /* not in this build or on this machine */
    PPSIM_IO,
    PPSIM_NOMEM,
    PPSIM_UNDECIDED, /* the budget ended before an answer */
    PPSIM_INTERNAL,  /* an error of ppsim itself */
    PPSIM_CANCELLED, /* by the flag of ppsim_request_stop */
} ppsim_status;

typedef struct ppsim_error {
    ppsim_status status;
    char field[256];   /* an option ("--pp"), or a file and the place in it; may be empty */
    char reason[1024]; /* one sentence, which ends with what can be done; may be empty */
} ppsim_error;

/* Returns the meaning of a status, for example "bad input". */
PPSIM_PUBLIC const char *ppsim_status_text(ppsim_status status);
/* Returns the version of the library, not of this header: "0.2.0". */
PPSIM_PUBLIC const char *ppsim_version(void);

/* ---- Options: the tables that the command line is parsed by. ---- */

typedef struct ppsim_option {
    const char *name;       /* "--pp"; "-o" has the alias "--output" */
    const char *argument;   /* "P", or "on|off"; NULL: a flag, without a value */
    const char *group;      /* a heading, such as "Parallelism" */
    const char *help;       /* a phrase, with the unit */
    const char *by_default; /* in words; NULL: there is none */
    const char *alias;      /* another spelling; NULL: none */
    int repeated;           /* nonzero: it may be given several times */
} ppsim_option;

/* Returns the name of the index-th command of the library, or NULL after the last. */
PPSIM_PUBLIC const char *ppsim_command_name(size_t index);
/* Writes the index-th option of a command, and returns 1. Returns 0 after the last one, and for a
 * command that the library does not have. The texts live as long as the library. */
PPSIM_PUBLIC int ppsim_option_at(const char *command, size_t index, ppsim_option *option_out);

/* ---- Requests: a command with its options. ---- */

/* It may be run any number of times, also by several threads at once, which then share its stop
 * flag and progress function. It may be changed by one thread at a time, while no one runs it. */
typedef struct ppsim_request ppsim_request;

/* Makes a request. The caller frees it with ppsim_request_free. Fails: USAGE (no such command, or
 * one that only the program has), NOMEM. */
PPSIM_CHECKED ppsim_status ppsim_request_new(const char *command, ppsim_request **request_out,
                                             ppsim_error *error);
PPSIM_PUBLIC void ppsim_request_free(ppsim_request *request); /* NULL is fine */

/* Sets an option, as on the command line. option: with or without its dashes, "pp" or "--pp".
 * value: as it is typed there; NULL for a flag. Values are judged by ppsim_run. --json is set
 * already. Once more replaces the value, so that a request can be used again, unless the option is
 * repeated (ppsim_option) or one whose values a sweep combines: these are added. Fails: USAGE (no
 * such option, which names the nearest; a value where there is none, or the reverse), NOMEM; the
 * request is then as it was. */
PPSIM_CHECKED ppsim_status ppsim_request_set(ppsim_request *request, const char *option,
                                             const char *value, ppsim_error *error);
/* Adds a word that belongs to no option: the plan of `simulate`, the lengths of `pack`. Fails:
 * USAGE (it begins with a dash), NOMEM. */
PPSIM_CHECKED ppsim_status ppsim_request_word(ppsim_request *request, const char *word,
                                              ppsim_error *error);
/* Gives a file that is held in memory. Where an option or word names it, `content` is read, of
 * which a copy is kept. name: letters, digits, '.', '_' and '-'. Fails: USAGE, NOMEM. */
PPSIM_CHECKED ppsim_status ppsim_request_input(ppsim_request *request, const char *name,
                                               const void *content, size_t bytes,
                                               ppsim_error *error);
/* keep nonzero: files that the command would write (by --emit, --trace, -o, ...) are kept in the
 * result instead. The file of a sweep is always written. */
PPSIM_PUBLIC void ppsim_request_keep_files(ppsim_request *request, int keep);
/* progress: called now and then while the request runs, from one thread at a time, which may be
 * another one than that of ppsim_run, with a line such as "step 9.4 s (zbv, tp 8), ..."; NULL:
 * none.
 */
PPSIM_PUBLIC void ppsim_request_progress(ppsim_request *request,
                                         void (*progress)(void *context, const char *line),
                                         void *context);
/* stop: when it is set to nonzero, a search with a budget of time ends with the best plan so far,
 * and everything else fails with CANCELLED before its next simulation. NULL: none. It is not
 * copied. */
PPSIM_PUBLIC void ppsim_request_stop(ppsim_request *request, const volatile sig_atomic_t *stop);

/* ---- Results. ---- */

/* It does not change: any number of threads may use it. What functions return belongs to it and
 * lives until ppsim_result_free, also when the request is freed before. Where it is NULL, they
 * return 0, "" or NULL. */
typedef struct ppsim_result ppsim_result;

/* Runs a request. *result_out receives the result, which the caller frees with ppsim_result_free,
 * also on failure, with what the command has said by then; NULL if there is no memory for it.
 * Fails: as the command. With INFEASIBLE, `check` and `compare` have an answer, which is no. */
PPSIM_CHECKED ppsim_status ppsim_run(const ppsim_request *request, ppsim_result **result_out,
                                     ppsim_error *error);
PPSIM_PUBLIC void ppsim_result_free(ppsim_result *result); /* NULL is fine */

/* bytes_out receives its length, without the NUL; may be NULL.
 * - json: what the command prints with --json, byte for byte; "" if it has no answer;
 * - text: what it prints without, for people;
 * - remarks: what it prints to standard error, a line each. */
PPSIM_PUBLIC const char *ppsim_result_json(const ppsim_result *result, size_t *bytes_out);
PPSIM_PUBLIC const char *ppsim_result_text(const ppsim_result *result, size_t *bytes_out);
PPSIM_PUBLIC const char *ppsim_result_remarks(const ppsim_result *result, size_t *bytes_out);

/* The files that were kept, and as "-" what would be printed to standard output beside the answer.
 * Content may be binary (names that end in .gz). The name of an index after the last is NULL, its
 * content "". bytes_out: as above. */
PPSIM_PUBLIC const char *ppsim_result_file_name(const ppsim_result *result, size_t index);
PPSIM_PUBLIC const char *ppsim_result_file(const ppsim_result *result, size_t index,
                                           size_t *bytes_out);

/* The step that `plan` or `simulate` predicts, of the slowest data-parallel replica. Other results,
 * and those of --pareto, --instance and --executor all, have none: all of these are 0 then. Ranks,
 * stages and ops count from 0. */
PPSIM_PUBLIC int64_t ppsim_result_step_ns(const ppsim_result *result);
PPSIM_PUBLIC uint32_t ppsim_result_ranks(const ppsim_result *result);
PPSIM_PUBLIC uint32_t ppsim_result_stages(const ppsim_result *result);
PPSIM_PUBLIC uint32_t ppsim_result_microbatches(const ppsim_result *result);
/* Returns the rank that runs a stage (of microbatch 0, if schedules are bidirectional). */
PPSIM_PUBLIC uint32_t ppsim_result_stage_rank(const ppsim_result *result, uint32_t stage);

typedef enum ppsim_op_kind {
    PPSIM_FORWARD,
    PPSIM_BACKWARD_INPUT,
    PPSIM_BACKWARD_WEIGHT,
    PPSIM_BACKWARD, /* both in one */
} ppsim_op_kind;

/* Returns the number of ops of a rank; 0 for a rank that does not exist. */
PPSIM_PUBLIC size_t ppsim_result_op_count(const ppsim_result *result, uint32_t rank);
/* Writes the ops of a rank in the order in which it runs them, each array with op_count entries;
 * NULL: not wanted. kind: a ppsim_op_kind. start and end: from the start of the step. */
PPSIM_PUBLIC void ppsim_result_ops(const ppsim_result *result, uint32_t rank, uint8_t *kind_out,
                                   uint32_t *stage_out, uint32_t *microbatch_out,
                                   int64_t *start_ns_out, int64_t *end_ns_out);

/* Returns the number of components of memory. */
PPSIM_PUBLIC size_t ppsim_memory_components(void);
/* Returns the name of the index-th component of memory ("parameters", ...), or NULL after the
 * last. */
PPSIM_PUBLIC const char *ppsim_memory_component(size_t index);
/* Writes what a rank holds at its peak, by component, which add up to the peak; bytes_out has
 * ppsim_memory_components() entries; NULL: not wanted. Returns the rank's limit, or 0 if it has
 * none. All is 0 if the memory is not known. */
PPSIM_PUBLIC int64_t ppsim_result_memory(const ppsim_result *result, uint32_t rank,
                                         int64_t *bytes_out);

/* ---- Programs: what the ranks of a replica run, communication included. ---- */

/* The order of a replica, lowered by the executor of its plan. It does not change: any number of
 * threads may use it. */
typedef struct ppsim_program ppsim_program;

/* What a row of a program does. The first four are those of ppsim_op_kind. Sends and receives are
 * posted, and the rank continues at once; an op waits by itself for what it needs. There are no
 * tags: the n-th send from one rank to another meets the n-th receive that the other posts. */
typedef enum ppsim_action {
    PPSIM_SEND_ACTIVATION = PPSIM_BACKWARD + 1,
    PPSIM_RECEIVE_ACTIVATION,
    PPSIM_SEND_GRADIENT,
    PPSIM_RECEIVE_GRADIENT,
    PPSIM_WAIT, /* until all transfers of a group are done */
} ppsim_action;

/* Lowers the order of a data-parallel replica of a result that has a step. The caller frees
 * *program_out with ppsim_program_free; the result may be freed before. Fails: USAGE (no step, no
 * such replica, or an executor without communication), INFEASIBLE (the order cannot finish),
 * NOMEM. */
PPSIM_CHECKED ppsim_status ppsim_program_new(const ppsim_result *result, uint32_t replica,
                                             ppsim_program **program_out, ppsim_error *error);
PPSIM_PUBLIC void ppsim_program_free(ppsim_program *program); /* NULL is fine */
/* Returns the number of rows of a rank; 0 for a rank that does not exist. Syncs, messages about
 * sizes and actions of sharded parameters have no rows. */
PPSIM_PUBLIC size_t ppsim_program_count(const ppsim_program *program, uint32_t rank);
/* Writes the rows of a rank in their order, each array with ppsim_program_count entries; NULL: not
 * wanted. action: a ppsim_op_kind or ppsim_action. stage: of the op; whose output is sent, or whose
 * input is received; 0 in a wait, as are microbatch and bytes. peer: the other rank of a transfer,
 * else the rank. group: transfers of one group are posted together; 0 in an op. bytes: of the
 * tensor that is transferred; 0 if the plan does not know them. A boundary with several tensors has
 * the row of the first. */
PPSIM_PUBLIC void ppsim_program_rows(const ppsim_program *program, uint32_t rank,
                                     uint8_t *action_out, uint32_t *stage_out,
                                     uint32_t *microbatch_out, uint32_t *peer_out,
                                     uint32_t *group_out, int64_t *bytes_out);

/* ---- Replanners: one pipeline, planned again for every batch. ---- */

/* Keeps model, hardware, partition, schedule, executor and memory limit of a pipeline, and what was
 * derived from them. It may be used by one thread at a time; several may be used at once. */
typedef struct ppsim_replanner ppsim_replanner;

/* Chooses the pipeline. request: for `plan`, with degrees and, as --lengths, the sequence lengths
 * of a typical batch; --recompute and --schedule settle what else is known. It may be freed
 * afterwards. The caller frees *replanner_out with ppsim_replanner_free. Fails: as `plan`; USAGE
 * for options that have no meaning here, such as --budget. */
PPSIM_CHECKED ppsim_status ppsim_replanner_new(const ppsim_request *request,
                                               ppsim_replanner **replanner_out, ppsim_error *error);
PPSIM_PUBLIC void ppsim_replanner_free(ppsim_replanner *replanner); /* NULL is fine */

/* A global batch of sequences, and what its plan may cost. Either iterations or time_ns is 0. */
typedef struct ppsim_batch {
    const int64_t *lengths; /* [count], in tokens */
    size_t count;
    int64_t iterations; /* equal numbers give equal plans on every machine */
    int64_t time_ns;    /* about so long; what has been found by then is taken */
    uint64_t seed;
    int whole_plan; /* nonzero: the result has the JSON of the plan */
} ppsim_batch;

/* Plans a batch: which sequences share a microbatch, and the order of all ranks. *result_out
 * receives a result with a step; its file "packing" has a JSON array of the replicas' microbatches,
 * which are arrays of indices into the lengths. It fits, and is not slower than the sequences
 * packed first fit with the pipeline's own schedule. The caller frees it with ppsim_result_free,
 * also on failure. Fails: INPUT (a length below 1, or beyond a microbatch), USAGE (too few
 * sequences), INFEASIBLE (no packing fits), UNDECIDED (none did in time), NOMEM. */
PPSIM_CHECKED ppsim_status ppsim_replan(ppsim_replanner *replanner, const ppsim_batch *batch,
                                        ppsim_result **result_out, ppsim_error *error);
/* Returns the step of the sequences packed first fit with the pipeline's own schedule; 0 if that
 * does not fit, and for results of other functions. */
PPSIM_PUBLIC int64_t ppsim_result_first_fit_ns(const ppsim_result *result);

#ifdef __cplusplus
}
#endif

#endif
