#include "formats/onnx/write/element_types.h"

#include "base/words.h"
#include "formats/onnx/types.h"

#include <algorithm>
#include <array>
#include <vector>

namespace convoy::onnx {

namespace {

// Operators that take the same. Inputs and results are an element type or a word for several, `...` ends one that may stand
// more than once: "T int64". What the words are: "T: floats wholes@12", `@12` since that operator set, others since the
// oldest that is written or the operator has.
struct TypeRow {
  std::string_view operators, inputs, results, types;
};
constexpr auto type_rows = std::to_array<TypeRow>(
    {TypeRow{"Abs Sign", "T", "T", "T: numbers bfloat16@13"},
     TypeRow{
         "Acos Acosh Asin Asinh Atan Atanh AveragePool Cos Cosh Det Elu GlobalAveragePool GlobalLpPool GlobalMaxPool "
         "HardSigmoid HardSwish LpNormalization LpPool Mish Round Selu Sin Sinh Softplus Softsign Tan ThresholdedRelu",
         "T", "T", "T: floats bfloat16@22"},
     TypeRow{"Add Div Mul Sub", "T T", "T", "T: words floats bfloat16@13 shorts@14"},
     TypeRow{"AffineGrid", "T1 int64", "T1", "T1: floats bfloat16"},
     TypeRow{"And Or Xor", "bool bool", "bool", ""},
     TypeRow{"ArgMax ArgMin", "T", "int64", "T: numbers bfloat16@13"},
     TypeRow{"BatchNormalization", "T T1 T1 T2 T2", "T T2 T2",
             "T: floats bfloat16@14 T1: floats bfloat16@14 T2: floats bfloat16@14"},
     TypeRow{"Bernoulli", "T1", "T2", "T1: floats bfloat16@22 T2: all bfloat16"},
     TypeRow{"BitShift", "T T", "T", "T: uint8 uint16 uint32 uint64"},
     TypeRow{"BitwiseAnd BitwiseOr BitwiseXor", "T T", "T", "T: wholes"},
     TypeRow{"BitwiseNot", "T", "T", "T: wholes"},
     TypeRow{"BlackmanWindow HammingWindow HannWindow", "T1", "T2", "T1: int32 int64 T2: numbers bfloat16"},
     TypeRow{"Cast", "T1", "T2", "T1: all bfloat16@13 T2: all bfloat16@13"},
     TypeRow{"CastLike", "T1 T2", "T2", "T1: all bfloat16 T2: all bfloat16"},
     TypeRow{
         "Ceil Erf Exp Floor Hardmax LRN Log LogSoftmax MeanVarianceNormalization Reciprocal Sigmoid Softmax Sqrt Tanh",
         "T", "T", "T: floats bfloat16@13"},
     TypeRow{"Celu", "float32", "float32", ""},
     TypeRow{"CenterCropPad", "T Tind", "T", "T: all bfloat16 Tind: int32 int64"},
     TypeRow{"Clip", "T T T", "T", "T: floats wholes@12 bfloat16@13"},
     TypeRow{"Col2Im", "T int64 int64", "T", "T: all bfloat16"},
     TypeRow{"Compress", "T bool", "T", "T: all"},
     TypeRow{"Concat", "T...", "T", "T: all bfloat16@13"},
     TypeRow{"ConstantOfShape", "int64", "T2", "T2: all bfloat16@20"},
     TypeRow{"Conv ConvTranspose InstanceNormalization", "T T T", "T", "T: floats bfloat16@22"},
     TypeRow{"ConvInteger MatMulInteger", "T1 T2 T1 T2", "int32", "T1: int8 uint8 T2: int8 uint8"},
     TypeRow{"CumSum", "T T2", "T", "T: words float32 float64 float16@14 bfloat16@14 T2: int32 int64"},
     TypeRow{"DFT", "T1 T2 int64", "T1", "T1: floats bfloat16 T2: int32 int64"},
     TypeRow{"DeformConv", "T T T T T", "T", "T: floats bfloat16@22"},
     TypeRow{"DepthToSpace Flatten SpaceToDepth Transpose", "T", "T", "T: all bfloat16@13"},
     TypeRow{"DequantizeLinear", "T1 T2 T1", "T2",
             "T1: int8 int32 uint8 int16@21 uint16@21 T2: float32 float16@19 bfloat16@19"},
     TypeRow{"Dropout", "T T1 bool", "T bool", "T: floats bfloat16@13 T1: floats bfloat16@22"},
     TypeRow{"DynamicQuantizeLinear", "float32", "uint8 float32 uint8", ""},
     TypeRow{"Einsum", "T...", "T", "T: numbers"},
     TypeRow{"Equal", "T T", "bool", "T: all bfloat16@13"},
     TypeRow{"Expand GatherND Reshape Squeeze Tile Unsqueeze", "T int64", "T", "T: all bfloat16@13"},
     TypeRow{"EyeLike", "T1", "T2", "T1: all bfloat16@22 T2: all bfloat16@22"},
     TypeRow{"GRU RNN", "T T T T int32 T", "T T", "T: floats bfloat16@22"},
     TypeRow{"Gather GatherElements", "T Tind", "T", "T: all bfloat16@13 Tind: int32 int64"},
     TypeRow{"Gelu", "T", "T", "T: floats bfloat16"},
     TypeRow{"Gemm", "T T T", "T", "T: words floats bfloat16@13"},
     TypeRow{"Greater Less", "T T", "bool", "T: numbers bfloat16@13"},
     TypeRow{"GreaterOrEqual LessOrEqual", "T T", "bool", "T: numbers bfloat16@16"},
     TypeRow{"GridSample", "T1 T2", "T1", "T1: all bfloat16@22 T2: floats bfloat16@22"},
     TypeRow{"GroupNormalization", "T T T", "T", "T: floats bfloat16"},
     TypeRow{"Identity", "V", "V", "V: all bfloat16@13"},
     TypeRow{"IsInf", "T1", "bool", "T1: float32 float64 float16@20 bfloat16@20"},
     TypeRow{"IsNaN", "T1", "bool", "T1: floats bfloat16@13"},
     TypeRow{"LSTM", "T T T T int32 T T T", "T T T", "T: floats bfloat16@22"},
     TypeRow{"LayerNormalization", "T T T", "T U U", "T: floats bfloat16 U: bfloat16 float32"},
     TypeRow{"LeakyRelu", "T", "T", "T: floats bfloat16@16"},
     TypeRow{"MatMul", "T T", "T", "T: words floats bfloat16@13"},
     TypeRow{"Max Min", "T...", "T", "T: floats wholes@12 bfloat16@13"},
     TypeRow{"MaxPool", "T", "T int64", "T: floats int8@12 uint8@12 bfloat16@22"},
     TypeRow{"MaxRoiPool", "T T", "T", "T: floats bfloat16@22"},
     TypeRow{"MaxUnpool", "T1 int64 int64", "T1", "T1: floats bfloat16@22"},
     TypeRow{"Mean Sum", "T...", "T", "T: floats bfloat16@13"},
     TypeRow{"MelWeightMatrix", "T1 T1 T1 T2 T2", "T3", "T1: int32 int64 T2: floats bfloat16 T3: numbers bfloat16"},
     TypeRow{"Mod", "T T", "T", "T: numbers bfloat16@13"},
     TypeRow{"Multinomial", "T1", "T2", "T1: floats bfloat16@22 T2: int32 int64"},
     TypeRow{"Neg", "T", "T", "T: floats int8 int16 int32 int64 bfloat16@13"},
     TypeRow{"NegativeLogLikelihoodLoss", "T Tind T", "T", "T: floats bfloat16@22 Tind: int32 int64"},
     TypeRow{"NonMaxSuppression", "float32 float32 int64 float32 float32", "int64", ""},
     TypeRow{"NonZero Shape Size", "T", "int64", "T: all bfloat16@13"},
     TypeRow{"Not", "bool", "bool", ""},
     TypeRow{"OneHot", "T1 T2 T3", "T3", "T1: numbers T2: numbers T3: all"},
     TypeRow{"PRelu", "T T", "T", "T: words floats bfloat16@16"},
     TypeRow{"Pad", "T int64 T Tind", "T", "T: numbers bfloat16@13 bool@13 Tind: int32 int64"},
     TypeRow{"Pow", "T T1", "T", "T: floats int32@12 int64@12 bfloat16@13 T1: floats wholes@12 bfloat16@15"},
     TypeRow{"QLinearConv", "T1 float32 T1 T2 float32 T2 float32 T3 int32", "T3",
             "T1: int8 uint8 T2: int8 uint8 T3: int8 uint8"},
     TypeRow{"QLinearMatMul", "T1 TS T1 T2 TS T2 TS T3", "T3",
             "T1: int8 uint8 TS: float32 float16@21 bfloat16@21 T2: int8 uint8 T3: int8 uint8"},
     TypeRow{"QuantizeLinear", "T1 T3 T2", "T2",
             "T1: float32 int32 float16@19 bfloat16@19 T2: int8 uint8 int16@21 uint16@21 T3: float32 int32@19 "
             "float16@19 bfloat16@19"},
     TypeRow{"RandomNormal RandomUniform", "", "T", "T: floats bfloat16@22"},
     TypeRow{"RandomNormalLike RandomUniformLike", "T1", "T2", "T1: all bfloat16@22 T2: floats bfloat16@22"},
     TypeRow{"Range", "T T T", "T", "T: float32 float64 int16 int32 int64"},
     TypeRow{"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd ReduceSum ReduceSumSquare",
             "T int64", "T", "T: words floats bfloat16@13"},
     TypeRow{"ReduceMax ReduceMin", "T int64", "T", "T: words floats int8@12 uint8@12 bfloat16@13 bool@20"},
     TypeRow{"Relu", "T", "T", "T: floats bfloat16@13 int8@14 int16@14 int32@14 int64@14"},
     TypeRow{"Resize", "T1 T2 float32 int64", "T1", "T1: all bfloat16@13 T2: floats"},
     TypeRow{"ReverseSequence", "T int64", "T", "T: all"},
     TypeRow{"RoiAlign", "T1 T1 int64", "T1", "T1: floats bfloat16@22"},
     TypeRow{"STFT", "T1 T2 T1 T2", "T1", "T1: floats bfloat16 T2: int32 int64"},
     TypeRow{"ScatterElements", "T Tind T", "T", "T: all bfloat16@13 Tind: int32 int64"},
     TypeRow{"ScatterND", "T int64 T", "T", "T: all bfloat16@13"},
     TypeRow{"Shrink", "T", "T", "T: numbers"},
     TypeRow{"Slice", "T Tind Tind Tind Tind", "T", "T: all bfloat16@13 Tind: int32 int64"},
     TypeRow{"SoftmaxCrossEntropyLoss", "T Tind T", "T T", "T: floats bfloat16@13 Tind: int32 int64"},
     TypeRow{"Split", "T int64", "T...", "T: all bfloat16@13"},
     TypeRow{"TopK", "T int64", "T int64", "T: numbers"},
     TypeRow{"Trilu", "T int64", "T", "T: all bfloat16"},
     TypeRow{"Unique", "T", "T int64 int64 int64", "T: all"},
     TypeRow{"Where", "bool T T", "T", "T: all bfloat16@16"}});

struct TypeGroup {
  std::string_view word;
  std::vector<DType> types;
};
const std::vector<TypeGroup>& type_groups() {
  using enum DType;
  static const std::vector<TypeGroup> groups{{"all", {F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool}},
                                             {"numbers", {F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64}},
                                             {"floats", {F16, F32, F64}},
                                             {"wholes", {I8, I16, I32, I64, U8, U16, U32, U64}},
                                             {"words", {I32, I64, U32, U64}},
                                             {"shorts", {I8, I16, U8, U16}}};
  return groups;
}

// The operator set since which each element type is taken.
using Taken = std::map<DType, Size>;

void take(std::string_view word, Taken& taken) {
  const auto at = word.find('@');
  const std::string_view named = word.substr(0, at);
  const Size since = at == std::string_view::npos ? 1 : std::stoll(std::string(word.substr(at + 1)));
  for (const TypeGroup& group : type_groups())
    if (group.word == named)
      for (const DType type : group.types) taken.emplace(type, since);
  for (int type = 0; type <= static_cast<int>(DType::Bool); ++type)
    if (name_of(static_cast<DType>(type)) == named) taken.emplace(static_cast<DType>(type), since);
}

// What an input or a result may be, and the row's word for it: equal words are of one type.
struct TypedPlace {
  std::string_view word;
  bool several = false;
  Taken taken{};
};
struct TypesOfOperator {
  std::vector<TypedPlace> inputs, results;
};

std::vector<TypedPlace> typed_places(std::string_view text, const std::map<std::string_view, Taken>& words) {
  std::vector<TypedPlace> all;
  for (const std::string_view word : words_in(text)) {
    const bool several = word.ends_with("...");
    TypedPlace place{several ? word.substr(0, word.size() - 3) : word, several};
    if (const auto found = words.find(place.word); found != words.end()) place.taken = found->second;
    else take(place.word, place.taken);
    all.push_back(std::move(place));
  }
  return all;
}

TypesOfOperator types_in(const TypeRow& row) {
  std::map<std::string_view, Taken> words;
  std::string_view named;
  for (const std::string_view word : words_in(row.types)) {
    if (word.ends_with(':')) named = word.substr(0, word.size() - 1);
    else take(word, words[named]);
  }
  return {typed_places(row.inputs, words), typed_places(row.results, words)};
}

const TypesOfOperator* types_of(std::string_view op) {
  static const auto all = [] {
    std::map<std::string_view, TypesOfOperator> made;
    for (const TypeRow& row : type_rows)
      for (const std::string_view name : words_in(row.operators)) made.emplace(name, types_in(row));
    return made;
  }();
  const auto found = all.find(op);
  return found == all.end() ? nullptr : &found->second;
}

const TypedPlace* place_at(const std::vector<TypedPlace>& places, std::size_t i) {
  if (i < places.size()) return &places[i];
  return !places.empty() && places.back().several ? &places.back() : nullptr;
}

std::optional<DType> asked_type(const DocumentNode& node) {
  for (const DocumentAttribute& attribute : node.attributes)
    if (attribute.name == "to" || attribute.name == "dtype")
      if (const Size* code = std::get_if<Size>(&attribute.value)) return dtype_of(*code);
  return std::nullopt;
}

constexpr auto without_doubles = std::to_array<std::string_view>({"Acos",
                                                                  "Acosh",
                                                                  "Asin",
                                                                  "Asinh",
                                                                  "Atan",
                                                                  "Atanh",
                                                                  "AveragePool",
                                                                  "Conv",
                                                                  "ConvTranspose",
                                                                  "Celu",
                                                                  "Cosh",
                                                                  "Det",
                                                                  "Elu",
                                                                  "Erf",
                                                                  "GlobalAveragePool",
                                                                  "GlobalLpPool",
                                                                  "GlobalMaxPool",
                                                                  "GridSample",
                                                                  "HardSigmoid",
                                                                  "HardSwish",
                                                                  "Hardmax",
                                                                  "InstanceNormalization",
                                                                  "LRN",
                                                                  "LeakyRelu",
                                                                  "LpPool",
                                                                  "MaxRoiPool",
                                                                  "MaxUnpool",
                                                                  "Mean",
                                                                  "MeanVarianceNormalization",
                                                                  "OneHot",
                                                                  "PRelu",
                                                                  "RNN",
                                                                  "Resize",
                                                                  "Selu",
                                                                  "Sinh",
                                                                  "Softplus",
                                                                  "Softsign",
                                                                  "Tan",
                                                                  "ThresholdedRelu"});

}  // namespace

bool has_kernel_of_doubles(std::string_view op) {
  return std::ranges::find(without_doubles, op) == without_doubles.end();
}

ElementTypes::ElementTypes(const Document& document) : opset_(document.opset) {
  for (const DocumentValue& input : document.inputs) types_.emplace(input.name, input.type.dtype);
  for (const DocumentTensor& tensor : document.initializers) types_.emplace(tensor.name, tensor.tensor.dtype());
}

std::optional<DType> ElementTypes::of(std::string_view value) const {
  const auto found = types_.find(value);
  return found == types_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ElementTypes::Untaken> ElementTypes::enter(const DocumentNode& node) {
  const TypesOfOperator* row = types_of(node.op);
  if (!row) return Untaken{};
  const auto untaken = [&](const TypedPlace* place, DType type) -> std::optional<Untaken> {
    const auto since = place ? place->taken.find(type) : Taken::const_iterator();
    const bool known = place && since != place->taken.end();
    if (known && since->second <= opset_) return std::nullopt;
    return Untaken{type, known ? since->second : 0};
  };
  std::map<std::string_view, DType> words;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto type = of(node.inputs[i]);
    const TypedPlace* place = place_at(row->inputs, i);
    if (!type) continue;
    if (const auto found = untaken(place, *type)) return found;
    const DType first = words.emplace(place->word, *type).first->second;
    if (first != *type) return Untaken{first, 0, *type};
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const TypedPlace* place = place_at(row->results, i);
    if (!place || node.outputs[i].empty()) continue;
    std::optional<DType> type = asked_type(node);
    if (const auto same = words.find(place->word); same != words.end()) type = same->second;
    if (place->taken.size() == 1) type = place->taken.begin()->first;
    if (!type) continue;
    if (const auto found = untaken(place, *type)) return found;
    types_.insert_or_assign(node.outputs[i], *type);
  }
  return std::nullopt;
}

}  // namespace convoy::onnx
