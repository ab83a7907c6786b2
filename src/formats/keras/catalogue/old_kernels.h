// Kernels as old files hold them: those of Theano are flipped, those of Keras 1 lie in other orders.
#pragma once
#include "formats/keras/catalogue/catalogue.h"

namespace convoy::keras {

struct Kernel {
  ValueId value;
  KernelOrder order;
};

// The weight `name`; `order` is that of today's files.
Kernel kernel_value(Call& call, std::string_view name, const Shape& expected, KernelOrder order, std::size_t space);
// Of Keras 1: channels-first kernels are [O, I, k...], and 1-D kernels have an axis of size 1.
Kernel kernel_of_keras_1(Call& call, const Sizes& kernel, Dim in, Size filters, Order order);
// Of its Deconvolution2D: [k..., I, O] or, channels first, [I, O, k...].
Kernel kernel_of_deconvolution(Call& call, const Sizes& kernel, Dim channels, Size filters, Order order);

}  // namespace convoy::keras
