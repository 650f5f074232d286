# Does not initialise a warp's flag in shared memory.
s|bad\[threadIdx.x / 32\] = found != 0;|bad[threadIdx.x / 32] += found != 0;|
