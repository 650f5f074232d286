/* tools/python/door/dlpack.h - the structs of DLPack 1.0 (dlpack.h of DMLC), which mochi/dlpack.py fills and reads. */
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
} door_dl_managed;

/* DLManagedTensorVersioned, of the capsules named "dltensor_versioned". */
typedef struct door_dl_versioned {
    uint32_t major, minor;
    void *state;
    void (*deleter)(struct door_dl_versioned *self);
    uint64_t flags;
    door_dl_tensor tensor;
} door_dl_versioned;
