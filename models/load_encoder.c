/* models/load_encoder.c - an encoder from a shared object: its exported mo_encoder_plugin, checked for what it was
 * built for. */
#include "models/encoder.h"
#include "tensor/files/file.h"
#include "tensor/given.h"

#include <dlfcn.h>

const mo_encoder *mo_load_encoder(mo_context *ctx, const char *path) {
    if (!mo_given(ctx, "load_encoder", "path", path))
        return NULL;
    void *object = mo_shared_object_open(ctx, "load encoder", path);
    const mo_encoder *encoder = object ? dlsym(object, "mo_encoder_plugin") : NULL;
    if (!object)
        return NULL;
    if (!encoder)
        mo_fail(ctx, MO_FORMAT, "load encoder: %s exports no mo_encoder_plugin", path);
    else if (encoder->abi != MO_ENCODER_ABI || encoder->size != sizeof(mo_encoder))
        mo_fail(ctx, MO_FORMAT,
            "load encoder: %s was built for version %d, an encoder of %zu bytes; expected %d and %zu", path,
            encoder->abi, encoder->size, MO_ENCODER_ABI, sizeof(mo_encoder));
    else if (mo_encoder_validate(ctx, encoder))
        return encoder;
    dlclose(object);
    return NULL;
}
