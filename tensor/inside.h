/* tensor/inside.h - declarations of tensor/ for the library's other folders and the program `mochi`. They promise
 * nothing: any release may change them. */
#ifndef MO_TENSOR_INSIDE_H
#define MO_TENSOR_INSIDE_H

#include "tensor/tensor.h"

/* ---- context ---- */

/* Returns the name of a code: "invalid", "numerical", ... */
MO_API const char *mo_code_name(mo_code code);
/* Clears the context's error if its code is `code`; returns whether the context is free of errors afterwards. */
MO_API bool mo_clear_if(mo_context *ctx, mo_code code);

/* Counters of one context since its creation, for tests and reports. */
typedef struct mo_counters {
    int64_t allocations;    /* blocks asked of the operating system or the device, for tapes and for tensors */
    int64_t bytes_live;     /* bytes of the blocks still held */
    int64_t bytes_peak;     /* the largest value of bytes_live */
    int64_t tape_live;      /* bytes that the values on the context's tapes take */
    int64_t tape_peak;      /* the largest value of tape_live */
    int64_t factorizations; /* Cholesky, LU, QR and eigendecompositions; each matrix of a batch counts */
    int64_t fit_steps;      /* of conjugate gradients (softmax regressions); passes over the kernel (SVMs) */
    int64_t device_peak;    /* the largest use of MO_CUDA memory, workspaces of its libraries too; 0 on MO_CPU */
} mo_counters;

MO_API mo_counters mo_context_counters(const mo_context *ctx);
/* Sets bytes_peak and tape_peak to the present bytes_live and tape_live, and device_peak to the present use. */
MO_API void mo_context_reset_peaks(mo_context *ctx);
MO_API int mo_context_threads(const mo_context *ctx);
/* Returns whether BLAS may be called from several threads. If not (another library loaded a serial OpenBLAS before this
 * one), matrix products run on one thread. */
MO_API bool mo_context_blas_is_safe(const mo_context *ctx);
MO_API mo_device mo_context_device(const mo_context *ctx);
/* Waits until the device has done all queued work and raises the errors found meanwhile. Returns the status. */
MO_API mo_code mo_context_wait(mo_context *ctx);
/* The stream that the context queues its work in, a cudaStream_t; NULL on the CPU. It lives as long as the context. */
MO_API void *mo_context_stream(mo_context *ctx);
/* Orders the context's work and the work of another stream of its device, without the host waiting: if theirs_first,
 * work that the context queues from here on begins once `stream` has done its present work; otherwise new work of
 * `stream` begins once the context's present work is done. For memory that another library writes or reads. stream: a
 * cudaStream_t that lives; or, as DLPack and CUDA number them, 1: the device's default stream, 2: the calling thread's.
 * Does nothing on the CPU; in a capture raises MO_STATE and ends the capture. Returns the status. */
MO_API mo_code mo_context_order(mo_context *ctx, void *stream, bool theirs_first);
/* The number of devices of that kind that this process may use. */
MO_API int mo_device_count(mo_device device);
/* Writes the libraries that contexts of that device compute with, and their versions, to text as one line. Returns
 * false if no library is known. */
MO_API bool mo_device_libraries(mo_device device, char *text, size_t bytes);

/* ---- capture: a step's device work, recorded once and queued again, for equal shapes, without the step's host code (a
 * CUDA graph) ---- */

typedef struct mo_capture mo_capture;
/* Work between this call and mo_capture_end is captured instead of done. It may neither read values nor ask for memory:
 * run two steps of the same shapes first, so that the memory is there. Inputs that differ between replays must be
 * tensors of the caller, which mo_tensor_write fills before a replay. Each step advances the streams of random numbers
 * by `streams`. Raises MO_UNSUPPORTED on the CPU. Returns the status. */
MO_API mo_code mo_capture_begin(mo_context *ctx, int64_t streams);
/* Returns the captured work, or NULL on failure. The work has not been done yet: replay it. */
MO_API mo_capture *mo_capture_end(mo_context *ctx);
/* Queues the captured work as the step that is `ahead` steps after the captured one (0: the captured step itself). The
 * work overwrites the values that the captured step has on its tape. Returns false on failure; also, without an error,
 * if memory has been given back since the capture: capture again. */
MO_API bool mo_capture_replay(mo_capture *r, int64_t ahead);
MO_API void mo_capture_release(mo_capture *r);

/* ---- tensor ---- */

MO_API size_t mo_dtype_size(mo_dtype dtype);      /* bytes of one element */
MO_API const char *mo_dtype_name(mo_dtype dtype); /* "float32", "int64", ... */
MO_API bool mo_dtype_is_real(mo_dtype dtype);     /* float32 or float64: the types in which the library computes */
MO_API mo_context *mo_tensor_context(const mo_tensor *T);
MO_API bool mo_is_contiguous(const mo_tensor *T);
/* Copies src over dst (equal shapes, any strides, dtypes may differ); counts as an in-place change. Returns the
 * status. */
MO_API mo_code mo_tensor_copy(mo_tensor *dst, const mo_tensor *src);

/* ---- sparse matrix ---- */

/* The transposed matrix; A itself if it is declared symmetric. Built once, owned by A. */
MO_API const mo_csr *mo_csr_transposed(const mo_csr *A);
MO_API int64_t mo_csr_rows(const mo_csr *A);
MO_API int64_t mo_csr_columns(const mo_csr *A);

/* ---- readouts of a batch of episodes in the host's memory, in one call without a tape ---- */

/* In an episode whose |mean|^2 is above this times the mean |row - mean|^2, float32 keeps too little of the distances:
 * in products of rows, each is rounded by |mean|^2 / 2^24. */
#define MO_FAR_ROWS 64.0

/* Ridge (X = Z, or [Z | 1] with a penalised bias) or Euclidean prototypes, of B episodes: support Zs [B, n, d], labels
 * or targets Ys [B, n, C], queries Zq [B, n_q, d], all contiguous, of one dtype. If logits [B, n_q, C] has memory, the
 * readout is fitted and applied; else its adjoint at logits_bar [B, n_q, C] is written to those of Zs_bar, Ys_bar (of a
 * ridge), Zq_bar and lam_bar [B] that have memory. The fit writes `kept`, of mo_readout_kept elements, which the
 * adjoint reads. */
typedef struct mo_readout {
    mo_dtype dtype;
    bool ridge, bias, targets; /* targets: zeros of Ys mean nothing special */
    int64_t B, n, n_q, d, C;
    const void *Zs, *Ys, *Zq;
    double fixed_lambda; /* if lam is NULL */
    const void *lam;     /* [lambdas], 1 or B penalties */
    int64_t lambdas;
    void *kept, *logits;
    const void *logits_bar;
    void *Zs_bar, *Ys_bar, *Zq_bar, *lam_bar;
} mo_readout;

MO_API int64_t mo_readout_kept(const mo_readout *r);
/* Returns false, without an error, if the caller must compute by ops: for another device, for products of bf16, for
 * labels with padding or a class without a row, for float32 rows far from 0, and for a system that is not positive
 * definite. */
MO_API bool mo_readout_run(mo_context *ctx, const mo_readout *r);

/* ---- random numbers ---- */

/* All of the library's purposes except MO_PURPOSE_INIT, in one list, so that no two of them share a sequence. */
enum {
    MO_PURPOSE_EPISODE = 2, /* an episode: its family, graph, sizes k and q, classes, rows */
    MO_PURPOSE_DROPOUT,
    MO_PURPOSE_MASK,     /* held-out links */
    MO_PURPOSE_NEGATIVE, /* non-edges */
    MO_PURPOSE_SVD,      /* test matrices */
    MO_PURPOSE_SPLIT,    /* evaluation splits */
    MO_PURPOSE_CHECK,    /* samples of the gradient checker */
    MO_PURPOSE_BENCH,
    MO_PURPOSE_PAIR,  /* pairs of classes */
    MO_PURPOSE_WALK,  /* walks from a node, and ranks of the nodes they end at */
    MO_PURPOSE_COSINE /* pairs of nodes for a mean cosine */
};

MO_API uint64_t mo_random_bits(mo_random *r);                           /* 64 random bits */
MO_API void mo_random_shuffle(mo_random *r, int64_t *items, int64_t n); /* Fisher-Yates */

/* ---- files ---- */

/* Writes bytes to path, all or nothing: a temporary file beside it, fsync, rename. A symbolic link is replaced, not
 * followed. Returns the status. */
MO_API mo_code mo_file_replace(mo_context *ctx, const char *path, const void *bytes, size_t n);
/* mo_file_replace in parts. mo_file_start returns NULL on failure. mo_file_finish puts the file in place, or leaves no
 * file behind if the context has an error; it frees the writer and returns the status. */
typedef struct mo_file_writer mo_file_writer;
MO_API mo_file_writer *mo_file_start(mo_context *ctx, const char *path);
MO_API bool mo_file_append(mo_file_writer *w, const void *bytes, size_t n);
MO_API mo_code mo_file_finish(mo_file_writer *w);
/* Writes an .npy file [rows, columns] from blocks [n, columns] of rows; the blocks come in order and have the file's
 * dtype. mo_npy_finish fails, and leaves no file, if rows are missing. */
typedef struct mo_npy_writer mo_npy_writer;
MO_API mo_npy_writer *mo_npy_start(mo_context *ctx, const char *path, mo_dtype dtype, int64_t rows, int64_t columns);
MO_API bool mo_npy_append(mo_npy_writer *w, const mo_tensor *block);
MO_API mo_code mo_npy_finish(mo_npy_writer *w);
/* Whether the path is `ending` with something before it: "a.npy" ends with ".npy", ".npy" does not. */
MO_API bool mo_path_ends_with(const char *path, const char *ending);

/* Sorts n numbers in place. */
MO_API void mo_sort_numbers(double *x, int64_t n);

/* Writes "[8, 6, 2]" into buffer and returns it. */
MO_API const char *mo_shape_string(const mo_tensor *T, char *buffer, size_t bytes);
/* Declares that the matrix equals its transpose, so that adjoints need no second copy. Raises if it does not; returns
 * the status. */
MO_API mo_code mo_csr_declare_symmetric(mo_csr *A);

/* ---- files of several arrays ---- */

/* Named tensors: the content of an .npz or safetensors file. The caller owns them; release with mo_arrays_release. */
typedef struct mo_array {
    char *name;
    mo_tensor *tensor;
} mo_array;

typedef struct mo_arrays {
    mo_context *ctx;
    int64_t count, room; /* room: items for which there is memory */
    mo_array *items;
    char *metadata; /* safetensors: the __metadata__ object as JSON text, or NULL */
    char *texts;    /* npz: the names of its text arrays, which have no tensor, each after a line feed; or NULL */
    int64_t texts_bytes, texts_room;
    int64_t file_bytes; /* npz: the size of the file; 0: the arrays were given */
} mo_arrays;

MO_API mo_arrays *mo_arrays_create(mo_context *ctx); /* an empty list; NULL on failure */
/* Adds a tensor under a name that the list does not have yet. The list owns T from then on, also on failure. Returns
 * the status. */
MO_API mo_code mo_arrays_take(mo_arrays *arrays, const char *name, mo_tensor *T);
/* The tensor of that name, borrowed; NULL if there is none. */
MO_API mo_tensor *mo_arrays_find(const mo_arrays *arrays, const char *name);
MO_API void mo_arrays_release(mo_arrays *arrays);

/* Readers return NULL on failure, writers the status; a file is replaced as a whole or not at all. .npz: stored or
 * deflated, zip64, CRC-32 verified. safetensors: metadata is the text of a JSON object whose values are strings, or
 * NULL. The writer adds the XXH3-128 of the header and of each tensor to the metadata; the reader verifies these
 * digests if the file has them. */
MO_API mo_arrays *mo_npz_read(mo_context *ctx, const char *path);
MO_API mo_code mo_npz_write(const mo_arrays *arrays, const char *path);
MO_API mo_arrays *mo_safetensors_read(mo_context *ctx, const char *path);
MO_API mo_code mo_safetensors_write(const mo_arrays *arrays, const char *metadata, const char *path);

#endif
