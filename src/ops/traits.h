// What is so of an operator whatever its fields say. Every operator's struct states it, in full: nothing is assumed.
#pragma once
#include <cstdint>

namespace convoy {

// Which kind of layer it is. Activation: a function of each number alone. Layout: it only brings numbers elsewhere.
enum class LayerKind : std::uint8_t {
  Convolution,
  Transposed,
  Product,
  Pooling,
  Reduction,
  Normalization,
  Activation,
  Softmax,
  Arithmetic,
  Resampling,
  Joining,
  Recurrence,
  Shuffle,
  Table,
  Layout,
  Other
};

// Elementwise: one input, and each number becomes that at its place, so axes do not matter. Kept: the axes of the result
// are those of the inputs, whatever their sizes and save those that are summed away. Named: kept, and the field `axis` or
// `axes` (in any order) says all that sets one apart from another. Made: they are others.
enum class AxisUse : std::uint8_t { Elementwise, Named, Kept, Made };

// Where the result's numbers come from. Kept: they are the input's, in row-major order. Moved: each is one of the inputs'.
// Filled: moved, with numbers of the operator's own beside them. Picked: moved, and another input says which. Ranked: whole
// numbers that tell which of the input's are larger, so that nothing is rounded.
enum class Contents : std::uint8_t { Computed, Kept, Moved, Filled, Picked, Ranked };

// Weights: constants among the inputs after the first are what training learns.
enum class Learnt : std::uint8_t { Nothing, Weights };

// Which output or input holds whole numbers that tell places, or only its lengths are read: no arithmetic is done on them.
enum class Indices : std::uint8_t { None, FirstOutput, SecondOutput, FirstInput, SecondInput };

// Own: the operator has a function `infer`. LikeInput: the shape of the first input, of the type that arithmetic gives, and
// the field `axis` or `axes` names axes that exist.
enum class ResultType : std::uint8_t { Own, LikeInput };

struct Traits {
  LayerKind kind;
  AxisUse axes;
  Contents contents;
  Learnt learnt;
  Indices indices;
  ResultType result;
  constexpr Traits(LayerKind k, AxisUse a, Contents c, Learnt l, Indices i, ResultType r = ResultType::Own)
      : kind(k),
        axes(a),
        contents(c),
        learnt(l),
        indices(i),
        result(r) {}

  // Numbers come out bit for bit as they went in, whatever they are.
  constexpr bool moves_numbers() const { return contents != Contents::Computed && contents != Contents::Ranked; }
  constexpr bool is_product() const {
    return kind == LayerKind::Convolution || kind == LayerKind::Transposed || kind == LayerKind::Product;
  }
  friend constexpr bool operator==(Traits, Traits) = default;
};

inline constexpr Traits plain_activation{LayerKind::Activation, AxisUse::Elementwise, Contents::Computed,
                                         Learnt::Nothing,       Indices::None,        ResultType::LikeInput};
// One whose parameters have a say in the type of the result, or are checked.
inline constexpr Traits checked_activation{LayerKind::Activation, AxisUse::Elementwise, Contents::Computed,
                                           Learnt::Nothing, Indices::None};

}  // namespace convoy
