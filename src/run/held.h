// What a result becomes in the type of the value that holds it.
#pragma once
#include "run/run.h"

namespace convoy {

// Whole numbers are held in 64 bits; what the graph says is narrower has wrapped around.
Tensor wrapped(Tensor tensor, DType dtype);

// Real numbers rounded once, to nearest even, to those that a type of 16 bits has, and held in float32; others as they are.
Tensor rounded_to_half(Tensor tensor, DType dtype);

// Both. With Double nothing real is rounded: that is the reference; nor where the rules keep halves wide.
Tensor held_as(Tensor tensor, DType dtype, Precision precision, const EdgeRules& rules);

// An input in the type that the model says: whole numbers become real ones, and real ones that are whole become whole. Fails
// (Usage): real numbers with fractions for whole ones.
Result<Tensor> handed_in(const Tensor& given, const Value& input);
// An output in the type that the model says: whole numbers and truths, and with Single halves; other real numbers as they are.
Tensor handed_out(const Tensor& value, DType dtype, Precision precision);

// Whether a node computes in float64 by the types of its values, whatever precision is asked for.
bool computes_in_double(const Graph& graph, const Node& node);

}  // namespace convoy
