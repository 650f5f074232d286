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

static void door_dl_free(door_dl_managed *m) {
    door_done(m->state);
    free(m);
}

static void door_dl_free_versioned(door_dl_versioned *m) {
    door_done(m->state);
    free(m);
}

static void door_dl_fill(door_dl_tensor *T, int64_t *sizes, const mo_view *v, int device_type, int device_id) {
    static const uint8_t codes[] = {2, 2, 0, 0, 1, 2, 4}; /* kDLFloat, kDLInt, kDLUInt, kDLBfloat */
    *T = (door_dl_tensor){.data = v->data, .device_type = device_type, .device_id = device_id, .ndim = v->ndim};
    T->code = codes[v->dtype];
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
