/* How processes of a job recognise each other: by a secret that they share. */
#ifndef PPSIM_RUNTIME_CUDA_NCCL_STORE_PROOF_H
#define PPSIM_RUNTIME_CUDA_NCCL_STORE_PROOF_H

#include "runtime/cuda/nccl/store_place.h"

enum { PP_PROOF_BYTES = 32, PP_NONCE_BYTES = 16 };

/* What a proof is about. The nonces are numbers that each side draws anew for every connection, so
 * that no proof can be used twice. */
typedef struct pp_proof_of {
    char side[8]; /* "hello" or "welcome" */
    uint32_t rank, ranks;
    unsigned char door[PP_NONCE_BYTES], guest[PP_NONCE_BYTES];
} pp_proof_of;

/* Reads the secret of the job into place->key and place->has_secret. Fails: USAGE, IO. */
PP_MUST_CHECK pp_status pp_store_read_secret(const pp_module_services *services,
                                             pp_store_place *place, pp_err *err);
/* Draws a nonce. Returns false if the system has no random numbers. */
bool pp_store_draw(unsigned char nonce[PP_NONCE_BYTES]);
void pp_store_prove(const pp_store_place *place, const pp_proof_of *of,
                    unsigned char proof_out[PP_PROOF_BYTES]);
/* Compares a proof in a time that does not depend on its bytes. */
bool pp_store_proves(const pp_store_place *place, const pp_proof_of *of,
                     const unsigned char proof[PP_PROOF_BYTES]);

#endif
