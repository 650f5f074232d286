/* tensor/cuda/seams/seam_library.h - functions of a library that is opened when it is first needed. */
#ifndef MO_CUDA_SEAM_LIBRARY_H
#define MO_CUDA_SEAM_LIBRARY_H

#include <stddef.h>

typedef struct seam_function {
    const char *name;
    void *slot; /* the pointer to the function, which opening fills */
} seam_function;

/* Opens the library `name`, as the loader finds it, and fills the slots. It stays loaded after its handle is closed:
 * the kernels, threads and libraries that it opened outlive what was made with it. Returns the handle; NULL if the
 * library is not installed or lacks one of the functions. */
void *seam_library_open(const char *name, const seam_function *functions, size_t n);
/* Ignores NULL. */
void seam_library_close(void *object);

#endif
