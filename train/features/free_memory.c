/* train/features/free_memory.c - the memory still available to a process: the system's available memory, or less if a
 * limit on the process's control group (version 2), or on a group above it, allows less. Swap does not count: a hop
 * stack on disk is read faster than one that was swapped out. */
#include "train/features/feature_memory.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The number that follows a name at the start of a line ("": the number that starts the first line that has one); NaN
 * if there is none. */
static double read_number(const char *path, const char *name) {
    char line[256];
    double value = NAN;
    FILE *file = fopen(path, "re");
    while (file && isnan(value) && fgets(line, sizeof line, file)) {
        unsigned long long number;
        size_t n = strlen(name);
        if (strncmp(line, name, n) == 0 && sscanf(line + n, "%llu", &number) == 1)
            value = (double)number;
    }
    if (file)
        fclose(file);
    return value;
}

/* The bytes that the limit on a control group still allows. Page cache that can be dropped counts as free. */
static double group_left(const char *root, const char *group) {
    static const char *const file[] = {"memory.max", "memory.current", "memory.stat"};
    static const char *const name[] = {"", "", "inactive_file "};
    char path[PATH_MAX];
    double figure[3];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/sys/fs/cgroup%s/%s", root, group, file[i]);
        figure[i] = read_number(path, name[i]);
    }
    double left = figure[0] - figure[1] + (isnan(figure[2]) ? 0 : figure[2]);
    return isnan(left) ? INFINITY : left; /* no such group, or the limit is "max" */
}

double mo_free_memory(const char *root) {
    char path[PATH_MAX], line[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    double available = read_number(path, "MemAvailable:"), least = isnan(available) ? INFINITY : 1024 * available;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *groups = fopen(path, "re");
    while (groups && fgets(line, sizeof line, groups))
        if (!strncmp(line, "0::/", 4)) {
            line[strcspn(line, "\n")] = '\0';
            /* The root counts too, because a container can have its group's files there. */
            for (char *group = line + 3, *end = group + strlen(group); end; end = strrchr(group, '/')) {
                *end = '\0';
                least = fmin(least, group_left(root, group));
            }
        }
    if (groups)
        fclose(groups);
    return least;
}
