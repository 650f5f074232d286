# What the device says late is not asked for: neither by the wait nor by what it noted.
s|if (!cuda_ok(ctx, "the device stopped", failure) .. !looked)|if (!looked)|
