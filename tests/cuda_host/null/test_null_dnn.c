/* tests/cuda_host/null/test_null_dnn.c - how the seams open, call and close cuDNN, on a library that computes
 * nothing. */
#include "tests/cuda_host/null/open_seam.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "tests/suite.h"
#include <cudnn_version.h>

#define TEXT_OF(x) #x
#define LIBRARY_OF(major) "libcudnn.so." TEXT_OF(major)

/* The library if it is loaded, without loading it. */
static void *loaded(void) {
    return dlopen(LIBRARY_OF(CUDNN_MAJOR), RTLD_NOW | RTLD_NOLOAD);
}

/* A counter of dnn.c. */
static int *counter(const char *name) {
    void *library = loaded();
    int *address = library ? dlsym(library, name) : NULL;
    assert_non_null(address);
    dlclose(library);
    return address;
}

TEST(the_library_is_opened_when_asked_for_and_never_unloaded) {
    seam_rows r = {SEAM_F32, false, 4, 2048};
    seam *s = open_seam((seam_choice){0});
    assert_null(loaded());
    float *x = seam_allocate(s, 4 * 2048 * sizeof *x);
    assert_true(seam_softmax(s, &r, x, x));
    assert_true(seam_softmax_adjoint(s, &r, x, x, x));
    int *held = counter("null_dnn_held"), *calls = counter("null_dnn_calls");
    assert_int_equal(*calls, 2);
    assert_int_equal(*held, 2); /* a handle, a descriptor */
    seam_release(s, x);
    seam_close(s);
    void *still = loaded(); /* its kernels and threads outlive the handle */
    assert_non_null(still);
    assert_ptr_equal(dlsym(still, "null_dnn_held"), held);
    assert_int_equal(*held, 0);
    dlclose(still);
}

TEST(naming_the_library_leaves_it_where_it_is) {
    char text[512];
    for (int i = 0; i < 2; i++) {
        seam_libraries(text, sizeof text);
        assert_non_null(strstr(text, ", cuDNN 9.19.0"));
        void *still = loaded();
        assert_non_null(still);
        dlclose(still);
    }
}
