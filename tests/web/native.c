/* tests/web/native.c - answers the page's requests with the native build. A line of standard input is a request, whose
 * own lines are separated by tabs; a line of standard output is its answer. */
#include "tools/web/page.h"

#include <stdlib.h>
#include <string.h>

int main(void) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    while ((n = getline(&line, &room, stdin)) > 0) {
        line[n - 1] = '\0';
        for (char *at = line; (at = strchr(at, '\t'));)
            *at = '\n';
        memcpy(page_request((int)n), line, (size_t)n);
        puts(page_answer());
    }
    free(line);
    return 0;
}
