# Asks Cholesky to write its info word to host memory.
s|n, info + b));|n, reinterpret_cast<int32_t *>(\&batch)));|
