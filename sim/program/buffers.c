/* Names of the buffer policies, and parsing of settings that override those of a framework. */
#include "sim/program/buffers.h"

#include "sim/base/field.h"

#include <stdio.h>
#include <string.h>

static const char *const recv_names[] = {
#define PP_RECV_BUFFERS_NAME(id, name) name,
    PP_RECV_BUFFERS_MAP(PP_RECV_BUFFERS_NAME)
#undef PP_RECV_BUFFERS_NAME
};

static const char *const send_names[] = {
#define PP_SEND_BUFFERS_NAME(id, name) name,
    PP_SEND_BUFFERS_MAP(PP_SEND_BUFFERS_NAME)
#undef PP_SEND_BUFFERS_NAME
};

static const char *const switch_names[] = { "off", "on" };

const char *pp_recv_buffers_name(pp_recv_buffers policy)
{
    return recv_names[policy];
}

const char *pp_send_buffers_name(pp_send_buffers policy)
{
    return send_names[policy];
}

static pp_status choose(const char *option, const char *text, const char *const *names,
                        size_t count, size_t *chosen_out, pp_err *err)
{
    char list[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            *chosen_out = i;
            return PP_OK;
        }
        int n = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    return pp_err_set(err, PP_USAGE, option, "'%.40s' is not one of %s", text, list);
}

static bool is_said(const char *text)
{
    return text && *text;
}

pp_status pp_buffer_settings_parse(const char *recv, const char *send, const char *outputs,
                                   pp_buffer_settings *settings, pp_err *err)
{
    size_t receives = settings->recv;
    size_t sends = settings->send;
    size_t returns = settings->return_outputs;
    pp_status status = PP_OK;
    if (is_said(recv))
        status = choose(pp_err_name(err, PP_FIELD_RECV_BUFFERS), recv, recv_names,
                        PP_RECV_BUFFERS_COUNT, &receives, err);
    if (!status && is_said(send))
        status = choose(pp_err_name(err, PP_FIELD_SEND_BUFFERS), send, send_names,
                        PP_SEND_BUFFERS_COUNT, &sends, err);
    if (!status && is_said(outputs))
        status = choose(pp_err_name(err, PP_FIELD_RETURN_OUTPUTS), outputs, switch_names, 2,
                        &returns, err);
    if (status)
        return status;
    *settings = (pp_buffer_settings){
        .has_recv = settings->has_recv || is_said(recv),
        .has_send = settings->has_send || is_said(send),
        .has_return_outputs = settings->has_return_outputs || is_said(outputs),
        .recv = (pp_recv_buffers)receives,
        .send = (pp_send_buffers)sends,
        .return_outputs = returns != 0,
    };
    return PP_OK;
}

const char *pp_return_outputs_name(bool return_outputs)
{
    return switch_names[return_outputs];
}

void pp_buffer_settings_apply(const pp_buffer_settings *settings, pp_buffers *buffers)
{
    if (settings->has_recv)
        buffers->recv = (uint8_t)settings->recv;
    if (settings->has_send)
        buffers->send = (uint8_t)settings->send;
    if (settings->has_return_outputs)
        buffers->return_outputs = settings->return_outputs;
}
