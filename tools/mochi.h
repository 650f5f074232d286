/* mochi.h - libmochi: context, tensor, tape, op, head, model, graph, episode, pool and trainer. Installed as
 * mochi/mochi.h. Library sources include only the headers of the folders that they use. */
#ifndef MOCHI_H
#define MOCHI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "autograd/op.h"
#include "train/evaluate.h"
#include "train/train.h" /* which includes models/, ops/, autograd/ and tensor/ */

#ifdef __cplusplus
}
#endif
#endif
