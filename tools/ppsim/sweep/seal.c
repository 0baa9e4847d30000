/* The checksum of a line: FNV-1a, 64 bits, of all bytes before it. It is the last member of the
 * line's object, so that a line stays JSON:
 *   {"key":...,"status":"ok","check":"0123456789abcdef"}
 * It finds lines that a disk, a copy or an editor has changed. */
#include "tools/ppsim/sweep/seal.h"

#include "sim/base/alloc.h"
#include "sim/base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = sizeof ",\"" PP_SWEEP_SEAL "\":\"0123456789abcdef\"}\n" }; /* with a NUL */

/* Prints what follows the first `bytes` bytes of a line. */
static void print_seal(const char *line, size_t bytes, char text[ROOM])
{
    const uint64_t hash = pp_hash_bytes(PP_HASH_START, line, bytes);
    snprintf(text, ROOM, ",\"" PP_SWEEP_SEAL "\":\"%016" PRIx64 "\"}\n", hash);
}

pp_status pp_sweep_seal(char **text, size_t *bytes, pp_err *err)
{
    const size_t content = *bytes - strlen("}\n");
    char *grown = realloc(*text, content + ROOM);
    if (!grown)
        return pp_err_nomem(err);
    print_seal(grown, content, grown + content);
    *text = grown;
    *bytes = content + ROOM - 1;
    return PP_OK;
}

bool pp_sweep_is_sealed(const char *line, size_t bytes)
{
    char text[ROOM];
    if (bytes < ROOM)
        return false;
    const size_t content = bytes - (ROOM - 1);
    print_seal(line, content, text);
    return memcmp(line + content, text, ROOM - 1) == 0;
}

size_t pp_sweep_content(const char *line, size_t bytes)
{
    return bytes - (pp_sweep_is_sealed(line, bytes) ? ROOM - 1 : strlen("}\n"));
}
