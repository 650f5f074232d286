# Cholesky factors are asked to leave their info word in host memory.
s|n, info + b));|n, reinterpret_cast<int32_t *>(\&batch)));|
