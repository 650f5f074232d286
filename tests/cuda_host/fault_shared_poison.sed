# The flag of a warp begins as what shared memory holds.
s|bad\[threadIdx.x / 32\] = found != 0;|bad[threadIdx.x / 32] += found != 0;|
