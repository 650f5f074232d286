/* tensor/tensor.h - context, tensor, sparse matrix, random numbers and array files.
 *
 * A context is one thread, one device, one set of library handles and one sticky status; nothing is global. A tensor is
 * a strided window (shape, strides, dtype, byte offset) onto a reference-counted storage. Everything is row-major, has
 * at most MO_MAX_AXES axes, and counts in int64_t elements unless a name says bytes.
 *
 * A failed call returns an inert value: the null tensor of its context, or NULL for an object of any other kind. Every
 * function accepts inert values, and contexts with an error: it then does nothing (releases and mo_tape_reset still
 * free), keeps the context's first error, and returns that error's code, the null tensor, NULL, NaN, 0 or false. A code
 * that is returned is the context's status; without any context it is MO_INVALID, and the null tensor is NULL. In a
 * context without an error, an unexpected NULL raises MO_INVALID. */
#ifndef MO_TENSOR_H
#define MO_TENSOR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MO_API __attribute__((visibility("default")))
#define MO_MAX_AXES 6
#define MO_VERSION "0.1.0"

typedef struct mo_context mo_context;
typedef struct mo_tensor mo_tensor;
typedef struct mo_csr mo_csr;

/* ---- status: the first error of a context stays until it is cleared ---- */

typedef enum mo_code {
    MO_OK = 0,
    MO_INVALID,     /* an argument, shape, index or label out of its domain */
    MO_MISMATCH,    /* dtype, device or context of two arguments differ */
    MO_NUMERICAL,   /* not positive definite, singular, not finite, not converged */
    MO_FORMAT,      /* a file is not what it claims to be */
    MO_IO,          /* the operating system refused */
    MO_MEMORY,      /* out of memory, or a size that overflows */
    MO_UNSUPPORTED, /* valid, but this build, device or op cannot do it */
    MO_STATE        /* called at the wrong time: a released tensor, a changed saved value */
} mo_code;

typedef struct mo_status {
    mo_code code;
    const char *file; /* the source file of the library that raised the error */
    int line;
    char message[1024]; /* one line: what, expected, found */
} mo_status;

/* Raises an error, of which the first is kept, and returns false. Every failure in the library passes through this. */
#define mo_fail(ctx, code, ...) mo_fail_at((ctx), (code), __FILE__, __LINE__, __VA_ARGS__)
MO_API bool mo_fail_at(mo_context *ctx, mo_code code, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
MO_API bool mo_ok(const mo_context *ctx); /* whether the context is free of errors */
/* The sticky status; borrowed, valid while the context lives. If ctx is NULL: MO_INVALID, "there is no context ..". */
MO_API const mo_status *mo_context_status(const mo_context *ctx);
/* Forgets the error, so that the context can be used again. Tensors and tapes stay as they are. */
MO_API void mo_clear_error(mo_context *ctx);

/* ---- context ---- */

typedef enum mo_device { MO_CPU = 0, MO_CUDA } mo_device;

/* How float32 products are formed: of exact factors, of factors rounded to 10 bits after the point (relative error of a
 * product up to 2^-10), or to 7 bits (2^-7); exponents keep the range of float32. All other work is float32 in every
 * mode: sums of products, addends, factorizations, solves, parameters. */
typedef enum mo_math { MO_MATH_FP32 = 0, MO_MATH_TF32, MO_MATH_BF16 } mo_math;

typedef struct mo_context_options {
    mo_device device;
    /* CPU threads that a kernel may use; 0: omp_get_max_threads() of the calling thread, at most its processors and 64.
     * A number is lowered to that of the processors, or of OMP_NUM_THREADS if larger, and of OpenBLAS's buffers. */
    int threads;
    /* MO_MATH_TF32: only on MO_CUDA. MO_MATH_BF16: float32 factors of products are rounded; subnormal factors, and on
     * some processors sums, then count as zero. */
    mo_math math;
    int index; /* MO_CUDA: number of the device among those that CUDA_VISIBLE_DEVICES leaves visible */
    /* The most bytes that the context may hold, 0: no bound; an allocation beyond raises MO_MEMORY. memory: of host
     * memory, for tensors, tapes and scratch; an array of a graph or of a loader counts while it is made.
     * device_memory: of the device, for MO_CUDA. */
    int64_t memory, device_memory;
    double max_expand; /* files may expand to, or claim, 64 MiB plus this many times their size; 0: 32 times */
    /* For finding mistakes: every use of a freed tensor raises an error that names it. The headers of all tensors (256
     * bytes each) and all tapes are kept until the context is released. Results have the same bits as without. */
    bool debug;
    /* Called with the first error, and with the first after mo_clear_error, in the thread and at the place that raised
     * it, or where the library gives up recovering from it. It may print, or end the process. NULL: not called; the
     * library itself never prints. state: on_error_state. */
    void (*on_error)(const mo_status *status, void *state);
    void *on_error_state;
    /* Called about 20 times a second in the calling thread while the context computes; returns whether to go on. After
     * false the call ends with MO_STATE, in general within a second. May call mo_fail alone. NULL: not called. */
    bool (*go_on)(mo_context *ctx, void *state);
    void *go_on_state;
} mo_context_options;

/* Makes a context; options NULL: all zeros, the defaults in every options struct of the library. Returns NULL only if
 * memory runs out. The context is in the error state if the device is absent, or if the processor lacks instructions
 * that the kernels were built with (MO_UNSUPPORTED): then it can only be released. */
MO_API mo_context *mo_context_create(const mo_context_options *options);
/* Frees the context and returns MO_OK, also for NULL. While tensors, tapes or CSR matrices of the context live, it
 * frees nothing and returns MO_STATE; the status then says how many objects live and names the newest tensors. */
MO_API mo_code mo_context_release(mo_context *ctx);
/* Gives back memory that the context keeps beside its tensors and tapes: unused blocks of the device, scratch of
 * kernels and libraries, page-locked memory. Waits for queued work; captures must be made again. */
MO_API mo_code mo_context_trim(mo_context *ctx);
/* Returns whether contexts of that device can be made here. Writes the device's name, or the reason why not, as one
 * line; for MO_CPU the line also says if BLAS must be called from one thread at a time. */
MO_API bool mo_device_describe(mo_device device, char *text, size_t bytes);

/* ---- tensor ---- */

/* The library computes in float32 and float64; the other types are stored, and converted by mo_cast. */
typedef enum mo_dtype { MO_F32 = 0, MO_F64, MO_I32, MO_I64, MO_U8, MO_F16, MO_BF16, MO_DTYPES } mo_dtype;

/* A tensor as kernels see it: plain memory of the context's device. stride counts elements; 0 broadcasts. */
typedef struct mo_view {
    void *data;
    mo_dtype dtype;
    int ndim;
    int64_t shape[MO_MAX_AXES];
    int64_t stride[MO_MAX_AXES];
} mo_view;

/* Which triangle of T holds the matrix of a system, and whether the system is solved with its transpose. */
typedef enum mo_triangle { MO_LOWER = 0, MO_LOWER_TRANSPOSED, MO_UPPER, MO_UPPER_TRANSPOSED } mo_triangle;

/* Makes a tensor that owns its zeroed storage and outlives tapes. shape may be NULL if ndim is 0 (a scalar).
 * mo_tensor_create_from copies row-major host memory of that dtype. Release with mo_tensor_release. */
MO_API mo_tensor *mo_tensor_create(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape);
MO_API mo_tensor *mo_tensor_create_from(
    mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape, const void *host);
/* Makes a tensor on the caller's memory, without a copy: memory of the context's device, aligned to its dtype, strides
 * of 0 or more. `done` (may be NULL) is called with `state` once the tensor and every window onto it are gone; never if
 * this call fails. Release with mo_tensor_release. */
typedef void (*mo_done)(void *state);
MO_API mo_tensor *mo_tensor_wrap(mo_context *ctx, const mo_view *memory, mo_done done, void *state);
/* Makes a tensor of ctx with the shape, dtype and values of T, row-major, that owns its storage and outlives tapes. T
 * may be of another context or device: its values then pass through host memory. Errors are raised in ctx. */
MO_API mo_tensor *mo_tensor_clone(mo_context *ctx, const mo_tensor *T);
/* Releases a tensor that mo_tensor_create, mo_tensor_create_from, mo_tensor_clone, mo_tensor_wrap, mo_parameter or a
 * loader made. NULL and the null tensor are ignored. While nodes of a tape point to the tensor, its header stays,
 * without the value: a backward that needs the tensor raises MO_STATE, naming it. */
MO_API void mo_tensor_release(mo_tensor *T);
/* The inert result of a failed call: no elements, ignored by every op. NULL if ctx is NULL. */
MO_API mo_tensor *mo_null_tensor(mo_context *ctx);
MO_API bool mo_is_null(const mo_tensor *T); /* whether T is NULL or a null tensor */
MO_API mo_dtype mo_tensor_dtype(const mo_tensor *T);
MO_API int mo_ndim(const mo_tensor *T);
MO_API int64_t mo_dim(const mo_tensor *T, int axis); /* negative axes count from the end; 1 if there is no such axis */
MO_API int64_t mo_numel(const mo_tensor *T);
/* The window as a kernel sees it (device memory). Raises MO_STATE if backward has freed the value, or the tape's last
 * reset or one of the context's last 256 releases has; in debug mode, if any reset, scope or release has. */
MO_API mo_view mo_tensor_view(const mo_tensor *T);
/* Copies a tensor of any strides to row-major host memory of mo_numel elements of its dtype, or from such memory.
 * mo_tensor_write and mo_tensor_fill count as in-place changes. */
MO_API mo_code mo_tensor_read(const mo_tensor *T, void *host, size_t bytes);
MO_API mo_code mo_tensor_write(mo_tensor *T, const void *host, size_t bytes);
MO_API mo_code mo_tensor_fill(mo_tensor *T, double value);
/* Writes the values to buffer as text, real numbers with five digits, such as "[[1, 0.25], [-3, 1e-06]]", and returns
 * buffer. If not all values fit, the text ends in "..". The text is "" in the error state and "null" for the null
 * tensor. */
MO_API const char *mo_tensor_text(const mo_tensor *T, char *buffer, size_t bytes);
/* The one element of a scalar (any shape with one element) as a double; NaN in the error state. */
MO_API double mo_item(const mo_tensor *T);

/* ---- sparse matrix: int64 row pointers, int32 columns ---- */

/* Makes a CSR matrix [rows, columns] from host arrays, which are copied and checked: row pointers start at 0, never
 * fall, end at nnz; columns lie in range. values may be NULL (all ones) and have dtype float32 or float64. */
MO_API mo_csr *mo_csr_create(mo_context *ctx, int64_t rows, int64_t columns, const int64_t *row_pointer,
    const int32_t *column, mo_dtype dtype, const void *values);
MO_API void mo_csr_release(mo_csr *A);

/* ---- random numbers: Philox4x32-10 (Salmon et al. 2011) ---- */

/* A position in the random numbers: equal positions give equal numbers on every device and thread count. */
typedef struct mo_random {
    uint64_t seed;
    uint32_t purpose; /* at most 65535 */
    uint64_t stream;  /* number of a sequence of the purpose, below 2^48; for example an episode's number */
    uint64_t index;   /* advances by one per draw */
} mo_random;

/* Purposes keep sequences apart. INIT: initial values of parameters; from OWN on: the caller's own. */
enum { MO_PURPOSE_INIT = 1, MO_PURPOSE_OWN = 1000 };
MO_API mo_random mo_random_at(uint64_t seed, uint32_t purpose, uint64_t stream);
MO_API double mo_random_uniform(mo_random *r);           /* [0, 1), 53 bits */
MO_API double mo_random_normal(mo_random *r);            /* standard normal (Box-Muller) */
MO_API int64_t mo_random_below(mo_random *r, int64_t n); /* unbiased in 0..n-1; n >= 1 */

/* ---- array files ---- */

/* A reader returns the null tensor on failure, a writer the status; a file is replaced as a whole or not at all. .npy:
 * versions 1 to 3, either byte order, C or Fortran order; bool becomes uint8; int8, int16 and uint16 become int32;
 * uint32 and uint64 (below 2^63) become int64; objects and complex numbers raise MO_UNSUPPORTED. */
MO_API mo_tensor *mo_npy_read(mo_context *ctx, const char *path);
MO_API mo_code mo_npy_write(const mo_tensor *T, const char *path);

#endif
