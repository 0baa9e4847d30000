/* Computes SHA-256 (FIPS 180-4) with Nettle and prints it in hexadecimal. */
#include "calib/profile/sha256.h"

#include <nettle/sha2.h>
#include <stdint.h>
#include <stdio.h>

void pp_sha256(const char *text, size_t bytes, char digits_out[65])
{
    struct sha256_ctx context;
    uint8_t digest[SHA256_DIGEST_SIZE];
    sha256_init(&context);
    sha256_update(&context, bytes, (const uint8_t *)text);
    sha256_digest(&context, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        snprintf(digits_out + 2 * i, 3, "%02x", digest[i]);
}
