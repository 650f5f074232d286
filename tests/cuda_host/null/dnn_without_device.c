/* tests/cuda_host/null/dnn_without_device.c - seam_dnn.c on cuDNN itself, for the properties of a device that is not
 * there: cuDNN can choose engines and compile kernels for them, and nothing is executed.
 *
 * Usage: dnn_without_device PROPERTIES    a file of cuDNN's JSON; test_dnn.py writes it, and a driver to load. Prints a
 * line for each layer: whether there is a plan for it, and the kernel. */
#define MO_CUDNN
#include "tensor/cuda/seams/seam_dnn.c" /* its functions are static */

#include <dlfcn.h>

static library real;
static descriptor device; /* takes the place of the handle, which only a device can have */
static const char *path;

/* ---- cuDNN's functions, with the device's properties in place of a handle ---- */

static cudnnStatus_t create(cudnnHandle_t *handle) {
    char text[4096];
    FILE *file = fopen(path, "r");
    size_t n = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    *handle = NULL;
    cudnnStatus_t code = real.make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device);
    code = code ? code : real.set(device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, (int64_t)n, text);
    return code ? code : real.finalize(device);
}

static cudnnStatus_t set_stream(cudnnHandle_t handle, cudaStream_t stream) {
    return handle || stream ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t give_device(descriptor d, cudnnBackendAttributeName_t name) {
    return real.set(d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device);
}

static cudnnStatus_t set_attribute(
    descriptor d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t n, const void *value) {
    if (type == CUDNN_TYPE_HANDLE)
        return name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE ? give_device(d, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP)
                                                        : CUDNN_STATUS_SUCCESS;
    cudnnStatus_t code = real.set(d, name, type, n, value);
    if (!code && name == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)
        code = give_device(d, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
    if (!code && name == CUDNN_ATTR_ENGINE_OPERATION_GRAPH)
        code = give_device(d, CUDNN_ATTR_ENGINE_DEVICEPROP);
    return code;
}

/* Prints the plan's kernel. */
static cudnnStatus_t execute(cudnnHandle_t handle, descriptor plan, descriptor pack) {
    int64_t n = 0, count = 0;
    const cudnnBackendAttributeName_t text = CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION;
    cudnnStatus_t code = real.get(plan, text, CUDNN_TYPE_CHAR, 0, &n, NULL);
    char *json = code || handle || !pack ? NULL : calloc((size_t)n + 1, 1);
    code = json ? real.get(plan, text, CUDNN_TYPE_CHAR, n, &count, json) : CUDNN_STATUS_INTERNAL_ERROR;
    const char *kernel = code ? NULL : strstr(json, "kernelName\":\"");
    kernel = kernel ? kernel + strlen("kernelName\":\"") : "none";
    printf("kernel %.*s\n", (int)strcspn(kernel, "\""), kernel);
    free(json);
    return code;
}

static cudnnStatus_t destroy(cudnnHandle_t handle) {
    return handle ? CUDNN_STATUS_BAD_PARAM : real.release(device);
}

void *seam_library_open(const char *name, const seam_function *functions, size_t n) {
    static const library ours = {
        .create = create, .destroy = destroy, .set_stream = set_stream, .set = set_attribute, .execute = execute};
    library *l = (library *)((char *)functions[0].slot - offsetof(library, version));
    void *object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < n && object; i++) {
        void *address = dlsym(object, functions[i].name);
        memcpy(functions[i].slot, &address, sizeof address);
    }
    real = *l;
    l->create = ours.create, l->destroy = ours.destroy, l->set_stream = ours.set_stream;
    l->set = ours.set, l->execute = ours.execute;
    return object;
}

void seam_library_close(void *object) {
    if (object)
        dlclose(object);
}

/* ---- layers ---- */

static seam_gemm layer(void *memory, int64_t rows, int64_t out, int64_t in, bool relu) {
    seam_gemm g = {.input = SEAM_BF16,
        .output = SEAM_F32,
        .transposed_a = relu,
        .m = out,
        .n = rows,
        .k = in,
        .A = memory,
        .B = memory,
        .C = memory,
        .batch = 1,
        .alpha = 1,
        .relu = relu,
        .bias = relu ? memory : NULL};
    g.lda = ((relu ? in : out) + 7) / 8 * 8;
    g.ldb = (in + 7) / 8 * 8;
    g.ldc = out;
    g.rounded = memory;
    g.ld_rounded = (out + 7) / 8 * 8;
    return g;
}

int main(int count, char **arguments) {
    static const int64_t sizes[][4] = {{4096, 512, 512, 1}, {4000, 512, 512, 1}, {4096, 512, 64, 0}, {900, 40, 513, 1}};
    path = count == 2 ? arguments[1] : "";
    seam *s = calloc(1, sizeof *s);
    void *memory = aligned_alloc(256, 1 << 20);
    for (size_t i = 0; s && memory && i < sizeof sizes / sizeof *sizes; i++) {
        seam_gemm g = layer(memory, sizes[i][0], sizes[i][1], sizes[i][2], sizes[i][3]);
        const char *reason = seam_queue_layer(s, &g);
        printf("%lld x %lld x %lld: %s\n", (long long)g.n, (long long)g.m, (long long)g.k, reason ? reason : "planned");
    }
    seam_gemm turned = layer(memory, 64, 64, 64, true);
    turned.transposed_b = true;
    printf("turned: %s\n", seam_has_layer(s, &turned) ? "planned" : "refused");
    if (s)
        seam_close_dnn(s);
    free(memory);
    free(s);
    return 0;
}
