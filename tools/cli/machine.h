/* tools/cli/machine.h - facts about the machine from the operating system, and its measured rate. */
#ifndef MACHINE_H
#define MACHINE_H

#include "tools/inside.h"

/* Unknown numbers are NaN, unknown texts empty. */
typedef struct machine {
    char processor[128];
    char instructions[128];  /* vector instruction sets, separated by spaces */
    char huge_pages[16];     /* always, madvise or never */
    int cores, cores_usable; /* numbers of cores: online, and usable by this process */
    double cores_quota;      /* processor time that the control group (cgroup) grants, in cores */
    double cache_kib[3];     /* of the L1 data, L2 and L3 caches */
    double memory_mib, memory_available_mib, memory_limit_mib; /* memory_limit_mib: of the control group */
} machine;

machine describe_machine(void);
/* Returns GFLOP/s, the fastest of `runs` products of two n x n matrices; NaN if the context failed. */
double measure_product(mo_context *ctx, int64_t n, mo_dtype dtype, int runs);

#endif
