/* tools/web/wasi/sched.h - one processor. */
typedef int cpu_set_t;
#define sched_getaffinity(process, bytes, set) (*(set) = 1, 0)
#define CPU_COUNT(set) (*(set))
