/* tools/cli/memory.c - ends the program when memory runs out. */
#include "tools/cli/memory.h"

#include "tools/cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void end_out_of_memory(void) {
    static const char line[] = "mochi: out of memory\n";
    ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);
    (void)written; /* if this write fails too, the exit status still reports the failure */
    _exit(EXIT_FAILED);
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

static void *json_memory(size_t bytes) {
    return needed(malloc(bytes));
}

void need_json_memory(void) {
    json_set_alloc_funcs(json_memory, free);
}
