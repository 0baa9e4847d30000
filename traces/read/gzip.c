/* Compresses and decompresses with zlib: whole texts in memory, and files piece by piece. */
#include "traces/read/gzip.h"

#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "sim/base/json.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

bool pp_gzip_recognise(const char *data, size_t bytes)
{
    return bytes >= 2 && memcmp(data, "\x1f\x8b", 2) == 0;
}

static void end_inflate(z_stream *stream)
{
    inflateEnd(stream);
}

enum { STEP = 1 << 20 };

/* Inflates all members, one after the other, into a text that grows up to `limit`. */
static pp_status inflate_all(z_stream *stream, size_t limit, const char *file, char **text,
                             size_t *bytes, pp_err *err)
{
    void *grown = NULL;
    size_t capacity = 0;
    size_t used = 0;
    pp_status status = PP_OK;
    for (;;) {
        size_t wanted = used + STEP < limit ? used + STEP : limit;
        if ((status = pp_reserve(&grown, &capacity, wanted + 1, 1, err)))
            break;
        size_t room = wanted - used;
        stream->next_out = (Bytef *)grown + used;
        stream->avail_out = (uInt)room;
        int code = inflate(stream, Z_NO_FLUSH);
        used += room - stream->avail_out;
        if (code == Z_STREAM_END) {
            bool more = stream->avail_in > 2 && stream->next_in[0] == 0x1f;
            if (!more || inflateReset(stream) != Z_OK)
                break;
        } else if (code == Z_MEM_ERROR) {
            status = pp_err_nomem(err);
            break;
        } else if (used == limit) {
            status = pp_err_set(err, PP_INPUT, file,
                                "unpacks to more than %zu bytes; give a shorter recording", limit);
            break;
        } else if (code != Z_OK) {
            status = pp_err_set(err, PP_INPUT, file, "the gzip data is %s; copy the file again",
                                code == Z_BUF_ERROR && !stream->avail_in ? "cut off" : "damaged");
            break;
        }
    }
    *text = grown;
    *bytes = used;
    return status;
}

pp_status pp_gunzip(const char *data, size_t bytes, size_t limit, const char *file, char **text_out,
                    size_t *bytes_out, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t used = 0;
    if (bytes > (size_t)1 << 30)
        return pp_err_set(err, PP_INPUT, file, "is larger than 1 GiB; give a shorter recording");
    z_stream stream PP_CLEANUP(end_inflate) = { 0 };
    /* 16 asks for the header of gzip instead of zlib's. If this fails, inflateEnd does nothing. */
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
        return pp_err_nomem(err);
    stream.next_in = (Bytef *)(uintptr_t)data; /* zlib does not write there */
    stream.avail_in = (uInt)bytes;
    pp_status status = inflate_all(&stream, limit, file, &text, &used, err);
    if (status)
        return status;
    text[used] = '\0';
    *text_out = text;
    *bytes_out = used;
    text = NULL;
    return PP_OK;
}

pp_status pp_gzip_read(const char *path, char **text_out, size_t *bytes_out, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = pp_file_read(path, &text, &bytes, err);
    if (!status && pp_gzip_recognise(text, bytes))
        return pp_gunzip(text, bytes, PP_FILE_BYTES_MAX, path, text_out, bytes_out, err);
    if (status)
        return status;
    *text_out = text;
    *bytes_out = bytes;
    text = NULL;
    return PP_OK;
}

pp_status pp_gzip_json(const char *path, pp_json **json_out, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = pp_gzip_read(path, &text, &bytes, err);
    return status ? status : pp_json_parse(text, bytes, path, json_out, err);
}

pp_status pp_gzip_open(const char *path, pp_gzip_file *file_out, pp_err *err)
{
    errno = 0;
    gzFile handle = gzopen(path, "rb"); /* opens files that are not compressed, too */
    if (!handle)
        return errno ? pp_err_set(err, PP_IO, path, "%s", strerror(errno)) : pp_err_nomem(err);
    *file_out = (pp_gzip_file){ path, handle };
    return PP_OK;
}

void pp_gzip_close(pp_gzip_file *file)
{
    if (file->handle)
        gzclose(file->handle);
    *file = (pp_gzip_file){ 0 };
}

pp_status pp_gzip_read_some(void *file, char *buffer, size_t most, size_t *bytes_out, pp_err *err)
{
    const pp_gzip_file *from = file;
    int code = Z_OK;
    int count = gzread(from->handle, buffer, most < INT_MAX ? (unsigned)most : INT_MAX);
    *bytes_out = count > 0 ? (size_t)count : 0;
    const char *words = gzerror(from->handle, &code);
    size_t length = strlen(from->path);
    if (code == Z_ERRNO)
        return pp_err_set(err, PP_IO, from->path, "%s", strerror(errno));
    if (code == Z_OK || code == Z_STREAM_END)
        return PP_OK;
    if (strncmp(words, from->path, length) == 0 && strncmp(words + length, ": ", 2) == 0)
        words += length + 2; /* zlib names the file as well */
    return pp_err_set(err, PP_INPUT, from->path, "the compressed file is damaged: %s", words);
}

pp_status pp_gzip_read_head(const char *path, size_t most, char **text_out, size_t *bytes_out,
                            pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = pp_alloc_array(most + 1, 1);
    pp_gzip_file file PP_CLEANUP(pp_gzip_close) = { 0 };
    pp_err damage = { 0 };
    if (!text)
        return pp_err_nomem(err);
    pp_status status = pp_gzip_open(path, &file, err);
    if (status)
        return status;
    status = pp_gzip_read_some(&file, text, most, bytes_out, &damage);
    (void)status; /* what was read before the damage is enough */
    text[*bytes_out] = '\0';
    *text_out = text;
    text = NULL;
    return PP_OK;
}

bool pp_gzip_named(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

pp_status pp_gzip(const char *text, size_t bytes, char **data_out, size_t *bytes_out, pp_err *err)
{
    z_stream stream = { 0 };
    if (bytes > UINT32_MAX - (UINT32_MAX >> 8))
        return pp_err_set(err, PP_INPUT, "gzip",
                          "the text is longer than 4 GiB; write it without .gz");
    /* 16 asks for the header of gzip instead of zlib's. */
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return pp_err_nomem(err);
    size_t room = deflateBound(&stream, (uLong)bytes);
    char *data = pp_alloc_array(room, 1);
    stream.next_in = (Bytef *)(uintptr_t)text; /* zlib does not write there */
    stream.avail_in = (uInt)bytes;
    stream.next_out = (Bytef *)data;
    stream.avail_out = (uInt)room;
    int code = data ? deflate(&stream, Z_FINISH) : Z_MEM_ERROR;
    *bytes_out = room - stream.avail_out;
    deflateEnd(&stream);
    if (code != Z_STREAM_END) {
        free(data);
        return pp_err_nomem(err);
    }
    *data_out = data;
    return PP_OK;
}
