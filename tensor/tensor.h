/* tensor/tensor.h - context, tensor, CSR matrix, random numbers and array files.
 *
 * A context is one thread, one device, one set of library handles and one sticky status; nothing is global. A tensor
 * is a strided window (shape, strides, dtype, byte offset) onto a reference-counted storage. Everything here is
 * row-major, has at most MO_MAX_AXES axes, and counts in int64_t elements unless a name says bytes.
 *
 * What a failed call returns is inert: the null tensor of its context, or NULL for an object of any other kind. Every
 * function of the library takes both: it does nothing, returns the code of the context's first error, the null tensor,
 * NULL, NaN, 0 or false, and that error stands. Without any context a code is MO_INVALID and the null tensor is NULL.
 * In a context without an error, a NULL where something is expected raises MO_INVALID. */
#ifndef MO_TENSOR_H
#define MO_TENSOR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MO_API __attribute__((visibility("default")))
#define MO_MAX_AXES 6
#define MO_VERSION "0.1.0"

typedef struct mo_context mo_context;
typedef struct mo_tensor mo_tensor;
typedef struct mo_csr mo_csr;

/* ---- status: the first error of a context stays until it is cleared; while it stands every call does nothing ---- */

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
    const char *file; /* where in the library it was raised */
    int line;
    char message[1024]; /* one line: what, expected, found */
} mo_status;

/* Raises an error; the first one is kept. Every failure in the library passes through mo_fail_at: set a breakpoint
 * there. */
#define mo_fail(ctx, code, ...) mo_fail_at((ctx), (code), __FILE__, __LINE__, __VA_ARGS__)
MO_API void mo_fail_at(mo_context *ctx, mo_code code, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Returns whether the context is free of errors. */
MO_API bool mo_ok(const mo_context *ctx);
/* The sticky status; borrowed, valid while the context lives. Of NULL: MO_INVALID, "there is no context ..". */
MO_API const mo_status *mo_context_status(const mo_context *ctx);
/* Forgets the error and leaves the context usable. Memory is untouched. */
MO_API void mo_clear_error(mo_context *ctx);
/* "invalid", "numerical", ... */
MO_API const char *mo_code_name(mo_code code);

/* ---- context ---- */

typedef enum mo_device { MO_CPU = 0, MO_CUDA } mo_device;

/* How float32 products are formed on a device that has faster ways: with factors in full, with factors rounded to 10
 * bits after the point (relative error of a product up to 2^-10), or to 7 bits (2^-7). Sums, factorizations and solves
 * are always float32. */
typedef enum mo_math { MO_MATH_FP32 = 0, MO_MATH_TF32, MO_MATH_BF16 } mo_math;

typedef struct mo_context_options {
    mo_device device;
    int threads;  /* CPU threads a kernel may use; 0: the processors this thread may run on, at most 64 */
    mo_math math; /* the CPU accepts MO_MATH_FP32 alone */
    /* Of MO_CUDA alone: which of several devices, counted as CUDA_VISIBLE_DEVICES leaves them; bytes of device memory
     * that the context may hold, 0: no bound. */
    int index;
    int64_t device_memory;
} mo_context_options;

/* Counters of one context since its creation, for tests and reports. */
typedef struct mo_counters {
    int64_t allocations;    /* blocks asked of the operating system or the device, for tapes and for tensors */
    int64_t bytes_live;     /* bytes of the blocks still held */
    int64_t bytes_peak;     /* the largest value of bytes_live */
    int64_t tape_live;      /* bytes that the values on the context's tapes take */
    int64_t tape_peak;      /* the largest value of tape_live */
    int64_t factorizations; /* Cholesky, LU, QR and eigendecompositions; each matrix of a batch counts */
    int64_t device_peak;    /* the largest use of MO_CUDA memory, workspaces of its libraries too; 0 on MO_CPU */
} mo_counters;

/* Makes a context; options may be NULL (CPU, all processors). Returns NULL only when out of memory; a device that is
 * absent gives a context in the error state. */
MO_API mo_context *mo_context_create(const mo_context_options *options);
/* Frees the context and returns MO_OK, of NULL too. While tensors, tapes or CSR matrices of it live it frees nothing
 * and returns MO_STATE; the status then says how many objects live and names the newest tensors. */
MO_API mo_code mo_context_release(mo_context *ctx);
/* Returns whether contexts of that device can be made here. Writes the device's name to text, or the reason why it
 * cannot be used, as one line. */
MO_API bool mo_device_describe(mo_device device, char *text, size_t bytes);
/* Writes the libraries that contexts of that device compute with, and their versions, to text as one line. Returns
 * false if no library is known. */
MO_API bool mo_device_libraries(mo_device device, char *text, size_t bytes);
MO_API int mo_context_threads(const mo_context *ctx);
MO_API mo_device mo_context_device(const mo_context *ctx);
/* Waits until the device has done all queued work and raises the errors found meanwhile. Returns the status. */
MO_API mo_code mo_context_wait(mo_context *ctx);
MO_API mo_counters mo_context_counters(const mo_context *ctx);
/* Sets bytes_peak, tape_peak and device_peak to what is held now. */
MO_API void mo_context_reset_peaks(mo_context *ctx);
/* Returns whether BLAS may be called from several threads. If not (another library loaded a serial OpenBLAS before this
 * one), matrix products run on one thread. */
MO_API bool mo_context_blas_is_safe(const mo_context *ctx);

/* ---- capture: a step of one shape, queued again on the device without its host code (a CUDA graph) ---- */

typedef struct mo_capture mo_capture;
/* Work between this call and mo_capture_end is captured instead of done. It may neither read values nor ask for memory:
 * take two steps of the shape first. What changes from replay to replay lies in tensors of the caller, which
 * mo_tensor_write fills between replays. Random positions advance by `episodes` per step. MO_UNSUPPORTED on the CPU.
 * Returns the status. */
MO_API mo_code mo_capture_begin(mo_context *ctx, int64_t episodes);
/* Returns the captured work, NULL on failure. The work is first done when it is replayed. */
MO_API mo_capture *mo_capture_end(mo_context *ctx);
/* Queues the work as the step `ahead` steps after the captured one (0: that step itself); it overwrites the values on
 * its tape. Returns false on failure, and without an error if memory has been given back since the capture: capture
 * anew. */
MO_API bool mo_capture_replay(mo_capture *r, int64_t ahead);
MO_API void mo_capture_release(mo_capture *r);

/* ---- tensor ---- */

typedef enum mo_dtype { MO_F32 = 0, MO_F64, MO_I32, MO_I64, MO_U8, MO_F16, MO_BF16, MO_DTYPES } mo_dtype;

/* What a kernel sees: plain memory of the context's device. stride counts elements; a stride of 0 broadcasts. */
typedef struct mo_view {
    void *data;
    mo_dtype dtype;
    int ndim;
    int64_t shape[MO_MAX_AXES];
    int64_t stride[MO_MAX_AXES];
} mo_view;

MO_API size_t mo_dtype_size(mo_dtype dtype);      /* bytes of one element */
MO_API const char *mo_dtype_name(mo_dtype dtype); /* "float32", "int64", ... */
MO_API bool mo_dtype_is_real(mo_dtype dtype);     /* float32 or float64: the types in which the library computes */

/* Makes a tensor that owns its zeroed storage and outlives tapes; the null tensor on failure. shape may be NULL if ndim
 * is 0 (a scalar). Release with mo_tensor_release. */
MO_API mo_tensor *mo_tensor_create(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape);
/* Makes such a tensor from row-major host memory of the same dtype (copied). */
MO_API mo_tensor *mo_tensor_from(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape, const void *host);
/* Releases a tensor that mo_tensor_create, mo_tensor_from, mo_parameter or a loader made. NULL and the null tensor are
 * ignored. If nodes of a tape may still point to the tensor, a mark without a value stays until the tape is reset: a
 * backward that needs the tensor raises MO_STATE, naming it. */
MO_API void mo_tensor_release(mo_tensor *T);
/* The inert result of a failed call: no elements, ignored by every op. NULL of no context. */
MO_API mo_tensor *mo_null_tensor(mo_context *ctx);
MO_API bool mo_is_null(const mo_tensor *T); /* NULL or inert */

MO_API mo_context *mo_tensor_context(const mo_tensor *T);
MO_API mo_dtype mo_tensor_dtype(const mo_tensor *T);
MO_API int mo_ndim(const mo_tensor *T);
MO_API int64_t mo_dim(const mo_tensor *T, int axis); /* negative axes count from the end; 1 outside the axes */
MO_API int64_t mo_numel(const mo_tensor *T);
MO_API bool mo_is_contiguous(const mo_tensor *T);
/* Writes "[8, 6, 2]" into buffer and returns it. */
MO_API const char *mo_shape_string(const mo_tensor *T, char *buffer, size_t bytes);
/* The window as a kernel sees it (device memory). Raises MO_STATE if backward, mo_tape_reset or mo_tensor_release has
 * freed the value; a tape knows what its last reset freed until the next one. */
MO_API mo_view mo_tensor_view(const mo_tensor *T);

/* Copies a tensor of any strides to row-major host memory of mo_numel elements of its dtype. Returns the status. */
MO_API mo_code mo_tensor_read(const mo_tensor *T, void *host, size_t bytes);
/* Overwrites a tensor of any strides from row-major host memory; counts as an in-place change. Returns the status. */
MO_API mo_code mo_tensor_write(mo_tensor *T, const void *host, size_t bytes);
/* Copies src over dst (equal shapes, any strides, dtypes may differ); counts as an in-place change. Returns the status.
 */
MO_API mo_code mo_tensor_copy(mo_tensor *dst, const mo_tensor *src);
/* Sets every element to value; counts as an in-place change. Returns the status. */
MO_API mo_code mo_tensor_fill(mo_tensor *T, double value);
/* The one element of a scalar (any shape with one element) as a double; NaN in the error state. */
MO_API double mo_item(const mo_tensor *T);

/* ---- sparse matrix: int64 row pointers, int32 columns ---- */

/* Makes a CSR matrix [rows, columns] from host arrays (copied and checked: pointers start at 0, never fall, end at nnz;
 * columns lie in range). values may be NULL (all ones) and have dtype float32 or float64. Returns NULL on failure. */
MO_API mo_csr *mo_csr_create(mo_context *ctx, int64_t rows, int64_t columns, const int64_t *row_pointer,
    const int32_t *column, mo_dtype dtype, const void *values);
/* Declares that the matrix equals its transpose, so that adjoints need no second copy. Checked; returns the status. */
MO_API mo_code mo_csr_declare_symmetric(mo_csr *A);
/* The transposed matrix; A itself if it is declared symmetric. Built once, owned by A. */
MO_API const mo_csr *mo_csr_transposed(const mo_csr *A);
MO_API int64_t mo_csr_rows(const mo_csr *A);
MO_API int64_t mo_csr_columns(const mo_csr *A);
MO_API int64_t mo_csr_nnz(const mo_csr *A);
MO_API void mo_csr_release(mo_csr *A);

/* ---- random numbers: Philox4x32-10 (Salmon et al. 2011) at (seed, purpose, episode, index) ---- */

typedef enum mo_purpose {
    MO_PURPOSE_INIT = 1, /* parameters */
    MO_PURPOSE_EPISODE,  /* an episode's family, graph, k, q, classes and examples */
    MO_PURPOSE_DROPOUT,
    MO_PURPOSE_MASK,     /* held-out links */
    MO_PURPOSE_NEGATIVE, /* non-edges */
    MO_PURPOSE_SVD,      /* test matrices */
    MO_PURPOSE_SPLIT,    /* evaluation splits */
    MO_PURPOSE_CHECK,    /* samples of the gradient checker */
    MO_PURPOSE_BENCH,
    MO_PURPOSE_PAIR /* pairs of classes */
} mo_purpose;

/* A position in the random numbers: equal positions give equal numbers on every device and thread count. */
typedef struct mo_random {
    uint64_t seed;
    uint32_t purpose;
    uint64_t episode; /* or any other stream number, below 2^48 */
    uint64_t index;   /* advances by one per draw */
} mo_random;

MO_API mo_random mo_random_at(uint64_t seed, mo_purpose purpose, uint64_t episode);
MO_API uint64_t mo_random_bits(mo_random *r);                           /* 64 random bits */
MO_API double mo_random_uniform(mo_random *r);                          /* [0, 1), 53 bits */
MO_API double mo_random_normal(mo_random *r);                           /* standard normal (Box-Muller) */
MO_API int64_t mo_random_below(mo_random *r, int64_t n);                /* unbiased in 0..n-1; n >= 1 */
MO_API void mo_random_shuffle(mo_random *r, int64_t *items, int64_t n); /* Fisher-Yates */

/* ---- array files ---- */

/* Named tensors: the content of an .npz or safetensors file. The caller owns them; release with mo_arrays_release. */
typedef struct mo_array {
    char *name;
    mo_tensor *tensor;
} mo_array;

typedef struct mo_arrays {
    mo_context *ctx;
    int64_t count;
    mo_array *items;
    char *metadata; /* safetensors: the __metadata__ object as JSON text, or NULL */
} mo_arrays;

/* The tensor of that name, borrowed; NULL if there is none. */
MO_API mo_tensor *mo_arrays_find(const mo_arrays *arrays, const char *name);
/* Adds a tensor under a name that the list does not have yet. The list owns T from then on, also on failure. Returns
 * the status. */
MO_API mo_code mo_arrays_take(mo_arrays *arrays, const char *name, mo_tensor *T);
MO_API mo_arrays *mo_arrays_create(mo_context *ctx); /* an empty list; NULL on failure */
MO_API void mo_arrays_release(mo_arrays *arrays);

/* NumPy's .npy, versions 1 to 3, little- or big-endian, C or Fortran order. bool, int8, int16, uint16 and uint32 widen
 * to the next stored type; objects and complex numbers raise MO_UNSUPPORTED. The reader returns the null tensor on
 * failure, the writer returns the status. */
MO_API mo_tensor *mo_npy_read(mo_context *ctx, const char *path);
MO_API mo_code mo_npy_write(const mo_tensor *T, const char *path);
/* .npz: zip of .npy, stored or deflated, zip64, CRC-32 verified; text members are skipped. Returns NULL on failure. */
MO_API mo_arrays *mo_npz_read(mo_context *ctx, const char *path);
MO_API mo_code mo_npz_write(const mo_arrays *arrays, const char *path);
/* safetensors. Files written by this library carry the XXH3-128 of the header and of each tensor in the metadata; the
 * reader verifies them if present. Returns NULL on failure. */
MO_API mo_arrays *mo_safetensors_read(mo_context *ctx, const char *path);
/* metadata: JSON object text of strings to merge, or NULL. The file is written beside path, synced and renamed. */
MO_API mo_code mo_safetensors_write(const mo_arrays *arrays, const char *metadata, const char *path);
/* Writes bytes to path, all or nothing: a temporary file beside it, fsync, rename. Returns the status. */
MO_API mo_code mo_file_replace(mo_context *ctx, const char *path, const void *bytes, size_t n);

#ifdef __cplusplus
}
#endif
#endif
