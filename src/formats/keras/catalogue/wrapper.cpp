// TimeDistributed: a layer run on every step of time at once, with time folded into the batch. SpectralNormalization at
// inference is the layer inside it, whose kernel was stored as training left it.
#include "formats/keras/catalogue/catalogue.h"

#include <algorithm>
#include <array>

namespace convoy::keras {
namespace {

// Layers that look at one number, or at the last axis alone, need no folding.
bool looks_at_last_axis_only(const std::string& c) {
  return c == "Dense" || c == "Activation" || c == "ReLU" || c == "LeakyReLU" || c == "ELU" || c == "Dropout";
}

// The sizes behind `from`, -1 (once) for an unknown one among `to`.
bool append_sizes(Call& call, ValueId value, Size from, Sizes& to) {
  for (Size i = from; i < call.rank(value); ++i) {
    const Dim n = call.dim(value, i);
    if (!n.known() && std::ranges::find(to, -1) != to.end()) {
      call.refuse(Fault::Unsupported, "is run on every step of time while more than one size is unknown");
      return false;
    }
    to.push_back(n.known() ? *n : -1);
  }
  return true;
}

Values time_distributed(Use& use) {
  Call& call = use.call;
  const ValueId x = call.x();
  const Layer inner = call.inside("layer");
  if (call.failed()) return {};
  if (call.rank(x) < 3) {
    call.refuse(Fault::Format, "input has rank " + std::to_string(call.rank(x)) + ", expected at least 3");
    return {};
  }
  if (looks_at_last_axis_only(inner.class_name)) return call.run_inside(inner, "layer", {x});
  Sizes folded{-1};
  if (!append_sizes(call, x, 2, folded)) return {};
  const Dim batch = call.dim(x, 0), steps = call.dim(x, 1);
  const Values made = call.run_inside(inner, "layer", {call.add(Reshape{folded}, {x}, "folded")});
  if (call.failed() || made.size() != 1) return {};
  Sizes unfolded{batch.known() ? *batch : -1};
  if (steps.known()) unfolded.push_back(*steps);
  else if (batch.known()) unfolded.push_back(-1);
  else call.refuse(Fault::Unsupported, "is run on every step of time while both batch and time are unknown");
  if (call.failed() || !append_sizes(call, made.front(), 1, unfolded)) return {};
  return use.add(Reshape{unfolded}, made);
}

Values spectral_normalization(Use& use) {
  Call& call = use.call;
  call.attrs.ignore({"power_iterations"});
  const Layer inner = call.inside("layer");
  if (call.failed()) return {};
  call.skip_weights();
  return call.run_inside(inner, "layer", {call.x()});
}

constexpr std::array rows_of_wrappers{
    CatalogueRow{"layers.TimeDistributed", "layer", time_distributed},
    CatalogueRow{"layers.SpectralNormalization", "layer power_iterations=1", spectral_normalization},
};

}  // namespace

std::span<const CatalogueRow> wrapper_operators() { return rows_of_wrappers; }

}  // namespace convoy::keras
