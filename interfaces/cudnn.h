/* cuDNN, as far as the sources here use it; interfaces/README.md. */
#ifndef INTERFACES_CUDNN_H
#define INTERFACES_CUDNN_H

#include <cudnn_adv.h>
#include <cudnn_cnn.h>

#endif
