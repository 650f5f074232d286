/* tensor/device.c - from a device to its backend: the CPU's is part of the library; CUDA's is a shared object, opened
 * on first use. */
#include "tensor/objects.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define CUDA_OBJECT "libmochi-cuda.so"

/* Writes the path of the CUDA object beside this library (or beside the program that contains it); "" if that is
 * unknown. */
static void path_beside(char *path, size_t bytes) {
    Dl_info self;
    path[0] = 0;
    if (!dladdr(path_beside, &self) || !self.dli_fname)
        return;
    const char *slash = strrchr(self.dli_fname, '/');
    int folder = slash ? (int)(slash - self.dli_fname) + 1 : 0;
    snprintf(path, bytes, "%.*s" CUDA_OBJECT, folder, self.dli_fname);
}

/* Opens the shared object at `path`. Returns NULL, with the loader's reason in text, on failure. */
static void *try_object(const char *path, char *text, size_t bytes) {
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *reason = object ? NULL : dlerror();
    if (!object)
        snprintf(text, bytes, "cuda: the backend could not be opened: %s", reason ? reason : "no " CUDA_OBJECT);
    return object;
}

/* Tries the loader's own search path first (LD_LIBRARY_PATH, run paths), then the folder of this library. If both fail
 * and the first search found no such file, text gets the second reason. Otherwise it keeps the first, which can name a
 * missing library that the object needs. The object is never closed: its handles, its kernels and the driver's threads
 * outlive contexts. */
static void *open_object(char *text, size_t bytes) {
    char path[4096], second[512];
    void *object = try_object(CUDA_OBJECT, text, bytes);
    if (object)
        return object;
    path_beside(path, sizeof path);
    object = strchr(path, '/') ? try_object(path, second, sizeof second) : NULL;
    if (!object && strchr(path, '/') && strstr(text, ": " CUDA_OBJECT ": "))
        snprintf(text, bytes, "%s", second);
    if (!object && strstr(text, CUDA_OBJECT ": cannot open shared object file"))
        snprintf(text, bytes,
            "cuda: there is no GPU backend: " CUDA_OBJECT " is not here; a build with nvcc makes it; "
            "or leave out --device cuda");
    return object;
}

static const mo_backend *open_cuda(char *text, size_t bytes) {
    void *object = open_object(text, bytes);
    if (!object)
        return NULL;
    const mo_backend *backend = dlsym(object, "mo_backend_cuda");
    if (backend && backend->size == sizeof *backend)
        return backend;
    snprintf(text, bytes, "cuda: " CUDA_OBJECT " is of another version than " MO_VERSION);
    return NULL;
}

const mo_backend *mo_backend_of(mo_device device, char *text, size_t bytes) {
    if (device == MO_CPU)
        return &mo_backend_cpu;
    if (device == MO_CUDA)
        return open_cuda(text, bytes);
    snprintf(text, bytes, "there is no device %d", (int)device);
    return NULL;
}
