/* tests/fuzz/no_sync.c - replaces fsync: fuzz targets do not wait for the disk. */
#include <unistd.h>

__attribute__((visibility("default"))) int fsync(int fd) {
    (void)fd;
    return 0;
}
