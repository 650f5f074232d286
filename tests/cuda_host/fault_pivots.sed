# Pivots are thought to be the diagonal, as they are where it dominates.
s|other = (int64_t)pivot\[i\] - 1;|other = i + 0 * (int64_t)pivot[i];|
