/* tensor/storage.h - the structs of a context, a tensor and its storage (library internal). */
#ifndef MO_STORAGE_H
#define MO_STORAGE_H

#include "tensor/backend.h"
#include "tensor/hidden.h"

/* Memory behind tensors. Reference-counted; freed to its origin (an arena's free list or the backend). */
typedef struct mo_storage {
    mo_context *ctx;
    void *data; /* device memory */
    size_t bytes;
    int64_t references;
    uint64_t version;            /* rises with every in-place change */
    struct mo_arena *arena;      /* NULL: the backend's own allocation */
    struct mo_chunk *chunk;      /* the arena's bookkeeping */
    struct mo_mapped_file *file; /* the file that data is a window onto; NULL: memory */
    bool borrowed;               /* data belongs to another storage, or to the user, and is not freed */
    mo_done done;                /* for the user's memory: called when the storage is gone; may be NULL */
    void *done_state;
} mo_storage;

/* A file behind a storage, kept open, so that its bytes can be read without the window. */
typedef struct mo_mapped_file {
    int fd;
    int64_t offset; /* where the storage's first byte lies in the file */
    char *path;     /* the name in error messages */
} mo_mapped_file;

/* What freed the value of a header that still exists. */
typedef enum mo_freed {
    MO_FREED_NOT = 0, /* not freed, or released by backward */
    MO_FREED_BY_RESET,
    MO_FREED_BY_SCOPE,
    MO_FREED_BY_RELEASE
} mo_freed;

/* The header. The fields below `offset` belong to autograd/; tensor/ zeroes them and otherwise never reads or writes
 * them. */
struct mo_tensor {
    mo_context *ctx;
    mo_storage *storage; /* NULL: the null tensor, or a value that has been freed */
    mo_freed freed;
    const char *maker; /* the op that computed it, or NULL */
    const char *file;  /* for a tensor of a tape: the file of the caller's line, from mo_tape_at; NULL: unknown */
    int line;
    /* For a tensor of no tape: its neighbours in the context's list of the user's tensors; after release, next is the
     * tensor to be freed after it. */
    mo_tensor *previous, *next;
    bool listed;
    uint64_t burial; /* after release: its number in the order of releases */
    mo_dtype dtype;
    int ndim;
    int64_t shape[MO_MAX_AXES];
    int64_t stride[MO_MAX_AXES];
    int64_t offset; /* elements from storage->data */
    /* A scalar set by the host: mo_item need not ask the device while the storage has that version. */
    bool known;
    uint64_t known_version;
    double value;
    bool requires_grad;
    bool kept;            /* survives backward's release */
    struct mo_tape *tape; /* the tape that made it, or NULL for parameters and data */
    struct mo_node *node; /* the node that made it, or NULL */
    mo_tensor *grad;      /* a leaf's gradient buffer, owned */
    char *name;           /* a parameter's name, owned */
};

/* A tape as its context knows it. */
typedef struct mo_holder {
    struct mo_holder *previous, *next;
    const int64_t *nodes; /* number of recorded nodes, each of which may point to tensors of the context */
    uint64_t since;       /* number of burials before its oldest node */
} mo_holder;

struct mo_context {
    mo_status status;
    void (*on_error)(const mo_status *status, void *state);
    void *on_error_state;
    int tries;        /* open calls of mo_try */
    bool told;        /* on_error has been called with this error */
    bool debug;       /* no header is freed or used again before the context is released */
    const char *file; /* source file in the last call of mo_tape_at, or NULL */
    int line;
    mo_device device;
    mo_math math;
    int threads, index;
    int64_t device_memory; /* bytes of device memory that the context may hold; 0: no bound */
    double max_expand;     /* limit for compressed files (tensor/files/file.h) */
    const mo_backend *backend;
    void *backend_state; /* handles and streams of the backend */
    mo_counters counters;
    mo_tensor null_tensor;
    const struct mo_op **ops; /* the registry, filled by ops/ and by users */
    int n_ops, capacity_ops;
    mo_tensor *tensors;              /* the user's tensors, which belong to no tape; the newest first */
    mo_tensor *buried, *last_buried; /* headers of released tensors that nodes may point to, in order of `burial` */
    uint64_t burials;
    mo_holder *tapes;
    void *remains; /* for autograd/: the tape that was released last, and its function that frees it */
    void (*free_remains)(void *remains);
    int64_t n_csr;
    mo_csr *released;           /* debug mode: matrices that were released */
    int64_t empty_bytes;        /* bytes_live right after the context was made */
    struct mo_profile *profile; /* for autograd/, in one block; NULL: profiling never started */
    bool profiling;
    const mo_arrays *promised; /* the file's tensors, for parameters that are being made; NULL: none */
};

struct mo_csr {
    mo_context *ctx;
    int64_t rows, columns, nnz;
    mo_tensor *row_pointer; /* int64 [rows + 1] */
    mo_tensor *column;      /* int32 [nnz] */
    mo_tensor *values;      /* real [nnz] */
    bool symmetric;
    bool released;      /* debug mode: the user has released it; freed with its context */
    mo_csr *older;      /* released before */
    mo_csr *transposed; /* built on demand, owned; never for symmetric matrices */
    void *prepared;     /* the backend's data for products; NULL before the first */
};

/* Whether the matrix has not been released. If it was, raises MO_STATE in the name of `what`; only debug mode can
 * tell. */
bool mo_csr_lives(const mo_csr *A, const char *what);
void mo_free_released_csr(mo_context *ctx);
/* The arrays of a matrix as kernels see them. */
mo_csr_view mo_view_csr(const mo_csr *A);

/* Raises MO_STATE for a tensor whose value has been freed, and says what freed it. what: "add: input 0", or NULL. */
void mo_fail_freed(const mo_tensor *T, const char *what);
/* Writes " at fit.c:31", the line that made T, or "" if nothing is known of it; returns buffer. */
const char *mo_place_of(const mo_tensor *T, char *buffer, size_t bytes);
/* Marks T as part of an object of the library: mo_context_release counts the object instead of T. */
void mo_tensor_unlist(mo_tensor *T);
/* Reports that a tape begins, that it has been emptied (headers that only its nodes pointed to are freed), or that it
 * ends. */
void mo_holder_open(mo_context *ctx, mo_holder *h, const int64_t *nodes);
void mo_holder_emptied(mo_context *ctx, mo_holder *h);
void mo_holder_close(mo_context *ctx, mo_holder *h);
/* Frees a header now, or once no node can point to it; in debug mode with its context. */
void mo_bury(mo_tensor *T);
void mo_free_all_buried(mo_context *ctx);
/* Whether objects of the context are alive; if so, raises MO_STATE with their kinds and numbers. */
bool mo_context_in_use(mo_context *ctx);

/* Remembers on the host the value of a scalar (float32 or float64) that has just been set to it. */
void mo_tensor_remember(mo_tensor *T, double value);

/* Host memory, counted in mo_counters; raises MO_MEMORY on failure. mo_host_free takes the same size. */
void *mo_host_alloc(mo_context *ctx, size_t bytes);
void mo_host_free(mo_context *ctx, void *block, size_t bytes);

/* Device memory, counted and raised in the same way. */
void *mo_device_alloc(mo_context *ctx, size_t bytes);
void mo_device_free(mo_context *ctx, void *block, size_t bytes);

/* Writes the bytes of device memory that this process holds and that are left to it. Returns false, without writing, if
 * the device's own allocations fail early enough. */
bool mo_device_memory(mo_context *ctx, size_t *held, size_t *left);
/* Whether the device can capture queued work; raises MO_UNSUPPORTED in the name of `what` otherwise. */
bool mo_require_capture(mo_context *ctx, const char *what);

/* Sums over the devices of several processes; NULL if this context cannot compute them. */
const mo_collective *mo_device_sums(const mo_context *ctx);

/* Page-locked memory for copies to the device (backend.h), counted and raised in the same way; false on failure. */
bool mo_pin(mo_context *ctx, size_t bytes, mo_pinned *p);
void mo_unpin(mo_context *ctx, mo_pinned *p);
/* Queues a copy over a contiguous tensor from the page-locked bytes at offset, which must not change until mo_sent has
 * been called. Returns the status. */
mo_code mo_send(mo_tensor *T, const mo_pinned *p, size_t offset);
mo_code mo_sent(mo_context *ctx, const mo_pinned *p);

/* A storage of the backend's memory with one reference. Returns NULL on failure. */
mo_storage *mo_storage_create(mo_context *ctx, size_t bytes);
/* A storage whose bytes are those of an open file, which may be written if `writable`; NULL on failure. */
mo_storage *mo_storage_map(mo_context *ctx, int fd, int64_t offset, size_t bytes, const char *path, bool writable);
/* A row-major tensor onto a storage; takes over the caller's reference. Returns the null tensor on failure (S may be
 * NULL), after it has released the storage. */
mo_tensor *mo_tensor_onto(mo_context *ctx, mo_storage *S, mo_dtype dtype, int ndim, const int64_t *shape);
/* mo_tensor_create without the zeros: the caller writes every element before it is read. */
mo_tensor *mo_tensor_uninitialized(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape);
/* A tensor of the CPU whose elements are those of an open file from `offset` (a multiple of the page size) on,
 * read-only unless `writable`. The caller may close the file. path is its name in errors. Returns the null tensor on
 * failure. */
mo_tensor *mo_tensor_map(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape, int fd, int64_t offset,
    const char *path, bool writable);
/* Gives back the memory of a tensor of mo_tensor_map, whose elements are then read from the file again. Ignored for
 * other tensors. */
void mo_tensor_unload(const mo_tensor *T);
/* A read-only tensor of ctx that shares the memory of T. T is contiguous, belongs to another CPU context and must
 * outlive the result. Returns the null tensor on failure. */
mo_tensor *mo_tensor_borrow(mo_context *ctx, const mo_tensor *T);
/* Entry 0 of the first axis of T, which must not be empty, as a separate tensor on the same storage; the storage lives
 * until both are released. Returns the null tensor on failure. */
mo_tensor *mo_tensor_first(const mo_tensor *T);
void mo_storage_retain(mo_storage *S);
void mo_storage_release(mo_storage *S);

/* The element count of a shape. Returns -1 and raises MO_INVALID for a negative size, MO_MEMORY on overflow. */
int64_t mo_shape_numel(mo_context *ctx, const char *what, int ndim, const int64_t *shape);
void mo_contiguous_strides(int ndim, const int64_t *shape, int64_t *stride);
bool mo_strides_contiguous(int ndim, const int64_t *shape, const int64_t *stride);
/* Writes text behind the `used` bytes of a string, as much as fits. Returns the bytes used then, the last 0 not
 * counted. */
size_t mo_append_text(char *buffer, size_t bytes, size_t used, const char *text);
/* Writes a bare shape as "[8, 6, 2]", as much as fits. */
const char *mo_format_shape(int ndim, const int64_t *shape, char *buffer, size_t bytes);

#endif
