/* tests/oracle.h - a Python with the packages that a comparison needs. */
#ifndef ORACLE_H
#define ORACLE_H

#include "tests/suite.h"

#include <stdio.h>
#include <stdlib.h>

/* The first of MOCHI_PYTHON, python3 and Debian's own that imports the modules ("numpy, sklearn"); skips the test,
 * saying so, where none does. */
static inline const char *python_with(const char *modules) {
    const char *const pythons[] = {getenv("MOCHI_PYTHON"), "python3", "/usr/bin/python3"};
    char command[600];
    for (int i = 0; i < 3; i++) {
        snprintf(command, sizeof command, "%s -c 'import %s' 2>/dev/null", pythons[i] ? pythons[i] : "false", modules);
        if (pythons[i] && system(command) == 0)
            return pythons[i];
    }
    print_message(
        "skipped: no Python that imports %s (Debian package python3-sklearn, or set MOCHI_PYTHON)\n", modules);
    skip();
    return NULL;
}

#endif
