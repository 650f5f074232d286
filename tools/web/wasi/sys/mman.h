/* tools/web/wasi/sys/mman.h - there are no pages: blocks come from malloc (platform.c). */
#include <stddef.h>
enum { MAP_SHARED = 1, PROT_READ = 1, PROT_WRITE = 2, MAP_PRIVATE = 2, MAP_ANONYMOUS = 32, MADV_HUGEPAGE = 14 };
#define MAP_FAILED ((void *)-1)
#define madvise(block, bytes, advice) ((void)(block))
void *mmap(void *at, size_t bytes, int protection, int flags, int file, long long offset);
int munmap(void *at, size_t bytes);
