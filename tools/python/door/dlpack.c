/* tools/python/door/dlpack.c - tensors as DLPack capsules: the structs of the exchange (DLPack 1.0, dlpack.h of DMLC),
 * made from a view, and what frees them. `state` is what keeps the memory; door_done gives it back. */

typedef struct door_dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} door_dl_tensor;

/* DLManagedTensor, of the capsules named "dltensor". */
typedef struct door_dl_managed {
    door_dl_tensor tensor;
    void *state;
    void (*deleter)(struct door_dl_managed *self);
    int64_t sizes[2 * MO_MAX_AXES];
} door_dl_managed;

/* DLManagedTensorVersioned, of the capsules named "dltensor_versioned". */
typedef struct door_dl_versioned {
    uint32_t major, minor;
    void *state;
    void (*deleter)(struct door_dl_versioned *self);
    uint64_t flags;
    door_dl_tensor tensor;
    int64_t sizes[2 * MO_MAX_AXES];
} door_dl_versioned;

enum { DL_CPU = 1, DL_CUDA = 2, DL_READ_ONLY = 1 };

/* By mo_dtype: kDLFloat, kDLInt, kDLUInt, kDLBfloat. */
static const uint8_t door_dl_codes[MO_DTYPES] = {2, 2, 0, 0, 1, 2, 4};

/* Memory of another library's: what tells it that we are done. */
typedef struct door_dl_guest {
    mo_context *ctx;
    void *managed;
    bool versioned;
} door_dl_guest;

static void door_dl_free(door_dl_managed *m) {
    door_done(m->state);
    free(m);
}

static void door_dl_free_versioned(door_dl_versioned *m) {
    door_done(m->state);
    free(m);
}

static void door_dl_fill(door_dl_tensor *T, int64_t *sizes, const mo_view *v, int device_type, int device_id) {
    *T = (door_dl_tensor){.data = v->data, .device_type = device_type, .device_id = device_id, .ndim = v->ndim};
    T->code = door_dl_codes[v->dtype];
    T->bits = (uint8_t)(8 * mo_dtype_size(v->dtype));
    T->lanes = 1;
    T->shape = sizes;
    T->strides = sizes + MO_MAX_AXES;
    for (int i = 0; i < v->ndim; i++) {
        T->shape[i] = v->shape[i];
        T->strides[i] = v->stride[i];
    }
}

/* The struct of a capsule; NULL when out of memory, and the state stays the caller's. */
static void *door_dl_export(const mo_view *v, int device_type, int device_id, bool versioned, void *state) {
    if (versioned) {
        door_dl_versioned *m = calloc(1, sizeof *m);
        if (!m)
            return NULL;
        *m = (door_dl_versioned){.major = 1, .state = state, .deleter = door_dl_free_versioned, .flags = DL_READ_ONLY};
        door_dl_fill(&m->tensor, m->sizes, v, device_type, device_id);
        return m;
    }
    door_dl_managed *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    *m = (door_dl_managed){.state = state, .deleter = door_dl_free};
    door_dl_fill(&m->tensor, m->sizes, v, device_type, device_id);
    return m;
}

/* Frees what a capsule holds if nothing has taken it over, which renames the capsule. */
static void door_dl_drop(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        door_dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
        m->deleter(m);
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        door_dl_versioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        m->deleter(m);
    }
}

static void *door_dl_dropper(void) {
    void *function = NULL;
    void (*drop)(PyObject *) = door_dl_drop;
    memcpy(&function, &drop, sizeof function);
    return function;
}

/* The dtype of that code and number of bits; false: the library has none. */
static bool door_dl_dtype(const door_dl_tensor *T, mo_dtype *dtype) {
    for (int i = 0; i < MO_DTYPES; i++)
        if (T->lanes == 1 && door_dl_codes[i] == T->code && T->bits == 8 * mo_dtype_size((mo_dtype)i)) {
            *dtype = (mo_dtype)i;
            return true;
        }
    return false;
}

/* A struct of a capsule, which is ours from here on, as memory and as what door_dl_done gives back; NULL when out of
 * memory, or (*view has no axes then: ndim is -1) if the library cannot read it; the struct stays the caller's. */
static void *door_dl_import(mo_context *ctx, void *managed, bool versioned, mo_view *view) {
    const door_dl_tensor *T =
        versioned ? &((door_dl_versioned *)managed)->tensor : &((door_dl_managed *)managed)->tensor;
    bool readable = T->ndim >= 0 && T->ndim <= MO_MAX_AXES && door_dl_dtype(T, &view->dtype);
    view->ndim = readable ? T->ndim : -1;
    door_dl_guest *g = readable ? malloc(sizeof *g) : NULL;
    if (!g)
        return NULL;
    *g = (door_dl_guest){ctx, managed, versioned};
    view->data = (char *)T->data + T->byte_offset;
    for (int64_t i = T->ndim - 1, step = 1; i >= 0; step *= T->shape[i--]) {
        view->shape[i] = T->shape[i];
        view->stride[i] = T->strides ? T->strides[i] : step;
    }
    return g;
}

/* Gives the memory back. What the context has queued may still read it. */
static void door_dl_done(void *state) {
    door_dl_guest *g = state;
    mo_context_wait(g->ctx);
    if (g->versioned)
        ((door_dl_versioned *)g->managed)->deleter(g->managed);
    else
        ((door_dl_managed *)g->managed)->deleter(g->managed);
    free(g);
}

static mo_done door_dl_giver(void) {
    return door_dl_done;
}
