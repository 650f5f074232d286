# Lets fp32 products round their factors to TF32.
s|c->math = ctx->math == MO_MATH_TF32 ? SEAM_TF32 : SEAM_FULL;|c->math = ctx->math != MO_MATH_BF16 ? SEAM_TF32 : SEAM_FULL;|
