/* Graphs of cuDNN's attention by NVIDIA's cudnn-frontend. libcudnn is loaded at run time; the
 * frontend looks up its functions in the handle. */
#include "runtime/cuda/timing/cudnn_graph.h"

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <string>
#include <unordered_map>

namespace fe = cudnn_frontend;

namespace cudnn_frontend
{
void *cudnn_dlhandle; /* the handle in which the frontend looks up functions */
}

namespace
{

using uid = enum pp_cudnn_tensor;
using tensor = std::shared_ptr<fe::graph::Tensor_attributes>;

/* Copies a message of the library in one line, without its prefix. Allocates nothing, since memory
 * may be exhausted. */
bool say(char *why, size_t size, const char *text)
{
    static const char who[] = "[cudnn_frontend] Error: ";
    const size_t bytes = sizeof who - 1;
    size_t done = 0;
    while (*text && done + 1 < size) {
        if (std::strncmp(text, who, bytes) == 0) {
            text += bytes;
            continue;
        }
        why[done++] = *text == '\n' ? ' ' : *text;
        text++;
    }
    why[done] = '\0';
    return false;
}

/* Runs a function that may throw: the frontend does so if a function of a library is missing. */
template <typename work> bool attempt(char *why, size_t size, work run)
{
    try {
        fe::error_t error = run();
        return error.is_good() || say(why, size, error.get_message().c_str());
    } catch (const std::exception &thrown) {
        return say(why, size, thrown.what());
    } catch (...) {
        return say(why, size, "its frontend threw something unknown");
    }
}

/* The layout of the tensors of a shape. */
class layout
{
  public:
    layout(fe::graph::Graph &of, const pp_cudnn_shape &s)
        : graph(of), shape(s), hidden(s.heads * s.width),
          qkv_at(table("qkv_at", PP_CUDNN_QKV_AT, s.sequences + 1, fe::DataType_t::INT64)),
          out_at(table("out_at", PP_CUDNN_OUT_AT, s.sequences + 1, fe::DataType_t::INT64)),
          lengths(table("lengths", PP_CUDNN_LENGTHS, s.sequences, fe::DataType_t::INT32))
    {
    }

    /* Sequences of at most shape.longest rows, packed one after the other. */
    fe::graph::Tensor_attributes rows(const char *name, uid id, int64_t step, tensor at) const
    {
        return fe::graph::Tensor_attributes()
            .set_name(name)
            .set_uid(id)
            .set_dim({ shape.sequences, shape.heads, shape.longest, shape.width })
            .set_stride({ step * shape.longest, shape.width, step, 1 })
            .set_ragged_offset(at);
    }
    fe::graph::Tensor_attributes of_qkv(const char *name, uid id) const
    {
        return rows(name, id, 3 * hidden, qkv_at);
    }
    fe::graph::Tensor_attributes of_out(const char *name, uid id) const
    {
        return rows(name, id, hidden, out_at);
    }
    /* Padded to the longest sequence, the only layout that every version and GPU accepts. */
    fe::graph::Tensor_attributes stats() const
    {
        return fe::graph::Tensor_attributes()
            .set_name("stats")
            .set_uid(PP_CUDNN_STATS)
            .set_dim({ shape.sequences, shape.heads, shape.longest, 1 })
            .set_stride({ shape.heads * shape.longest, shape.longest, 1, 1 })
            .set_data_type(fe::DataType_t::FLOAT);
    }
    template <typename options> options mask(options of) const
    {
        of.set_attn_scale(1 / std::sqrt(static_cast<float>(shape.width)))
            .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
            .set_diagonal_band_right_bound(0)
            .set_padding_mask(true)
            .set_seq_len_q(lengths)
            .set_seq_len_kv(lengths);
        return of;
    }

    fe::graph::Graph &graph;
    const pp_cudnn_shape shape;

  private:
    tensor table(const char *name, uid id, int64_t count, fe::DataType_t type)
    {
        return graph.tensor(fe::graph::Tensor_attributes()
                                .set_name(name)
                                .set_uid(id)
                                .set_dim({ count, 1, 1, 1 })
                                .set_stride({ 1, 1, 1, 1 })
                                .set_data_type(type));
    }

    const int64_t hidden;
    const tensor qkv_at, out_at, lengths;
};

void describe(const tensor &result, fe::graph::Tensor_attributes as)
{
    result->set_output(true)
        .set_uid(as.get_uid())
        .set_dim(as.get_dim())
        .set_stride(as.get_stride())
        .set_ragged_offset(as.get_ragged_offset());
    if (as.get_data_type() != fe::DataType_t::NOT_SET)
        result->set_data_type(as.get_data_type());
}

void add_forward(const layout &at)
{
    fe::graph::Graph &graph = at.graph;
    const auto options =
        at.mask(fe::graph::SDPA_attributes().set_name("forward").set_generate_stats(true));
    const auto [out, stats] = graph.sdpa(graph.tensor(at.of_qkv("q", PP_CUDNN_Q)),
                                         graph.tensor(at.of_qkv("k", PP_CUDNN_K)),
                                         graph.tensor(at.of_qkv("v", PP_CUDNN_V)), options);
    describe(out, at.of_out("o", PP_CUDNN_O));
    describe(stats, at.stats());
}

void add_backward(const layout &at)
{
    fe::graph::Graph &graph = at.graph;
    auto options = at.mask(fe::graph::SDPA_backward_attributes().set_name("backward"));
    options.set_max_total_seq_len_q(at.shape.tokens).set_max_total_seq_len_kv(at.shape.tokens);
    const auto [d_q, d_k, d_v] = graph.sdpa_backward(
        graph.tensor(at.of_qkv("q", PP_CUDNN_Q)), graph.tensor(at.of_qkv("k", PP_CUDNN_K)),
        graph.tensor(at.of_qkv("v", PP_CUDNN_V)), graph.tensor(at.of_out("o", PP_CUDNN_O)),
        graph.tensor(at.of_out("d_o", PP_CUDNN_D_O)), graph.tensor(at.stats()), options);
    describe(d_q, at.of_qkv("d_q", PP_CUDNN_D_Q));
    describe(d_k, at.of_qkv("d_k", PP_CUDNN_D_K));
    describe(d_v, at.of_qkv("d_v", PP_CUDNN_D_V));
}

/* The frontend would load the first libcudart of any version that it finds. */
void name_cuda_runtime()
{
    Dl_info where;
    if (dladdr(reinterpret_cast<void *>(cudaRuntimeGetVersion), &where) && where.dli_fname)
        (void)setenv("CUDNN_FRONTEND_CUDART_LIB_NAME", where.dli_fname, 0);
}

} // namespace

struct pp_cudnn_graph {
    cudnnHandle_t handle;
    pp_cudnn_shape shape;
    bool backward;
    fe::graph::Graph graph;
    std::string name;
};

bool pp_cudnn_graph_built()
{
    return true;
}

bool pp_cudnn_handle_open(void *library, pp_cudnn_handle **handle_out, char *why, size_t size)
{
    name_cuda_runtime();
    fe::cudnn_dlhandle = library;
    return attempt(why, size, [=]() -> fe::error_t {
        const cudnnStatus_t status = fe::detail::create_handle(handle_out);
        if (status == CUDNN_STATUS_SUCCESS)
            return {};
        return { fe::error_code_t::HANDLE_ERROR, fe::detail::get_error_string(status) };
    });
}

void pp_cudnn_handle_close(pp_cudnn_handle *handle)
{
    char ignored[1];
    attempt(ignored, sizeof ignored, [=]() -> fe::error_t {
        (void)fe::detail::destroy_handle(handle);
        return {};
    });
}

bool pp_cudnn_graph_make(pp_cudnn_handle *handle, const pp_cudnn_shape *shape, bool backward,
                         pp_cudnn_graph **graph_out, size_t *workspace_out, char *why, size_t size)
{
    return attempt(why, size, [=]() -> fe::error_t {
        std::unique_ptr<pp_cudnn_graph> g(
            new pp_cudnn_graph{ handle, *shape, backward, fe::graph::Graph(), std::string() });
        int64_t bytes = 0;
        g->graph.set_io_data_type(fe::DataType_t::BFLOAT16)
            .set_intermediate_data_type(fe::DataType_t::FLOAT)
            .set_compute_data_type(fe::DataType_t::FLOAT);
        const layout at(g->graph, *shape);
        backward ? add_backward(at) : add_forward(at);
        fe::error_t error = g->graph.build(handle, { fe::HeurMode_t::A });
        if (error.is_good())
            error = g->graph.get_workspace_size(bytes);
        if (error.is_good())
            error = g->graph.get_plan_name(g->name);
        if (error.is_bad())
            return error;
        *workspace_out = static_cast<size_t>(bytes);
        *graph_out = g.release();
        return {};
    });
}

const char *pp_cudnn_graph_name(const pp_cudnn_graph *graph)
{
    return graph->name.c_str();
}

bool pp_cudnn_graph_run(pp_cudnn_graph *g, const pp_cudnn_call *call, cudaStream_t stream,
                        char *why, size_t size)
{
    return attempt(why, size, [=]() -> fe::error_t {
        const size_t part = static_cast<size_t>(g->shape.heads * g->shape.width) * 2; /* bf16 */
        const auto third = [part](void *of, size_t i) {
            return static_cast<char *>(of) + i * part;
        };
        std::unordered_map<int64_t, void *> at = {
            { PP_CUDNN_Q, call->qkv },           { PP_CUDNN_K, third(call->qkv, 1) },
            { PP_CUDNN_V, third(call->qkv, 2) }, { PP_CUDNN_O, call->out },
            { PP_CUDNN_STATS, call->stats },     { PP_CUDNN_QKV_AT, call->qkv_at },
            { PP_CUDNN_OUT_AT, call->out_at },   { PP_CUDNN_LENGTHS, call->lengths },
        };
        if (g->backward)
            at.insert({ { PP_CUDNN_D_O, call->d_out },
                        { PP_CUDNN_D_Q, call->d_qkv },
                        { PP_CUDNN_D_K, third(call->d_qkv, 1) },
                        { PP_CUDNN_D_V, third(call->d_qkv, 2) } });
        const cudnnStatus_t status = fe::detail::set_stream(g->handle, stream);
        if (status != CUDNN_STATUS_SUCCESS)
            return { fe::error_code_t::HANDLE_ERROR, fe::detail::get_error_string(status) };
        return g->graph.execute(g->handle, at, call->workspace);
    });
}

void pp_cudnn_graph_free(pp_cudnn_graph *graph)
{
    delete graph;
}
