/* tensor/cuda/seams/seam_library.c - libraries that are opened when they are first needed, not linked: many machines
 * lack them. */
#include "tensor/cuda/seams/seam_library.h"

#include <dlfcn.h>
#include <string.h>

void *seam_library_open(const char *name, const seam_function *functions, size_t n) {
    void *object = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    for (size_t i = 0; object && i < n; i++) {
        void *address = dlsym(object, functions[i].name);
        if (!address) {
            dlclose(object);
            return NULL;
        }
        memcpy(functions[i].slot, &address, sizeof address);
    }
    return object;
}

void seam_library_close(void *object) {
    if (object)
        dlclose(object);
}
