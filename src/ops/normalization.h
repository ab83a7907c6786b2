// Values brought to a common mean and scale.
#pragma once
#include "ops/infer.h"

#include <string_view>
#include <tuple>

namespace convoy {

// x, gamma?, beta?, mean, variance -> (x - mean) / sqrt(variance + epsilon) * gamma + beta, each [n] along `axis`.
// `momentum` is the share of the old running statistic that a training step keeps (Keras's meaning; PyTorch's is 1 -
// it).
struct BatchNorm {
  static constexpr std::string_view name = "batch_norm";
  static constexpr std::size_t least_inputs = 5, most_inputs = 5;
  static constexpr Traits traits{LayerKind::Normalization, AxisUse::Named, Contents::Computed, Learnt::Weights,
                                 Indices::None};
  Size axis = 1;
  double epsilon = 1e-3, momentum = 0.99;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &BatchNorm::axis);
    visit("epsilon", &BatchNorm::epsilon);
    visit("momentum", &BatchNorm::momentum);
  }
  friend bool operator==(const BatchNorm&, const BatchNorm&) = default;
};

// x, gamma?, beta? -> normalized over `axes` (sorted) with the biased variance; parameters shaped by those axes.
// keras_rms_scaling: x / sqrt(variance + epsilon) * gamma, the mean is removed inside the variance only.
struct LayerNorm {
  static constexpr std::string_view name = "layer_norm";
  static constexpr std::size_t least_inputs = 1, most_inputs = 3;
  static constexpr Traits traits{LayerKind::Normalization, AxisUse::Kept, Contents::Computed, Learnt::Weights,
                                 Indices::None};
  Sizes axes;
  double epsilon = 1e-3;
  bool keras_rms_scaling = false;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &LayerNorm::axes);
    visit("epsilon", &LayerNorm::epsilon);
    visit("keras_rms_scaling", &LayerNorm::keras_rms_scaling);
  }
  friend bool operator==(const LayerNorm&, const LayerNorm&) = default;
};

// x, gamma? [C], beta? [C] -> statistics over (channels of a group x all axes but batch and channel `axis`).
struct GroupNorm {
  static constexpr std::string_view name = "group_norm";
  static constexpr std::size_t least_inputs = 1, most_inputs = 3;
  static constexpr Traits traits{LayerKind::Normalization, AxisUse::Kept, Contents::Computed, Learnt::Weights,
                                 Indices::None};
  Size axis = 1, groups = 1;
  double epsilon = 1e-3;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &GroupNorm::axis);
    visit("groups", &GroupNorm::groups);
    visit("epsilon", &GroupNorm::epsilon);
  }
  friend bool operator==(const GroupNorm&, const GroupNorm&) = default;
};

// x, gamma? -> x / sqrt(mean(x^2 over axes) + epsilon) * gamma
struct RmsNorm {
  static constexpr std::string_view name = "rms_norm";
  static constexpr std::size_t least_inputs = 1, most_inputs = 2;
  static constexpr Traits traits{LayerKind::Normalization, AxisUse::Kept, Contents::Computed, Learnt::Weights,
                                 Indices::None};
  Sizes axes;
  double epsilon = 1e-6;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &RmsNorm::axes);
    visit("epsilon", &RmsNorm::epsilon);
  }
  friend bool operator==(const RmsNorm&, const RmsNorm&) = default;
};

// x -> x / sqrt(max(sum(x^2 over axes), epsilon))   (tf.math.l2_normalize: epsilon 1e-12)
struct UnitNorm {
  static constexpr std::string_view name = "unit_norm";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Normalization, AxisUse::Named, Contents::Computed, Learnt::Nothing,
                                 Indices::None};
  Sizes axes;
  double epsilon = 1e-12;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &UnitNorm::axes);
    visit("epsilon", &UnitNorm::epsilon);
  }
  friend bool operator==(const UnitNorm&, const UnitNorm&) = default;
};

// x -> x / max((sum |x|^p over axes)^(1/p), epsilon); p = infinity: the largest magnitude.
// (PyTorch F.normalize, Keras ops.normalize)
struct LengthNorm {
  static constexpr std::string_view name = "length_norm";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Normalization, AxisUse::Named, Contents::Computed, Learnt::Nothing,
                                 Indices::None};
  Sizes axes;
  double p = 2, epsilon = 1e-12;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axes", &LengthNorm::axes);
    visit("p", &LengthNorm::p);
    visit("epsilon", &LengthNorm::epsilon);
  }
  friend bool operator==(const LengthNorm&, const LengthNorm&) = default;
};

// x -> x / (bias + alpha * s)^beta, s the sum of x^2 over the cells from `before` cells before to `after` cells behind
// along `axis`, as far as they exist. `alpha` is what each square is worth: ONNX and PyTorch divide theirs by the size
// first. PyTorch: before = size / 2, after = (size - 1) / 2; ONNX the other way round; TensorFlow: both depth_radius.
// Source: ONNX LRN; torch/nn/functional.py local_response_norm; TensorFlow lrn_op.cc.
struct LocalResponseNorm {
  static constexpr std::string_view name = "local_response_norm";
  static constexpr std::size_t least_inputs = 1, most_inputs = 1;
  static constexpr Traits traits{LayerKind::Normalization, AxisUse::Named, Contents::Computed, Learnt::Nothing,
                                 Indices::None};
  Size axis = 1, before = 2, after = 2;
  double alpha = 1, beta = 0.5, bias = 1;
  template <class Visit>
  static void fields(Visit visit) {
    visit("axis", &LocalResponseNorm::axis);
    visit("before", &LocalResponseNorm::before);
    visit("after", &LocalResponseNorm::after);
    visit("alpha", &LocalResponseNorm::alpha);
    visit("beta", &LocalResponseNorm::beta);
    visit("bias", &LocalResponseNorm::bias);
  }
  friend bool operator==(const LocalResponseNorm&, const LocalResponseNorm&) = default;
};

using Normalization = std::tuple<BatchNorm, LayerNorm, GroupNorm, RmsNorm, UnitNorm, LengthNorm, LocalResponseNorm>;

}  // namespace convoy
