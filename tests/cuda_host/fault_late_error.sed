# Ignores the device's late errors, both those of the wait and those noted before.
s|if (!cuda_ok(ctx, "the device stopped", failure) .. !looked)|if (!looked)|
