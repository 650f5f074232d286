/* tools/web/wasi/omp.h - one thread. */
#define omp_get_thread_num() 0
