/* tensor/objects.h - the structs of a context, a tensor and its storage (library internal). */
#ifndef MO_OBJECTS_H
#define MO_OBJECTS_H

#include "tensor/backend.h"
#include "tensor/library.h"

/* Reference-counted memory behind tensors. On release it goes back to its arena, or to the backend. */
typedef struct mo_storage {
    mo_context *ctx;
    void *data; /* device memory */
    size_t bytes;
    int64_t references;
    uint64_t version;       /* rises with every in-place change */
    struct mo_arena *arena; /* NULL: the backend's own allocation */
    struct mo_chunk *chunk; /* the arena's bookkeeping */
    bool mapped;            /* data is a window onto a file */
    bool borrowed;          /* data belongs to another storage, or to the user, and is not freed */
    bool uncounted;         /* mo_tensor_reserve: the bytes do not count as held yet */
    mo_done done;           /* for the user's memory: called when the storage is gone; may be NULL */
    void *done_state;
} mo_storage;

/* The call that freed the value of a header that still exists. */
typedef enum mo_freed {
    MO_FREED_NOT = 0, /* not freed, or released by backward */
    MO_FREED_BY_RESET,
    MO_FREED_BY_SCOPE,
    MO_FREED_BY_RELEASE
} mo_freed;

/* A tensor's header. The fields from requires_grad on belong to autograd/: tensor/ zeroes them, and mo_tensor_release
 * reads `tape` and frees `grad` and `name`. */
struct mo_tensor {
    mo_context *ctx;
    mo_storage *storage; /* NULL: the null tensor, or a value that has been freed */
    mo_freed freed;
    const char *maker; /* name of the op that computed the tensor, or NULL */
    const char *file;  /* for a tensor of a tape: the caller's source file, from mo_tape_at; NULL: unknown */
    int line;
    /* For a tensor of no tape: its neighbours in the context's list of the user's tensors. For a released tensor,
     * `next` is the next one in ctx->buried. */
    mo_tensor *previous, *next;
    bool listed;
    int64_t holders; /* nodes and optimizers that point to the user's tensor */
    mo_dtype dtype;
    int ndim;
    int64_t shape[MO_MAX_AXES];
    int64_t stride[MO_MAX_AXES];
    int64_t offset; /* elements from storage->data */
    /* known: `value` is the scalar's value while the storage has known_version, so that mo_item need not ask the
     * device. */
    bool known;
    uint64_t known_version;
    double value;
    bool requires_grad;
    bool kept;            /* backward does not release the value */
    struct mo_tape *tape; /* the tape that the tensor belongs to, or NULL for parameters and data */
    struct mo_node *node; /* the node that made the tensor, or NULL */
    mo_tensor *grad;      /* a leaf's gradient buffer, owned */
    char *name;           /* a parameter's name, owned */
};

struct mo_context {
    mo_status status;
    void (*on_error)(const mo_status *status, void *state);
    void *on_error_state;
    bool (*go_on)(mo_context *ctx, void *state);
    void *go_on_state;
    double ask_at;       /* the time from which go_on is called again */
    bool stopped;        /* go_on has returned false; read by all threads of a region, written by its first */
    int tries;           /* calls of mo_hold_errors without their mo_release_errors */
    bool handler_called; /* on_error has been called with this error */
    bool debug;          /* no header is freed or used again before the context is released */
    const char *file;    /* source file from the last call of mo_tape_at, or NULL */
    int line;
    mo_device device;
    mo_math math;
    int threads, index;
    int64_t memory, host_held; /* bytes of host memory that the context may hold (0: no bound), and that it holds */
    int64_t device_memory;     /* bytes of device memory that the context may hold; 0: no bound */
    double max_expand;         /* limit for compressed files (tensor/files/file.h) */
    const mo_backend *backend;
    void *backend_state; /* handles and streams of the backend */
    mo_counters counters;
    mo_tensor null_tensor;
    mo_tensor *tensors;              /* the user's tensors, which belong to no tape; the newest first */
    mo_tensor *buried, *last_buried; /* headers of released tensors to which nothing points, a list through `next` */
    int64_t n_buried, n_tapes, n_csr;
    int64_t n_nodes;          /* on all tapes */
    mo_csr *released;         /* the newest of the released matrices that stay */
    int64_t empty_bytes;      /* bytes_live right after the context was made */
    struct mo_engine *engine; /* what autograd/ keeps with a context, and the function that frees it; NULL: nothing */
    void (*free_engine)(struct mo_engine *engine);
};

struct mo_csr {
    mo_context *ctx;
    int64_t rows, columns, nnz;
    mo_tensor *row_pointer; /* int64 [rows + 1] */
    mo_tensor *column;      /* int32 [nnz] */
    mo_tensor *values;      /* real [nnz] */
    bool symmetric;
    bool released;      /* by the user, while nodes could point to it, or in debug mode */
    mo_csr *older;      /* the matrix released before this one */
    mo_csr *transposed; /* built on demand, owned; never for symmetric matrices */
};

/* Returns whether the matrix has not been released; raises "<what>: ..", MO_STATE, if it has. A released matrix stays,
 * without its arrays, until no tape of its context has a node, which could point to it. */
bool mo_csr_lives(const mo_csr *A, const char *what);
void mo_free_released_csr(mo_context *ctx);
/* The arrays of a matrix as kernels see them. */
mo_csr_view mo_view_csr(const mo_csr *A);

/* Raises MO_STATE for a tensor whose value has been freed, and says what freed it. The message starts with the text of
 * the format, such as "add: input 0". Returns false. */
bool mo_fail_freed(const mo_tensor *T, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool mo_same_shape(const mo_tensor *A, const mo_tensor *B);
bool mo_same_form(const mo_tensor *A, const mo_tensor *B); /* shape and dtype */
/* Writes " at fit.c:31", the line that made T, or "" if nothing is known of it; returns buffer. */
const char *mo_place_of(const mo_tensor *T, char *buffer, size_t bytes);
/* Marks T as part of an object of the library: mo_context_release counts the object instead of T. */
void mo_tensor_unlist(mo_tensor *T);
/* Marks T as released. Its header is freed later, once nothing holds it (lifetime.c). */
void mo_bury(mo_tensor *T);
/* What points to T beyond a call holds it: a release of T then frees the value alone (T->freed). */
void mo_tensor_hold(mo_tensor *T);
void mo_tensor_let_go(mo_tensor *T);
void mo_free_all_buried(mo_context *ctx);
/* Returns whether objects of the context are alive; if so, raises MO_STATE with their kinds and numbers. */
bool mo_context_in_use(mo_context *ctx);

/* Remembers on the host that a scalar (float32 or float64) has just been set to the value. */
void mo_tensor_remember(mo_tensor *T, double value);

/* Return whether the context may hold `bytes` more of host memory; mo_within_bound raises MO_MEMORY if its bound
 * forbids it. */
bool mo_has_room(const mo_context *ctx, size_t bytes);
bool mo_within_bound(mo_context *ctx, size_t bytes);
/* Host memory, counted in mo_counters; raises MO_MEMORY on failure. mo_host_free takes the same size. */
void *mo_host_alloc(mo_context *ctx, size_t bytes);
void mo_host_free(mo_context *ctx, void *block, size_t bytes);
/* Counts host memory as given back that is freed, by free, later. */
void mo_host_uncount(mo_context *ctx, size_t bytes);

/* Device memory, counted in mo_counters; raises MO_MEMORY on failure. mo_device_free takes the same size. */
void *mo_device_alloc(mo_context *ctx, size_t bytes);
void mo_device_free(mo_context *ctx, void *block, size_t bytes);

/* Writes the bytes of device memory that this process holds, and those still free. Returns false, and writes nothing,
 * if the backend does not know them. */
bool mo_device_memory(mo_context *ctx, size_t *held, size_t *left);
/* Returns whether the device can capture queued work; raises "<what>: ..", MO_UNSUPPORTED, if it cannot. */
bool mo_require_capture(mo_context *ctx, const char *what);

/* Makes page-locked memory for copies to the device (backend.h), counted in mo_counters. Returns false after
 * raising. */
bool mo_pin(mo_context *ctx, size_t bytes, mo_pinned *p);
void mo_unpin(mo_context *ctx, mo_pinned *p);
/* Queues a copy to the contiguous tensor T from p->data + offset. These bytes must not change until mo_sent has been
 * called, which waits for the copies. mo_send and mo_sent return the status. */
mo_code mo_send(mo_tensor *T, const mo_pinned *p, size_t offset);
mo_code mo_sent(mo_context *ctx, const mo_pinned *p);

/* A storage of the backend's memory with one reference. Returns NULL on failure. */
mo_storage *mo_storage_create(mo_context *ctx, size_t bytes);
/* Makes a storage of an open file's bytes from `offset` on, which may be written if `writable`; NULL on failure. */
mo_storage *mo_storage_map(mo_context *ctx, int fd, int64_t offset, size_t bytes, const char *path, bool writable);
/* A row-major tensor onto a storage; takes over the caller's reference. Returns the null tensor on failure (S may be
 * NULL), after it has released the storage. */
mo_tensor *mo_tensor_onto(mo_context *ctx, mo_storage *S, mo_dtype dtype, int ndim, const int64_t *shape);
/* mo_tensor_create without the zeros: the caller writes every element before it is read. */
mo_tensor *mo_tensor_uninitialized(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape);
/* As mo_tensor_uninitialized, for memory that is written once other memory has been freed: until then the system gives
 * it no pages, and its bytes count as held only from mo_tensor_count on. That returns false, and raises MO_MEMORY, if
 * the context's bound forbids them. */
mo_tensor *mo_tensor_reserve(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape);
bool mo_tensor_count(const mo_tensor *T);
/* A tensor of the CPU onto the bytes of an open file from `offset` (a multiple of the page size) on, read-only unless
 * `writable`. The caller may close the file. path is its name in errors. Returns the null tensor on failure. */
mo_tensor *mo_tensor_map(mo_context *ctx, mo_dtype dtype, int ndim, const int64_t *shape, int fd, int64_t offset,
    const char *path, bool writable);
/* Frees the memory pages of a tensor of mo_tensor_map; a later use reads them from the file again. Ignored for other
 * tensors. */
void mo_tensor_unload(const mo_tensor *T);
/* A read-only tensor of ctx that shares the memory of T. T is contiguous, belongs to another CPU context and must
 * outlive the result. Returns the null tensor on failure. */
mo_tensor *mo_tensor_borrow(mo_context *ctx, const mo_tensor *T);
/* Makes entry 0 of the first axis of T, which must not be empty, a separate tensor on the same storage, which lives
 * until both tensors are released. Returns the null tensor on failure. */
mo_tensor *mo_tensor_first(const mo_tensor *T);
void mo_storage_retain(mo_storage *S);
void mo_storage_release(mo_storage *S);

/* Returns the number of elements of a shape; -1 after raising MO_INVALID (negative size) or MO_MEMORY (overflow). */
int64_t mo_shape_numel(mo_context *ctx, const char *what, int ndim, const int64_t *shape);
void mo_contiguous_strides(int ndim, const int64_t *shape, int64_t *stride);
bool mo_strides_contiguous(int ndim, const int64_t *shape, const int64_t *stride);
/* Appends text to a string of `used` bytes, as much as fits. Returns its new length, without the terminating 0. */
size_t mo_append_text(char *buffer, size_t bytes, size_t used, const char *text);
/* Writes a shape as "[8, 6, 2]", as much as fits; returns buffer. */
const char *mo_format_shape(int ndim, const int64_t *shape, char *buffer, size_t bytes);

#endif
