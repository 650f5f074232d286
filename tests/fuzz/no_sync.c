/* tests/fuzz/no_sync.c - fuzz targets wait for no disk. */
#include <unistd.h>

__attribute__((visibility("default"))) int fsync(int fd) {
    (void)fd;
    return 0;
}
