# Products of fp32 are allowed to cut their factors off.
s|c->math = ctx->math == MO_MATH_TF32 ? SEAM_TF32 : SEAM_FULL;|c->math = ctx->math != MO_MATH_BF16 ? SEAM_TF32 : SEAM_FULL;|
