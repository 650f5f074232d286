# The second stream begins its products without waiting for what they read.
s|divide(ctx, of, n) \&\& seam_fork_side(seam_of(ctx));|divide(ctx, of, n);|
