# The first block clears the flags of all matrices, which later blocks are thought to set after it.
s|            flags\[b\] = found;|            for (int64_t i = 0; i < (b == 0 ? batch : found); i++) flags[b == 0 ? i : b] = b == 0 \&\& i > 0 ? 0 : found;|
