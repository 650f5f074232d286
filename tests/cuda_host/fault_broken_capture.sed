# A recording whose capture a library broke is kept as if it had been made.
s|cuda_ok(ctx, "capture", failure);|(void)failure;|
