/* train/features/free_memory.c - the memory still available to a process: the system's available memory, or less if a
 * limit on the process's control group, or on a group above it, allows less. Page cache that can be dropped counts as
 * free. */
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

/* The names of a group's files, by the version of control groups. */
typedef struct group_files {
    const char *folder, *limit, *used, *forgettable;
} group_files;

static const group_files versions[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "},
};

static double group_left(const char *root, const group_files *v, const char *group) {
    char path[PATH_MAX];
    double figure[3];
    const char *const file[] = {v->limit, v->used, "memory.stat"}, *const name[] = {"", "", v->forgettable};
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s%s/%s", root, v->folder, group, file[i]);
        figure[i] = read_number(path, name[i]);
    }
    double left = figure[0] - figure[1] + (isnan(figure[2]) ? 0 : figure[2]);
    return isnan(left) ? INFINITY : left; /* no such group, or the limit is "max" */
}

/* The fewest bytes that the limits on the group and on all groups above it still allow. The root counts too, because a
 * container can have its group's files there. */
static double groups_left(const char *root, const group_files *v, char *group) {
    double least = INFINITY;
    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        *end = '\0';
        least = fmin(least, group_left(root, v, group));
    }
    return least;
}

double mo_free_memory(const char *root, double *with_swap) {
    char path[PATH_MAX], line[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    double available = read_number(path, "MemAvailable:") * 1024, swap = read_number(path, "SwapFree:") * 1024;
    double left = INFINITY;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *groups = fopen(path, "re");
    while (groups && fgets(line, sizeof line, groups)) {
        char *kinds = strchr(line, ':'), *group = kinds ? strchr(kinds + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        bool all = kinds[1] == '\0', memory = strstr(kinds, "memory") != NULL;
        if (all || memory)
            left = fmin(left, groups_left(root, &versions[memory], group));
    }
    if (groups)
        fclose(groups);
    available = isnan(available) ? INFINITY : available;
    *with_swap = fmin(available + (isnan(swap) ? 0 : swap), left);
    return fmin(available, left);
}
