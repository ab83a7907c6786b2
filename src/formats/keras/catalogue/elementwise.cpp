// Sums and products of two tensors, plain numbers, and what acts in training alone. Source: keras/src/ops/numpy.py,
// layers/regularization of Keras 3.15.
#include "base/whole_tensor.h"
#include "formats/keras/catalogue/write.h"
#include "formats/keras/operation.h"
#include "formats/whole_arithmetic.h"
#include "ops/expect.h"

#include <algorithm>
#include <array>
#include <numbers>
#include <optional>

namespace convoy::keras {
namespace {

// A number of Python's takes the type of what it meets; a whole one is int32 beside truths, a fraction float32 beside what is
// whole. Quotients are of fractions, and numbers are compared in 32 bits, as remainders by fractions are taken.
struct Pair {
  ValueId a, b;
};
enum class Meeting : std::uint8_t { OwnType, Fractions, In32Bits };
Pair operands_of(Use& use, Meeting how = Meeting::OwnType) {
  Call& call = use.call;
  const Json *said_a = use.option("x1"), *said_b = use.option("x2");
  const auto is_number = [](const Json* said) { return said && said->is_number(); };
  const auto is_whole = [](const Json* said) { return said && said->is_number_integer(); };
  const bool is_number_a = is_number(said_a);
  if (is_whole(said_a) && is_whole(said_b))
    return {whole_constant(call, "x1", said_a->get<std::int64_t>(), DType::I32),
            whole_constant(call, "x2", said_b->get<std::int64_t>(), DType::I32)};
  if (is_number_a == is_number(said_b)) return {use.operand("x1"), use.operand("x2")};
  const std::string_view said = is_number_a ? "x1" : "x2";
  const Json& number = *(is_number_a ? said_a : said_b);
  ValueId tensor = use.operand(is_number_a ? "x2" : "x1"), other;
  if (call.failed()) return {};
  const DType own = call.type(tensor).dtype;
  const bool is_wider =
      how == Meeting::In32Bits && number.is_number_integer() && !is_floating(own) && bytes_of(own) < 4;
  if (is_wider) tensor = call.add(Cast{DType::I32}, {tensor});
  if (call.failed()) return {};
  const DType dtype = call.type(tensor).dtype;
  if (number.is_number_integer() && !is_floating(dtype) && how != Meeting::Fractions) {
    if (dtype == DType::Bool) tensor = call.add(Cast{DType::I32}, {tensor});
    other = whole_constant(call, said, number.get<std::int64_t>(), dtype == DType::Bool ? DType::I32 : dtype);
  } else {
    Tensor like = Tensor::of({}, std::vector<double>{number.get<double>()});
    if (how == Meeting::In32Bits && number.is_number_float()) {
      like = like.converted(DType::F32);
      if (is_half(dtype)) tensor = call.add(Cast{DType::F32}, {tensor});
    }
    const DType made = call.type(tensor).dtype;
    other = call.literal(said, like.converted(is_floating(made) ? made : DType::F32));
  }
  return is_number_a ? Pair{other, tensor} : Pair{tensor, other};
}

template <BinaryFunction function>
Values binary(Use& use) {
  constexpr bool is_logic =
      function == BinaryFunction::And || function == BinaryFunction::Or || function == BinaryFunction::Xor;
  const auto [a, b] = operands_of(use, function == BinaryFunction::Divide   ? Meeting::Fractions
                                       : gives_truth(function) && !is_logic ? Meeting::In32Bits
                                                                            : Meeting::OwnType);
  return use.add(Binary{function}, {a, b});
}

// A whole number of Python's is of 32 bits here, whatever narrower type it meets: bytes have negative remainders.
Values modulo(Use& use) {
  Call& call = use.call;
  const auto is_fraction = [&](std::string_view name) {
    const Json* argument = use.option(name);
    return argument && argument->is_number_float();
  };
  auto [a, b] = operands_of(use, is_fraction("x1") || is_fraction("x2") ? Meeting::In32Bits : Meeting::OwnType);
  if (call.failed()) return {};
  const auto is_whole = [&](std::string_view name) {
    const Json* argument = use.option(name);
    return argument && argument->is_number_integer();
  };
  const DType dtype = meeting(call.type(a).dtype, call.type(b).dtype);
  const bool narrow = !is_floating(dtype) && bytes_of(dtype) < 4;
  if (narrow && is_whole("x2")) {
    a = call.add(Cast{DType::I32}, {a});
    b = whole_constant(call, "divisor", use.option("x2")->get<std::int64_t>(), DType::I32);
  } else if (narrow && is_whole("x1")) {
    a = whole_constant(call, "dividend", use.option("x1")->get<std::int64_t>(), DType::I32);
    b = call.add(Cast{DType::I32}, {b});
  }
  return use.add(Binary{BinaryFunction::Modulo}, {a, b});
}

// log(exp(a) + exp(b)), the larger taken out; infinities that are alike have no difference.
Values logaddexp(Use& use) {
  Call& call = use.call;
  auto [a, b] = operands_of(use);
  if (call.failed()) return {};
  for (ValueId* x : {&a, &b})  // whole numbers are fractions from the beginning
    if (!is_floating(call.type(*x).dtype)) *x = call.add(Cast{DType::F32}, {*x}, "fractions");
  const auto apply = [&](BinaryFunction f, ValueId x, ValueId y) { return call.add(Binary{f}, {x, y}, "part"); };
  const ValueId apart = call.add(Unary{Function::Abs}, {apply(BinaryFunction::Subtract, a, b)}, "apart");
  const ValueId more =
      call.add(Unary{Function::Log1p},
               {call.add(Unary{Function::Exp}, {call.add(Affine{-1, 0}, {apart}, "part")}, "part")}, "more");
  const ValueId most = apply(BinaryFunction::Maximum, a, b);
  return use.add(Where{}, {apply(BinaryFunction::Equal, a, b), call.add(Affine{1, std::numbers::ln2}, {most}, "twice"),
                           apply(BinaryFunction::Add, most, more)});
}

// Whole numbers stay whole; a known power is a product.
Values power(Use& use) {
  Call& call = use.call;
  const auto [a, b] = operands_of(use);
  if (call.failed()) return {};
  const DType dtype = meeting(call.type(a).dtype, call.type(b).dtype);
  if (is_floating(dtype)) return {call.add(Binary{BinaryFunction::Power}, {a, b})};
  const Json* argument = use.option("x2");
  if (argument && argument->is_number_integer() && *argument >= 1 && *argument <= 64)
    return {power_by_products(call, a, argument->get<int>())};
  return {call.add(Cast{dtype}, {power_in_float64(call, a, b)})};
}

Values floor_divide(Use& use) {
  const auto [a, b] = operands_of(use);
  return {floor_of_quotient(use.call, a, b)};
}

Values where(Use& use) {
  Call& call = use.call;
  ValueId condition = use.operand("condition");
  if (!call.failed() && call.type(condition).dtype != DType::Bool)
    condition = call.add(Cast{DType::Bool}, {condition}, "chosen");
  const auto [a, b] = operands_of(use);
  return use.add(Where{}, {condition, a, b});
}

Values cast(Use& use) {
  const ValueId x = use.operand("x");
  const auto to = use.element_type("dtype");
  if (!to) use.call.refuse(Fault::Format, "names no element type");
  return use.call.failed() ? Values{} : use.add(Cast{*to}, {x});
}

// The axis of what is dropped as a whole, one draw for each of its cells and each example: 0 where that is the example. Nothing:
// other cells share a draw.
std::optional<Size> dropped_axis(const Json& shape) {
  if (!shape.is_array() || shape.size() < 2 || shape[0] == 1) return std::nullopt;
  std::optional<Size> channel;
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (channel) return std::nullopt;
    channel = static_cast<Size>(axis);
  }
  return channel.value_or(0);
}

// The state of the random generator goes unread.
template <Noise noise>
Values drop(Use& use) {
  Call& call = use.call;
  call.attrs.ignore({"seed"});
  const ValueId x = call.x();
  const double rate = use.number(noise == Noise::GaussianNoise ? "stddev" : "rate");
  Size channel = std::max<Size>(call.rank(x) - 1, 0);
  if (const Json* said = call.attrs.raw("noise_shape")) {
    const Json& shape = *Attrs::tuple_of(said);
    const bool is_alpha = noise == Noise::AlphaDropout,
               shares = shape.is_array() && std::count(shape.begin(), shape.end(), Json(1)) > 0;
    const auto axis = dropped_axis(shape);
    call.skip_weights();
    if (shares && axis)
      return use.add(Dropout{is_alpha ? Noise::FeatureAlphaDropout : Noise::SpatialDropout, rate, *axis}, {x});
    if (shares) call.builder().graph.left_to_training.push_back("noise_shape of '" + call.layer.name + "'");
  }
  if (noise == Noise::SpatialDropout && call.order() == Order::ChannelsFirst) channel = 1;
  call.skip_weights();
  return use.add(Dropout{noise, rate, channel}, {x});
}

// What only training does; its settings are passed over as a whole.
Values augmentation(Use& use) {
  Call& call = use.call;
  const ValueId x = call.x();
  if (call.layer.config && call.layer.config->is_object())
    for (const auto& [key, unused] : call.layer.config->items()) call.attrs.ignore({key});
  call.skip_weights();
  return use.add(Dropout{Noise::Augmentation, 0, std::max<Size>(call.rank(x) - 1, 0)}, {x});
}

// Of keras.applications' ConvNeXt: every channel times a number that is trained.
Values layer_scale(Use& use) {
  Call& call = use.call;
  call.attrs.ignore({"init_values", "projection_dim"});
  const ValueId x = call.x();
  if (call.failed()) return {};
  const ValueId gamma = call.weight("gamma", {call.dim(x, call.rank(x) - 1)});
  return use.add(Binary{BinaryFunction::Multiply}, {x, gamma});
}

// Of keras.applications' InceptionResNetV2: x + scale * residual.
Values scaled_residual(Use& use) {
  Call& call = use.call;
  const double scale = use.number("scale");
  if (call.inputs.size() != 2)
    call.refuse(Fault::Format, "has " + std::to_string(call.inputs.size()) + " inputs, expected 2");
  if (call.failed()) return {};
  const ValueId scaled = call.add(Affine{scale, 0}, {call.inputs[1]}, "scaled");
  return use.add(Binary{BinaryFunction::Add}, {call.inputs[0], scaled});
}

Values identity(Use& use) {
  use.call.attrs.ignore({"l1", "l2"});
  return use.add(Identity{}, {use.kind == Use::Kind::Layer ? use.call.x() : use.operand("x")});
}

Values stop_gradient(Use& use) { return use.add(Identity{true}, {use.operand("variable")}); }

constexpr std::string_view two = "x1 x2";
template <BinaryFunction F>
constexpr CatalogueRow two_numbers(std::string_view names) {
  return {names, two, binary<F>, {}, F};
}

constexpr std::array rows_of_elementwise{
    two_numbers<BinaryFunction::Add>("numpy.Add"),
    two_numbers<BinaryFunction::Subtract>("numpy.Subtract"),
    two_numbers<BinaryFunction::Multiply>("numpy.Multiply"),
    two_numbers<BinaryFunction::Divide>("numpy.Divide numpy.TrueDivide"),
    two_numbers<BinaryFunction::Maximum>("numpy.Maximum"),
    two_numbers<BinaryFunction::Minimum>("numpy.Minimum"),
    two_numbers<BinaryFunction::Equal>("numpy.Equal"),
    two_numbers<BinaryFunction::NotEqual>("numpy.NotEqual"),
    two_numbers<BinaryFunction::Less>("numpy.Less"),
    two_numbers<BinaryFunction::LessOrEqual>("numpy.LessEqual"),
    two_numbers<BinaryFunction::Greater>("numpy.Greater"),
    two_numbers<BinaryFunction::GreaterOrEqual>("numpy.GreaterEqual"),
    two_numbers<BinaryFunction::And>("numpy.LogicalAnd"),
    two_numbers<BinaryFunction::Or>("numpy.LogicalOr"),
    two_numbers<BinaryFunction::Xor>("numpy.LogicalXor"),
    two_numbers<BinaryFunction::BitAnd>("numpy.BitwiseAnd"),
    two_numbers<BinaryFunction::BitOr>("numpy.BitwiseOr"),
    two_numbers<BinaryFunction::BitXor>("numpy.BitwiseXor"),
    CatalogueRow{"numpy.Power code.pow", two, power, {}, BinaryFunction::Power},
    CatalogueRow{"numpy.Mod", two, modulo, {}, BinaryFunction::Modulo},
    CatalogueRow{"numpy.Logaddexp", two, logaddexp},
    CatalogueRow{"numpy.FloorDivide", two, floor_divide, {}, BinaryFunction::FloorDivide},
    CatalogueRow{"numpy.Where", "condition x1 x2", where},
    CatalogueRow{"core.Cast", "x dtype", cast},
    CatalogueRow{"layers.Dropout", "rate|p=0 noise_shape= seed=", drop<Noise::Dropout>},
    CatalogueRow{"layers.SpatialDropout1D", "rate|p=0 seed=", drop<Noise::SpatialDropout>},
    CatalogueRow{"layers.SpatialDropout2D layers.SpatialDropout3D",
                 "rate|p=0 data_format= seed=", drop<Noise::SpatialDropout>},
    CatalogueRow{"layers.AlphaDropout", "rate|p=0 noise_shape= seed=", drop<Noise::AlphaDropout>},
    CatalogueRow{"layers.GaussianDropout", "rate|p=0 seed=", drop<Noise::GaussianDropout>},
    CatalogueRow{"layers.GaussianNoise", "stddev|sigma=0 seed=", drop<Noise::GaussianNoise>},
    CatalogueRow{"saved.LayerScale", "init_values projection_dim", layer_scale},
    CatalogueRow{"saved.CustomScaleLayer", "scale", scaled_residual},
    CatalogueRow{"layers.ActivityRegularization", "l1=0 l2=0", identity},
    CatalogueRow{"layers.Identity", "", identity},
    CatalogueRow{"core.Identity", "x", identity},
    CatalogueRow{"core.StopGradient", "variable", stop_gradient},
    CatalogueRow{"layers.RandomFlip", "mode= seed= data_format=", augmentation},
    CatalogueRow{"layers.RandomRotation",
                 "factor fill_mode= interpolation= seed= fill_value= data_format=", augmentation},
    CatalogueRow{"layers.RandomZoom layers.RandomTranslation",
                 "height_factor width_factor= fill_mode= interpolation= seed= fill_value= data_format=", augmentation},
    CatalogueRow{"layers.RandomContrast layers.RandomBrightness", "factor value_range= seed=", augmentation},
    CatalogueRow{"saved.RandomHeight saved.RandomWidth saved.RandomShear saved.RandomHue saved.RandomSaturation "
                 "saved.RandomColorJitter saved.RandomColorDegeneration saved.RandomGrayscale saved.RandomSharpness "
                 "saved.RandomPosterization saved.RandomInvert saved.RandomErasing saved.RandomGaussianBlur "
                 "saved.RandomPerspective saved.RandomElasticTransform saved.StochasticDepth",
                 "", augmentation},
};

}  // namespace

std::span<const CatalogueRow> elementwise_operators() { return rows_of_elementwise; }

namespace writing {
namespace {

// How many of the last axes a factor that is trained has numbers for; nothing where it is no such factor of the other input.
std::optional<Size> trained_axes(std::size_t factor, Sink& sink) {
  const Tensor* numbers = sink.constant(factor);
  const std::size_t other = 1 - factor;
  if (!numbers || sink.constant(other) || !sink.graph()[sink.node().inputs[factor]].trainable) return std::nullopt;
  Sizes shape = numbers->shape();
  shape.erase(shape.begin(), std::ranges::find_if(shape, [](Size n) { return n != 1; }));
  const auto axes = static_cast<Size>(shape.size());
  if (axes == 0 || axes >= sink.rank(other) || numbers->rank() > sink.rank(other)) return std::nullopt;
  for (Size i = 0; i < axes; ++i)
    if (sink.dim(sink.rank(other) - axes + i, other) != Dim(shape[static_cast<std::size_t>(i)])) return std::nullopt;
  return axes;
}

// The layer of Keras that multiplies by a weight cell by cell.
Status write_trained_factor(std::size_t factor, Size axes, Sink& sink) {
  const std::size_t other = 1 - factor;
  std::string letters;
  Json shape = Json::array();
  for (Size i = 0; i < sink.rank(other); ++i) {
    letters += static_cast<char>('a' + i);
    if (i > 0) shape.push_back(sink.dim(i, other).known() ? Json(*sink.dim(i, other)) : Json());
  }
  const std::string last = letters.substr(letters.size() - static_cast<std::size_t>(axes));
  LayerConfig config = sink.layer("EinsumDense");
  config.args = {std::get<Reference>(sink.argument(other))};
  config.arguments["equation"] = letters + "," + last + "->" + letters;
  config.arguments["output_shape"] = std::move(shape);
  if (auto ok = sink.weigh(config, factor, "kernel"); !ok) return ok;
  Tensor& kernel = config.weights.back().tensor;
  kernel = kernel.reshaped(Sizes(kernel.shape().end() - axes, kernel.shape().end()));
  return sink.last(std::move(config));
}

// keras.ops.add on TensorFlow takes a second operand that is one vector (all other axes 1) for a bias where its length is
// that of the first one's last axis or, else, of axis 1, and adds it there, wherever it stood. Source: Keras 3.15.1,
// backend/tensorflow/numpy.py. Is it ruled out, or does the vector stand there?
bool is_added_in_place(const Shape& first, const Shape& second) {
  if (first.size() < 2) return true;
  std::vector<std::size_t> long_axes;
  for (std::size_t i = 0; i < second.size(); ++i)
    if (second[i].known() && *second[i] > 1) long_axes.push_back(i);
  const bool all_known = std::ranges::all_of(second, [](Dim n) { return n.known(); });
  if (long_axes.size() != 1) return long_axes.size() > 1 || all_known;
  const Dim length = second[long_axes[0]];
  const bool is_last = long_axes[0] + 1 == second.size();
  if (is_last && first.back() == length) return true;
  const bool other_lengths = first.back().known() && first.back() != length && first[1].known() && first[1] != length;
  return other_lengths;
}

enum class Addends : std::uint8_t { AsTheyStand, Swapped, Subtracted };
bool is_single(double x) { return x == static_cast<double>(static_cast<float>(x)); }

// In which order a sum is right whatever the sizes: a second operand as large as the sum is never moved.
Addends order_of_addends(const Sink& sink) {
  const Shape &first = sink.type(0).shape, &second = sink.type(1).shape, &sum = sink.result_type().shape;
  if (is_added_in_place(first, second) || second == sum) return Addends::AsTheyStand;
  return first == sum ? Addends::Swapped : Addends::Subtracted;
}

// x1 - (-x2), or x2 - (-x1) where x2 are numbers: neither operand is taken for a bias.
Status write_sum_by_difference(Sink& sink) {
  const std::size_t kept = sink.constant(1) ? 1 : 0, negated = 1 - kept;
  LayerConfig negative = sink.operation("numpy", "Negative");
  sink.operand(negative, 0, negated, "x");
  const Argument other = sink.step(std::move(negative), "negative", sink.type(negated));
  LayerConfig config = sink.operation("numpy", "Subtract");
  sink.operand(config, 0, kept, "x1");
  config.args.push_back(other);
  return sink.last(std::move(config));
}

// A fraction of Python's makes float32 of numbers of 16 bits where remainders are taken; there, and where numbers are compared, it is
// itself rounded to float32 beside those of float64. An array is of its own type.
std::optional<Tensor> fraction_of_own_type(const Binary& op, std::size_t place, const Sink& sink) {
  const Tensor* known = sink.constant(place);
  const DType result = sink.result_type().dtype;
  const bool takes_remainders = op.function == BinaryFunction::Modulo && is_half(result);
  const bool in_single = op.function == BinaryFunction::Modulo || gives_truth(op.function);
  if (!known || !is_floating(known->dtype()) || known->rank() > 0) return std::nullopt;
  const bool is_cut = known->dtype() == DType::F64 && in_single && !is_single(known->doubles().front());
  if (!takes_remainders && !is_cut) return std::nullopt;
  return sink.result_type().rank() > 0 ? known->reshaped({1}) : *known;
}

// Whole numbers of Python's are of the type that they meet, but of 32 bits beside truths and where remainders are taken;
// those of an array keep their own, and the wider of two types is the result's; bits are asked of arrays alone. Nothing: they
// may stand as they are.
std::optional<Tensor> numbers_of_own_type(const Binary& op, std::size_t place, const Sink& sink) {
  const Tensor* known = sink.constant(place);
  const DType beside = sink.type(1 - place).dtype, result = sink.result_type().dtype;
  if (!known || is_floating(known->dtype()) || is_floating(result) || result == DType::Bool) return std::nullopt;
  const bool wide = result == DType::I32 || result == DType::I64;
  const bool takes_type = (op.function != BinaryFunction::Modulo || wide) && !works_on_bits(op.function);
  if (known->rank() == 0 ? beside == result && takes_type : known->dtype() == result) return std::nullopt;
  Tensor held = whole_tensor(result, known->shape(), known->integers());
  return held.integers() == known->integers() ? std::optional(std::move(held)) : std::nullopt;
}

// A merging layer puts axes behind the batch of an input that has fewer, unlike numpy, so ranks must agree.
Status write_binary(const Binary& op, Sink& sink) {
  const Addends order = op.function == BinaryFunction::Add ? order_of_addends(sink) : Addends::AsTheyStand;
  if (order == Addends::Subtracted) return write_sum_by_difference(sink);
  const std::size_t first = order == Addends::Swapped ? 1 : 0, second = 1 - first;
  const std::string name(written_name(op.function));
  if (name.empty()) return sink.refused("a division that rounds toward zero");
  // A merging layer also wants one batch.
  const bool one_batch = sink.rank(0) == 0 || sink.rank(1) == 0 || !sink.dim(0, 0).known() || !sink.dim(0, 1).known() ||
                         sink.dim(0, 0) == sink.dim(0, 1);
  if (catalogued("layers", name) && one_batch && !sink.constant(0) && !sink.constant(1) &&
      sink.rank(0) == sink.rank(1) && sink.rank(0) > 0) {
    LayerConfig config = sink.layer(name);
    config.args = {
        std::vector<Item>{std::get<Reference>(sink.argument(first)), std::get<Reference>(sink.argument(second))}};
    return sink.last(std::move(config));
  }
  if (op.function == BinaryFunction::Multiply)
    for (const std::size_t factor : {std::size_t{1}, std::size_t{0}})
      if (const auto axes = trained_axes(factor, sink)) return write_trained_factor(factor, *axes, sink);
  LayerConfig config = sink.operation("numpy", name);
  sink.operand(config, 0, first, "x1");
  sink.operand(config, 1, second, "x2");
  for (const std::size_t place : {first, second})
    for (const auto of_own_type : {numbers_of_own_type, fraction_of_own_type})
      if (auto numbers = of_own_type(op, place, sink)) config.args[place == first ? 0 : 1] = *std::move(numbers);
  return sink.last(std::move(config));
}

Status write_where(const Where&, Sink& sink) {
  LayerConfig config = sink.operation("numpy", "Where");
  sink.operand(config, 0, 0, "condition");
  sink.operand(config, 1, 1, "x1");
  sink.operand(config, 2, 2, "x2");
  // Two numbers of Python's are of int32 and float32; those of other types stand in arrays, which say theirs.
  const DType result = sink.result_type().dtype;
  const bool is_usual = result == DType::F32 || result == DType::I32 || result == DType::Bool;
  for (const std::size_t place : {std::size_t{1}, std::size_t{2}}) {
    const bool meets_it = !sink.constant(3 - place) && sink.type(3 - place).dtype == result;
    if (const Tensor* known = sink.constant(place); known && known->dtype() == result && !is_usual && !meets_it)
      config.args[place] = known->rank() == 0 && sink.result_type().rank() > 0 ? known->reshaped({1}) : *known;
  }
  return sink.last(std::move(config));
}

// x * scale + offset as operations, which take numbers of float64 as they are.
Status write_wide_affine(const Affine& op, Sink& sink) {
  LayerConfig product = sink.operation("numpy", "Multiply"), sum = sink.operation("numpy", "Add");
  product.args = {sink.argument(0), Json(op.scale)};
  if (op.offset == 0) return sink.last(std::move(product));
  sum.args = {op.scale == 1 ? sink.argument(0) : sink.step(std::move(product), "scaled", sink.result_type()),
              Json(op.offset)};
  return sink.last(std::move(sum));
}

Status write_affine(const Affine& op, Sink& sink) {
  if (sink.result_type().dtype == DType::F64 && !(is_single(op.scale) && is_single(op.offset)))
    return write_wide_affine(op, sink);
  LayerConfig config = sink.layer("Rescaling");
  config.arguments["scale"] = op.scale;
  config.arguments["offset"] = op.offset;  // Keras does not load the layer without it
  return sink.last(std::move(config));
}

// One draw for every example and channel.
Json noise_shape(Size channel, Size rank) {
  Json shape = Json::array();
  for (Size axis = 0; axis < rank; ++axis) shape.push_back(axis == 0 || axis == channel ? Json() : Json(1));
  return shape;
}

Status write_dropout(const Dropout& op, Sink& sink) {
  const char* name = nullptr;
  switch (op.noise) {
    case Noise::Dropout: name = "Dropout"; break;
    case Noise::AlphaDropout: name = "AlphaDropout"; break;
    case Noise::GaussianDropout: name = "GaussianDropout"; break;
    case Noise::GaussianNoise: name = "GaussianNoise"; break;
    case Noise::FeatureAlphaDropout: name = "AlphaDropout"; break;
    case Noise::SpatialDropout:
      if (op.channel != sink.rank() - 1 || sink.rank() < 3 || sink.rank() > 5) name = "Dropout";
      break;
    case Noise::Augmentation: return sink.refused("an augmentation");
  }
  LayerConfig config = sink.layer(name ? std::string(name) : class_of("SpatialDropout", sink.rank() - 2));
  config.arguments[op.noise == Noise::GaussianNoise ? "stddev" : "rate"] = op.rate;
  const bool has_cells = sink.rank() > 2 || op.channel == 0;  // behind the channels
  if (name && drops_channels(op) && has_cells) config.arguments["noise_shape"] = noise_shape(op.channel, sink.rank());
  return sink.last(std::move(config));
}

Status write_identity(const Identity& op, Sink& sink) {
  return op.stops_gradient ? write_as(sink, "core.StopGradient") : sink.last(sink.layer("Identity"));
}

Status write_cast(const Cast& op, Sink& sink) {
  return write_as(sink, "core.Cast", {{"dtype", std::string(convoy::name_of(op.to))}});
}

constexpr std::array elementwise_table{writes<write_binary>(),  writes<write_where>(),    writes<write_affine>(),
                                       writes<write_dropout>(), writes<write_identity>(), writes<write_cast>()};
static_assert(decides<Elementwise>(elementwise_table));

}  // namespace

std::span<const Row> elementwise_rows() { return elementwise_table; }

}  // namespace writing
}  // namespace convoy::keras
