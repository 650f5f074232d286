/* tests/failing_disk.h - calls on the files of one folder are counted, and one of them fails, is interrupted, moves
 * fewer bytes than asked for, or is the last of the process.
 *
 * failing_disk.c stands in front of the C library's calls: in a test that links it, or in a program that it is
 * preloaded into (cli/failing_disk_preload.c). No call waits for the disk: fsync is counted and does nothing. */
#ifndef FAILING_DISK_H
#define FAILING_DISK_H

#include <stdbool.h>

enum disk_fault { DISK_NONE, DISK_EIO, DISK_ENOSPC, DISK_EINTR, DISK_SHORT, DISK_KILL, DISK_FAULTS };

typedef struct disk_plan {
    const char *under; /* the folder whose files count */
    enum disk_fault fault;
    long at;         /* the call that the fault meets, from 1; 0: none */
    bool always;     /* the fault meets all later calls too, EINTR and SHORT every other one */
    bool saves_only; /* calls that only read do not count */
    bool named_only; /* as on a file system without O_TMPFILE */
} disk_plan;

/* Starts to count at 1. The folder's name is kept. */
void disk_begin(const disk_plan *plan);

/* Stops counting. Returns the number of calls. */
long disk_end(void);

/* Calls that the fault met. A fault that a call cannot have, as a short fsync, does not meet it. */
long disk_met(void);

/* What was called since disk_begin, a line each: "write PATH 100", "rename FROM TO". A file without a name has one of
 * the form FOLDER/#1234. Valid until the next disk_begin. */
const char *disk_calls(void);

/* "EIO" etc. */
static inline const char *disk_fault_name(enum disk_fault fault) {
    static const char *const names[DISK_FAULTS] = {"none", "EIO", "ENOSPC", "EINTR", "short", "kill"};
    return names[fault];
}

/* Whether the calls are those of a save of that file, in this order: a temporary file beside it is opened, written,
 * synced, named as the file, and the folder is synced. Says what is wrong if not. */
bool disk_save_in_order(const char *calls, const char *path, long *bytes, char wrong[400]);

#endif
