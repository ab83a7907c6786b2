// What a convolution of PyTorch pads in front for a padding_mode other than 'zeros': it is computed when the layer is made, and
// kept, so that a padding that the layer is told later changes nothing.
#pragma once
#include "formats/torch/source/tracer.h"

namespace convoy::torch {

// Whether this class of nn is a convolution that knows padding_mode.
bool is_padding_convolution(const std::string& name);
// Keeps it with a layer that was made, as _ConvNd.__init__ does (torch/nn/modules/conv.py, PyTorch 2.13).
void keep_padding(python::Interpreter& in, python::Instance& layer);
// Whether padding_mode is another than 'zeros'.
bool pads_in_front(const python::Instance& layer);
// Whether the layer then pads by anything else than its padding says.
bool pads_otherwise(const python::Instance& layer);
// The input as the layer pads it in front. Its convolution then pads nothing.
Made padded_in_front(Tracer& tracer, python::Interpreter& in, const python::Instance& layer,
                     const python::Value& input);

}  // namespace convoy::torch
