/* Makes the tables that kernels read: the tokens and labels of every microbatch, the tiles of its
 * sequences, and, for the gradient of the embedding, the rows of each distinct token, sorted, so
 * that every sum has a fixed order without atomics. */

#include "runtime/cuda/compute/machine_tables.h"

#include "runtime/cuda/compute/memory.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

/* A token and its row. */
typedef struct occurrence {
    int32_t token, row;
} occurrence;

static int compare(const void *left, const void *right)
{
    const occurrence *a = left;
    const occurrence *b = right;
    if (a->token != b->token)
        return a->token < b->token ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* A block of memory that is divided: the host's copy, and the address on the GPU; without a base it
 * only counts bytes. */
typedef struct laying {
    char *host, *base;
    size_t bytes;
} laying;

static void *lay(laying *l, int64_t count, size_t unit, void **host_out)
{
    void *at = l->base ? l->base + l->bytes : NULL;
    *host_out = l->host ? l->host + l->bytes : NULL;
    l->bytes += ((size_t)count * unit + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static int64_t count_tiles(const pp_cpu_batch *batch, int32_t rows)
{
    int64_t tiles = 0;
    for (size_t i = 0; i < batch->sequences; i++)
        tiles += (batch->lengths[i] + rows - 1) / rows;
    return tiles;
}

static void write_tiles(const pp_cpu_batch *batch, int32_t rows, pp_gpu_tile *tile)
{
    int32_t row = 0;
    for (size_t i = 0; i < batch->sequences; i++) {
        const int32_t length = (int32_t)batch->lengths[i];
        for (int32_t first = 0; first < length; first += rows)
            *tile++ = (pp_gpu_tile){ row, length, first };
        row += length;
    }
}

/* The host's copies of one microbatch's tables. */
typedef struct tables {
    void *tile, *token, *different, *first, *row, *label, *position, *sequence;
} tables;

static void write_rows(const pp_cpu_model *model, const pp_cpu_batch *batch, const tables *t)
{
    int64_t row = 0;
    const bool vocab = model->settings.vocab > 0;
    for (size_t i = 0; i < batch->sequences; i++) {
        const uint64_t sequence = batch->first_sequence + i;
        for (int64_t p = 0; p < batch->lengths[i]; p++, row++) {
            ((uint64_t *)t->sequence)[row] = sequence;
            ((int32_t *)t->position)[row] = (int32_t)p;
            if (vocab)
                ((int32_t *)t->token)[row] = (int32_t)pp_cpu_token(model, sequence, p);
            ((int32_t *)t->label)[row] = p >= batch->counted[i] ? -1
                                         : vocab ? (int32_t)pp_cpu_token(model, sequence, p + 1)
                                                 : 0;
        }
    }
}

/* Writes the distinct tokens and their rows. Returns the number of distinct tokens. */
static int64_t write_occurrences(int64_t tokens, const tables *t, occurrence *list)
{
    int64_t differents = 0;
    int32_t *first = t->first;
    for (int64_t r = 0; r < tokens; r++)
        list[r] = (occurrence){ ((const int32_t *)t->token)[r], (int32_t)r };
    qsort(list, (size_t)tokens, sizeof *list, compare);
    for (int64_t r = 0; r < tokens; r++) {
        if (r == 0 || list[r].token != list[r - 1].token) {
            ((int32_t *)t->different)[differents] = list[r].token;
            first[differents++] = (int32_t)r;
        }
        ((int32_t *)t->row)[r] = list[r].row;
    }
    first[differents] = (int32_t)tokens;
    return differents;
}

static tables lay_out(const pp_cpu_model *model, const pp_cpu_batch *batch, laying *l,
                      pp_gpu_batch *to)
{
    const int64_t rows = batch->tokens;
    const int64_t tokens = model->settings.vocab ? rows : 0;
    tables t;
    to->tiles =
        count_tiles(batch, pp_gpu_tile_rows(model->settings.hidden / model->settings.heads));
    to->tile = lay(l, to->tiles, sizeof *to->tile, &t.tile);
    to->token = lay(l, tokens, sizeof *to->token, &t.token);
    to->different = lay(l, tokens, sizeof *to->different, &t.different);
    to->first = lay(l, tokens + 1, sizeof *to->first, &t.first);
    to->row = lay(l, tokens, sizeof *to->row, &t.row);
    to->label = lay(l, rows, sizeof *to->label, &t.label);
    to->position = lay(l, rows, sizeof *to->position, &t.position);
    to->sequence = lay(l, rows, sizeof *to->sequence, &t.sequence);
    return t;
}

static void write_all(pp_gpu_machine *m, laying *l, occurrence *list)
{
    const pp_cpu_model *model = m->model;
    l->bytes = 0;
    for (uint32_t j = 0; j < model->microbatches; j++) {
        const pp_cpu_batch *batch = &model->batch[j];
        const tables t = lay_out(model, batch, l, &m->batch[j]);
        write_tiles(batch, pp_gpu_tile_rows(model->settings.hidden / model->settings.heads),
                    t.tile);
        write_rows(model, batch, &t);
        if (model->settings.vocab)
            m->batch[j].differents = write_occurrences(batch->tokens, &t, list);
    }
}

pp_status pp_gpu_tables_open(pp_gpu_machine *m, pp_err *err)
{
    const pp_cpu_model *model = m->model;
    int64_t most = 1; /* largest number of rows of a microbatch */
    laying l = { 0 };
    m->batch = calloc(model->microbatches + 1u, sizeof *m->batch);
    for (uint32_t j = 0; m->batch && j < model->microbatches; j++) {
        (void)lay_out(model, &model->batch[j], &l, &m->batch[j]);
        most = model->batch[j].tokens > most ? model->batch[j].tokens : most;
    }
    l.host = calloc(l.bytes + 1, 1);
    occurrence *list = calloc((size_t)most, sizeof *list);
    pp_status status = m->batch && l.host && list
                           ? PP_OK
                           : m->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    cudaError_t code = cudaSuccess;
    if (!status)
        code = cudaMalloc((void **)&m->tables, l.bytes + ALIGN);
    if (!status && !code)
        code = cudaMalloc((void **)&m->losses, (size_t)most * sizeof *m->losses);
    if (!status && !code) {
        l.base = m->tables;
        write_all(m, &l, list);
        code = pp_gpu_copy(m->tables, l.host, l.bytes);
    }
    free(l.host);
    free(list);
    return status ? status : pp_gpu_check(m->services, m->rank, code, "memory for data", err);
}

void pp_gpu_tables_close(pp_gpu_machine *m)
{
    (void)cudaFree(m->tables);
    (void)cudaFree(m->losses);
    (void)cudaFree(m->other);
    free(m->batch);
}
