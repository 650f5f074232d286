/* tests/failing_disk.h - counts the calls on the files of one folder, and makes one of them fail, be interrupted, move
 * fewer bytes than asked for, or kill the process.
 *
 * failing_disk.c replaces the C library's calls, in a test that links it or a program that preloads it
 * (cli/failing_disk_preload.c). No call waits for the disk: fsync is counted and does nothing. */
#ifndef FAILING_DISK_H
#define FAILING_DISK_H

#include <stdbool.h>

enum disk_fault { DISK_NONE, DISK_EIO, DISK_ENOSPC, DISK_EINTR, DISK_SHORT, DISK_KILL, DISK_FAULTS };

typedef struct disk_plan {
    const char *under; /* the folder whose files count */
    enum disk_fault fault;
    long at;         /* number of the call that the fault meets, from 1; 0: none */
    bool always;     /* the fault meets all later calls too; EINTR and SHORT meet only every second one */
    bool saves_only; /* does not count calls that only read */
    bool named_only; /* refuses O_TMPFILE, as some file systems do */
} disk_plan;

/* Starts counting: the next call has number 1. Copies the plan and the folder's name. */
void disk_begin(const disk_plan *plan);

/* Stops counting. Returns the number of calls. */
long disk_end(void);

/* Returns the number of calls that the fault met. A call that cannot have the fault, such as a short fsync, is not
 * met. */
long disk_met(void);

/* Returns the calls since disk_begin, one per line: "write PATH 100", "rename FROM TO". A file without a name has the
 * path FOLDER/#1234. Valid until the next disk_begin. */
const char *disk_calls(void);

/* "EIO" etc. */
static inline const char *disk_fault_name(enum disk_fault fault) {
    static const char *const names[DISK_FAULTS] = {"none", "EIO", "ENOSPC", "EINTR", "short", "kill"};
    return names[fault];
}

/* Whether the calls save that file in the right order: a temporary file beside it is created, written and synced, then
 * gets the file's name, and the folder is synced. If not, `wrong` says why. */
bool disk_save_in_order(const char *calls, const char *path, long *bytes, char wrong[400]);

#endif
