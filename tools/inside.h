/* inside.h - what the program `mochi` and its tests use beside mochi.h, in the archive libmochi.a alone. Installed as
 * mochi/inside.h. It promises nothing: any release may change it. Tables that a shared object exports carry the number
 * of their form (MO_ENCODER_ABI), and a library of another form refuses them with a message. */
#ifndef MOCHI_INSIDE_H
#define MOCHI_INSIDE_H

#include "tools/mochi.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "train/inside.h"

#ifdef __cplusplus
}
#endif
#endif
