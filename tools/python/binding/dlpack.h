/* tools/python/binding/dlpack.h - the structs of DLPack 1.0 (dlpack.h of DMLC), which mochi/dlpack.py fills and reads.
 */
typedef struct binding_dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} binding_dl_tensor;

/* DLManagedTensor, of the capsules named "dltensor". */
typedef struct binding_dl_managed {
    binding_dl_tensor tensor;
    void *state;
    void (*deleter)(struct binding_dl_managed *self);
} binding_dl_managed;

/* DLManagedTensorVersioned, of the capsules named "dltensor_versioned". */
typedef struct binding_dl_versioned {
    uint32_t major, minor;
    void *state;
    void (*deleter)(struct binding_dl_versioned *self);
    uint64_t flags;
    binding_dl_tensor tensor;
} binding_dl_versioned;
