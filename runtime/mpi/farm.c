/* The task farm over MPI. Process 0 has a receive posted for every other process, and an answer
 * is one word, so that nothing here waits for a process that died. */
#include "runtime/mpi/farm.h"

#include <mpi.h>
#include <stdlib.h>
#include <time.h>

enum { TAG_ASK = 1, TAG_ANSWER = 2, NAP_NS = 200000 };

struct pp_farm {
    const pp_module_services *services;
    int process, processes;
    MPI_Comm all;
    MPI_Request *request; /* process 0: [processes], receives */
    char *message;        /* process 0: [processes][PP_FARM_BYTES_MAX] */
    uint64_t *reply;      /* process 0: [processes] */
    MPI_Request *sent;    /* process 0: [processes], of the replies */
    int taken;            /* process whose message the caller is reading; 0: none */
};

static void release(pp_farm *farm)
{
    free(farm->request);
    free(farm->message);
    free(farm->reply);
    free(farm->sent);
    free(farm);
}

static pp_status failed(const pp_farm *farm, int code, pp_err *err)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(code, text, &length);
    return farm->services->err_set(err, PP_IO, NULL, "MPI reports: %.*s", length, text);
}

static int listen_to(pp_farm *farm, int process)
{
    return MPI_Irecv(farm->message + (size_t)process * PP_FARM_BYTES_MAX, PP_FARM_BYTES_MAX,
                     MPI_BYTE, process, TAG_ASK, farm->all, &farm->request[process]);
}

static pp_status make_room(pp_farm *farm, pp_err *err)
{
    size_t n = (size_t)farm->processes;
    farm->request = malloc(n * sizeof *farm->request);
    farm->sent = malloc(n * sizeof *farm->sent);
    farm->reply = calloc(n, sizeof *farm->reply);
    farm->message = malloc(n * PP_FARM_BYTES_MAX);
    if (!farm->request || !farm->sent || !farm->reply || !farm->message)
        return farm->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    for (size_t i = 0; i < n; i++)
        farm->request[i] = farm->sent[i] = MPI_REQUEST_NULL;
    return PP_OK;
}

static pp_status begin(pp_farm *farm, pp_err *err)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* the duplicate inherits it */
    MPI_Comm_rank(MPI_COMM_WORLD, &farm->process);
    MPI_Comm_size(MPI_COMM_WORLD, &farm->processes);
    int code = MPI_Comm_dup(MPI_COMM_WORLD, &farm->all);
    if (code)
        return failed(farm, code, err);
    if (farm->process != 0)
        return PP_OK;
    pp_status status = make_room(farm, err);
    for (int i = 1; i < farm->processes && !status; i++) {
        code = listen_to(farm, i);
        status = code ? failed(farm, code, err) : PP_OK;
    }
    return status;
}

static pp_status farm_open(const pp_module_services *services, pp_farm **farm_out,
                           uint32_t *process_out, uint32_t *processes_out, pp_err *err)
{
    int provided = MPI_THREAD_SINGLE;
    pp_farm *farm = calloc(1, sizeof *farm);
    if (!farm)
        return services->err_set(err, PP_NOMEM, NULL, "out of memory");
    farm->services = services;
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (code) {
        release(farm);
        return services->err_set(err, PP_UNAVAILABLE, NULL, "MPI does not start (error %d)", code);
    }
    pp_status status =
        provided < MPI_THREAD_FUNNELED
            ? services->err_set(err, PP_UNAVAILABLE, NULL, "this MPI was built without threads")
            : begin(farm, err);
    if (status) {
        release(farm);
        return status;
    }
    *process_out = (uint32_t)farm->process;
    *processes_out = (uint32_t)farm->processes;
    *farm_out = farm;
    return PP_OK;
}

static pp_status farm_poll(pp_farm *farm, uint32_t *from_out, const char **message_out,
                           size_t *bytes_out, bool *came_out, pp_err *err)
{
    int there = 0;
    int count = 0;
    int done = 0;
    MPI_Status who;
    if (farm->taken) {
        int code = listen_to(farm, farm->taken);
        farm->taken = 0;
        if (code)
            return failed(farm, code, err);
    }
    int code = MPI_Testany(farm->processes, farm->request, &done, &there, &who);
    *came_out = there && done != MPI_UNDEFINED;
    if (!*came_out)
        return PP_OK;
    if (code) { /* the process died while it sent */
        *came_out = false;
        return PP_OK;
    }
    MPI_Get_count(&who, MPI_BYTE, &count);
    farm->taken = done;
    *from_out = (uint32_t)done;
    *message_out = farm->message + (size_t)done * PP_FARM_BYTES_MAX;
    *bytes_out = (size_t)count;
    return PP_OK;
}

static pp_status farm_answer(pp_farm *farm, uint32_t to, uint64_t answer, pp_err *err)
{
    MPI_Request *sent = &farm->sent[to];
    int code = MPI_Wait(
        sent, MPI_STATUS_IGNORE); /* the reply before was received, since the process asks again */
    if (!code) {
        farm->reply[to] = answer;
        code = MPI_Isend(&farm->reply[to], 1, MPI_UINT64_T, (int)to, TAG_ANSWER, farm->all, sent);
    }
    return code ? failed(farm, code, err) : PP_OK;
}

static pp_status farm_ask(pp_farm *farm, const char *message, size_t bytes, pp_ns patience_ns,
                          uint64_t *answer_out, pp_err *err)
{
    MPI_Request request[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
    uint64_t answer = 0;
    int done = 0;
    pp_ns until_ns = farm->services->clock_now_ns() + patience_ns;
    int code = MPI_Irecv(&answer, 1, MPI_UINT64_T, 0, TAG_ANSWER, farm->all, &request[1]);
    if (!code)
        code = MPI_Isend(message, (int)bytes, MPI_BYTE, 0, TAG_ASK, farm->all, &request[0]);
    while (!code && !done && farm->services->clock_now_ns() < until_ns) {
        code = MPI_Testall(2, request, &done, MPI_STATUSES_IGNORE);
        if (!code && !done)
            nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
    }
    if (code)
        return failed(farm, code, err);
    if (!done) {
        MPI_Cancel(&request[1]); /* MPI no longer writes to this stack */
        return farm->services->err_set(err, PP_IO, NULL, "process 0 does not answer");
    }
    *answer_out = answer;
    return PP_OK;
}

static void farm_close(pp_farm *farm, bool all_here)
{
    if (!all_here)
        return; /* memory that MPI may still write to is kept */
    for (int i = 0; farm->request && i < farm->processes; i++) {
        MPI_Wait(&farm->sent[i], MPI_STATUS_IGNORE);
        if (farm->request[i] != MPI_REQUEST_NULL) {
            MPI_Cancel(&farm->request[i]);
            MPI_Request_free(&farm->request[i]);
        }
    }
    MPI_Comm_free(&farm->all);
    MPI_Finalize();
    release(farm);
}

const pp_farm_table pp_mpi_farm = {
    .open = farm_open,
    .poll = farm_poll,
    .answer = farm_answer,
    .ask = farm_ask,
    .close = farm_close,
};
