/* Proofs are HMAC-SHA256 (RFC 2104) of what they are about, with a key that is the HMAC of the
 * launcher's name of the job under the job's secret. The secret is $PPSIM_SECRET or the content of
 * $PPSIM_SECRET_FILE, and never travels.
 *
 * Stores of others do not take this over: that of torchrun (TCPStore) has no authentication, and
 * PMIx, which has, is there under some launchers only. */
#include "runtime/cuda/nccl/store_proof.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECRET_MIN = 16, SECRET_MAX = 4096 };

static const char in_file[] = "PPSIM_SECRET_FILE";

/* Reads the first line of a file that nobody else may read. */
static pp_status read_file(const pp_module_services *services, const char *path,
                           char secret[SECRET_MAX], pp_err *err)
{
    struct stat info;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &info)) {
        const char *why = strerror(errno);
        if (file >= 0)
            close(file);
        return services->err_set(err, PP_IO, in_file, "%.200s: %s", path, why);
    }
    const ssize_t bytes = read(file, secret, SECRET_MAX - 1);
    const char *why = strerror(errno);
    close(file);
    if (bytes < 0)
        return services->err_set(err, PP_IO, in_file, "%.200s: %s", path, why);
    if (info.st_mode & (S_IRWXG | S_IRWXO))
        return services->err_set(err, PP_USAGE, in_file,
                                 "others may use %.200s; run 'chmod 600' on it", path);
    secret[bytes] = '\0';
    secret[strcspn(secret, "\r\n")] = '\0';
    return PP_OK;
}

static void hmac(const unsigned char *key, size_t key_bytes, const void *text, size_t bytes,
                 unsigned char out[PP_PROOF_BYTES])
{
    struct hmac_sha256_ctx context;
    hmac_sha256_set_key(&context, key_bytes, key);
    hmac_sha256_update(&context, bytes, text);
    hmac_sha256_digest(&context, PP_PROOF_BYTES, out);
}

pp_status pp_store_read_secret(const pp_module_services *services, pp_store_place *place,
                               pp_err *err)
{
    const char *given = getenv("PPSIM_SECRET");
    const char *path = getenv(in_file);
    char read[SECRET_MAX] = "";
    if (!given && path) {
        pp_status status = read_file(services, path, read, err);
        if (status)
            return status;
        given = read;
    }
    if (given && strlen(given) < SECRET_MIN)
        return services->err_set(err, PP_USAGE, path && given == read ? in_file : "PPSIM_SECRET",
                                 "is shorter than %d characters; draw one for each job, for "
                                 "example with 'openssl rand -hex 16'",
                                 (int)SECRET_MIN);
    place->has_secret = given != NULL;
    hmac((const unsigned char *)(given ? given : ""), given ? strlen(given) : 0, place->job,
         strlen(place->job), place->key);
    return PP_OK;
}

bool pp_store_draw(unsigned char nonce[PP_NONCE_BYTES])
{
    return getrandom(nonce, PP_NONCE_BYTES, 0) == PP_NONCE_BYTES;
}

void pp_store_prove(const pp_store_place *place, const pp_proof_of *of,
                    unsigned char proof_out[PP_PROOF_BYTES])
{
    hmac(place->key, sizeof place->key, of, sizeof *of, proof_out);
}

bool pp_store_proves(const pp_store_place *place, const pp_proof_of *of,
                     const unsigned char proof[PP_PROOF_BYTES])
{
    unsigned char right[PP_PROOF_BYTES];
    pp_store_prove(place, of, right);
    return memeql_sec(right, proof, sizeof right) != 0;
}
