/* mochi.h - every public header of libmochi. Installed as mochi/mochi.h; library sources include the header they need
 * instead. */
#ifndef MOCHI_H
#define MOCHI_H

#include "autograd/autograd.h"
#include "models/models.h"
#include "ops/ops.h"
#include "tensor/tensor.h"
#include "train/train.h"

#endif
