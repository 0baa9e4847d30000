/* Determines which process of a job this is, from the environment variables of torchrun, Open MPI,
 * MPIs with PMI (MPICH, Intel MPI), or srun. */
#include "runtime/cuda/nccl/store_place.h"

#include "runtime/cuda/nccl/store_proof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { PORT = 29511, PATIENCE_S = 120 };

/* Reads a number from an environment variable; it is left unchanged if the variable is not set. */
static pp_status read_number(const pp_module_services *services, const char *name, long most,
                             uint32_t *out, pp_err *err)
{
    const char *text = getenv(name);
    char *end;
    errno = 0;
    long value = text ? strtol(text, &end, 10) : 0;
    if (text && (errno || end == text || *end || value < 0 || value > most))
        return services->err_set(err, PP_USAGE, name, "'%.40s' is not a number from 0 to %ld", text,
                                 most);
    if (text)
        *out = (uint32_t)value;
    return PP_OK;
}

/* rank, number of ranks, rank on this machine, ranks on this machine, job, part of the job */
static const char *const launchers[][6] = {
    { "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID" },
    { "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE" },
    { "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_JOBID" },
    { "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE",
      "SLURM_JOB_ID", "SLURM_STEP_ID" },
};

static const char *const *launcher(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (getenv(launchers[i][0]) && getenv(launchers[i][1]))
            return launchers[i];
    return NULL;
}

static void name_job(const char *const *name, pp_store_place *place)
{
    const char *job = name[4] ? getenv(name[4]) : NULL;
    const char *part = name[5] ? getenv(name[5]) : NULL;
    snprintf(place->job, sizeof place->job, "%.90s%s%.30s", job ? job : "", part ? "." : "",
             part ? part : "");
}

pp_status pp_store_find_place(const pp_module_services *services, pp_store_place *place_out,
                              pp_err *err)
{
    const char *const *name = launcher();
    const char *host = getenv("MASTER_ADDR");
    pp_store_place place = { .launched = name != NULL, .patience_s = PATIENCE_S };
    pp_err no_number = { 0 };
    uint32_t here = 0;
    uint32_t port = 0;
    if (!name) {
        *place_out = place;
        return PP_OK;
    }
    pp_status status = read_number(services, name[0], INT32_MAX, &place.rank, err);
    place.local = place.rank;
    if (status || (status = read_number(services, name[1], INT32_MAX, &place.ranks, err)) ||
        (status = read_number(services, "SLURM_LOCALID", INT32_MAX, &place.local, err)) ||
        (status = read_number(services, name[2], INT32_MAX, &place.local, err)) ||
        (status = read_number(services, "MASTER_PORT", UINT16_MAX - 1, &port, err)) ||
        (status = read_number(services, "PPSIM_START_S", INT32_MAX, &place.patience_s, err)))
        return status;
    if (place.rank >= place.ranks)
        return services->err_set(err, PP_USAGE, name[0], "is %u, but there are only %u ranks (%s)",
                                 place.rank, place.ranks, name[1]);
    if (place.ranks == 1) { /* a job of one process needs no launcher */
        *place_out = (pp_store_place){ 0 };
        return PP_OK;
    }
    /* On several machines srun writes "4(x2)" or "4,3". */
    (void)read_number(services, name[3], INT32_MAX, &here, &no_number);
    if (!host && here != place.ranks)
        return services->err_set(err, PP_USAGE, "MASTER_ADDR",
                                 "is not set; it names the machine of rank 0 when there are "
                                 "several");
    snprintf(place.host, sizeof place.host, "%s", host ? host : "127.0.0.1");
    place.port = (uint16_t)(port ? port + 1 : PORT); /* torchrun itself listens at MASTER_PORT */
    place.several = here && here < place.ranks;
    name_job(name, &place);
    status = pp_store_read_secret(services, &place, err);
    if (!status)
        *place_out = place;
    return status;
}
