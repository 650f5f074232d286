/* tools/memory.c - what the program does where there is no memory. */
#include "tools/memory.h"

#include "tools/command.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

int say_out_of_memory(void) {
    static const char line[] = "mochi: out of memory\n";
    static atomic_bool said;
    ssize_t written = atomic_exchange(&said, true) ? 0 : write(STDERR_FILENO, line, sizeof line - 1);
    (void)written; /* where standard error is gone, too, the exit status is left */
    return EXIT_FAILED;
}

void end_out_of_memory(void) {
    _exit(say_out_of_memory());
}

void *needed(void *memory) {
    if (!memory)
        end_out_of_memory();
    return memory;
}

FILE *open_text(char **text, size_t *bytes) {
    errno = 0;
    return needed(open_memstream(text, bytes));
}

void close_text(FILE *stream, char *const *text) {
    bool whole = !ferror(stream) && errno != ENOMEM;
    if (fclose(stream) != 0 || !whole || !*text)
        end_out_of_memory();
}

static atomic_bool lacked; /* threads of the library read JSON as well */

static void *json_memory(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory)
        lacked = true;
    return memory;
}

void watch_json_memory(void) {
    json_set_alloc_funcs(json_memory, free);
}

bool json_lacked_memory(void) {
    return lacked;
}

json_t *whole_json(json_t *value) {
    if (lacked)
        end_out_of_memory();
    return value;
}
