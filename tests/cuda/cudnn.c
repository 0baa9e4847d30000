/* Stand-in for libcudnn: its calls. */
#include "tests/cuda/cudnn.h"

#include "tests/cuda/standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cudnnContext {
    cudaStream_t stream;
    int device;
};

static cudnn_descriptor *all;

size_t cudnnGetVersion(void)
{
    return (size_t)standin_setting("STANDIN_CUDNN", CUDNN_VERSION);
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    return status ? "the stand-in fails" : "success";
}

void cudnnGetLastErrorString(char *message, size_t size)
{
    snprintf(message, size, "as it was told");
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (standin_fails("cudnnCreate", "%d", standin_device()))
        return CUDNN_STATUS_NOT_INITIALIZED;
    *handle = calloc(1, sizeof **handle);
    (*handle)->device = standin_device();
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    (void)standin_fails("cudnnDestroy", "%d", handle->device);
    free(handle);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    if (standin_fails("cudnnSetStream", "%d", handle->device))
        return CUDNN_STATUS_EXECUTION_FAILED;
    if (standin_device_of((standin_stream *)stream) != handle->device)
        standin_wrong("a stream of another GPU than cuDNN's handle");
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t *stream)
{
    *stream = handle->stream;
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *out)
{
    if (standin_fails("cudnnBackendCreateDescriptor", "%d", (int)type))
        return CUDNN_STATUS_BAD_PARAM;
    cudnn_descriptor *d = calloc(1, sizeof *d);
    d->next = all;
    d->type = type;
    all = d;
    *out = d;
    return CUDNN_STATUS_SUCCESS;
}

/* Descriptors that refer to it keep referring to it. */
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t of)
{
    const cudnn_descriptor *d = of;
    return standin_fails("cudnnBackendDestroyDescriptor", "%d", d ? (int)d->type : -1)
               ? CUDNN_STATUS_BAD_PARAM
               : CUDNN_STATUS_SUCCESS;
}

static size_t bytes_of(cudnnBackendAttributeType_t type)
{
    switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
        return 8;
    case CUDNN_TYPE_CHAR:
    case CUDNN_TYPE_BOOLEAN:
        return 1;
    case CUDNN_TYPE_FRACTION:
        return 16;
    default:
        return 4;
    }
}

const cudnn_attribute *cudnn_find(const cudnn_descriptor *of, cudnnBackendAttributeName_t name)
{
    for (int i = 0; of && i < of->attributes; i++) {
        if (of->attribute[i].name == name)
            return &of->attribute[i];
    }
    return NULL;
}

cudnn_descriptor *cudnn_part(const cudnn_descriptor *of, cudnnBackendAttributeName_t name,
                             int64_t index)
{
    const cudnn_attribute *a = cudnn_find(of, name);
    return a && a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && index < a->count
               ? ((cudnn_descriptor **)a->values)[index]
               : NULL;
}

static void keep(cudnn_descriptor *of, cudnnBackendAttributeName_t name,
                 cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    cudnn_attribute *a = (cudnn_attribute *)cudnn_find(of, name);
    if (!a && of->attributes == CUDNN_ATTRIBUTES)
        standin_wrong("a descriptor of type %d has too many attributes", (int)of->type);
    if (!a)
        a = &of->attribute[of->attributes++];
    free(a->values);
    *a = (cudnn_attribute){ name, type, count, malloc((size_t)count * bytes_of(type) + 1) };
    memcpy(a->values, values, (size_t)count * bytes_of(type));
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t of,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values)
{
    cudnn_descriptor *d = of;
    if (standin_fails("cudnnBackendSetAttribute", "%d %d", (int)d->type, (int)name))
        return CUDNN_STATUS_BAD_PARAM;
    if (d->finished)
        standin_wrong("attribute %d of a descriptor that is finished", (int)name);
    keep(d, name, type, count, values);
    return CUDNN_STATUS_SUCCESS;
}

/* One engine for every graph. */
static void answer(cudnn_descriptor *d)
{
    const int64_t one = 1, workspace = 4096;
    const int32_t shared = 0;
    cudnn_descriptor *graph = cudnn_part(d, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 0);
    if (d->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
        keep(d, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1, &one);
    if (d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
        keep(d, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &workspace);
    if (d->type != CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
        return;
    cudnnBackendDescriptor_t engine, config;
    (void)cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine);
    (void)cudnnBackendCreateDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, &config);
    keep(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph);
    keep(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &one);
    keep(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
    keep(config, CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, CUDNN_TYPE_INT32, 1, &shared);
    keep(d, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config);
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t of)
{
    cudnn_descriptor *d = of;
    if (standin_fails("cudnnBackendFinalize", "%d", (int)d->type))
        return CUDNN_STATUS_NOT_SUPPORTED;
    answer(d);
    d->finished = true;
    return CUDNN_STATUS_SUCCESS;
}

/* Descriptors are copied into those of the caller. */
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t of,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted,
                                       int64_t *count, void *values)
{
    const cudnn_descriptor *d = of;
    const cudnn_attribute *a = cudnn_find(d, name);
    if (standin_fails("cudnnBackendGetAttribute", "%d %d", (int)d->type, (int)name))
        return CUDNN_STATUS_BAD_PARAM;
    if (a && a->type != type)
        standin_wrong("attribute %d asked for as type %d", (int)name, (int)type);
    if (count)
        *count = a ? a->count : 0;
    for (int64_t i = 0; a && values && i < wanted && i < a->count; i++) {
        if (type != CUDNN_TYPE_BACKEND_DESCRIPTOR) {
            memcpy((char *)values + (size_t)i * bytes_of(type),
                   (char *)a->values + (size_t)i * bytes_of(type), bytes_of(type));
            continue;
        }
        cudnn_descriptor *to = ((cudnn_descriptor **)values)[i];
        const cudnn_descriptor *from = ((cudnn_descriptor **)a->values)[i];
        for (int k = 0; k < from->attributes; k++)
            keep(to, from->attribute[k].name, from->attribute[k].type, from->attribute[k].count,
                 from->attribute[k].values);
        to->finished = true;
    }
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack)
{
    if (standin_fails("cudnnBackendExecute", "%d", handle->device))
        return CUDNN_STATUS_EXECUTION_FAILED;
    cudnn_run(plan, pack, handle->stream);
    return CUDNN_STATUS_SUCCESS;
}
