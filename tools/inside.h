/* inside.h - declarations beyond mochi.h for the program `mochi` and its tests; only the archive libmochi.a has their
 * functions. Installed as mochi/inside.h. Any release can change them. Tables that a shared object exports carry a
 * version number (MO_ENCODER_ABI): a library with another version refuses them with a message. */
#ifndef MOCHI_INSIDE_H
#define MOCHI_INSIDE_H

#include "tools/mochi.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "train/inside.h"
#include "train/recipe.h"
#include "train/saved_readout.h"

#ifdef __cplusplus
}
#endif
#endif
