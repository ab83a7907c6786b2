// Weights and biases on steps beside the real ones that they were rounded from: whether one factor, or some steps too many or too
// few, is all that stands between them.
#pragma once
#include "diagnose/comparable.h"
#include "diagnose/diagnose.h"

#include <map>
#include <string>
#include <vector>

namespace convoy::diagnose {

// The scale of what a layer of a model of steps reads, by the layer, where it is one number.
using ScalesOfInputs = std::map<std::string, double, std::less<>>;
ScalesOfInputs scales_of_inputs(const Graph& stepped);

// A finding for each layer of steps whose kernel, or bias, does not lie within half a step of the real one's and would with one
// scale, or one zero point, mended. `of_a`: a is the model of steps, whose scales of inputs are given. Where no such mend fits all
// numbers, nothing is said.
std::vector<Finding> weights_off_their_steps(const Sized& at, const ScalesOfInputs& inputs, bool of_a);

// The same where weights alone lie on steps, of whichever model: of layers whose weights are said to differ, beside real weights
// that lie on none.
std::vector<Finding> weights_alone_off_their_steps(const Sized& at, const std::vector<Finding>& said);

// These in place of what numbers alone say of the same layers.
void put_in_place(std::vector<Finding> named, Diagnosis& into);

}  // namespace convoy::diagnose
