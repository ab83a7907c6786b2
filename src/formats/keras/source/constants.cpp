// Arrays of known numbers among tensors of Keras: masks, positions, tables that a program computes.
#include "formats/keras/source/library.h"
#include "formats/keras/source_values.h"

#include <algorithm>

namespace convoy::keras {

namespace {

constexpr std::size_t most_numbers = std::size_t{1} << 20;

Status numbers_in(const Json& list, Json& into, Json& shape, std::size_t depth) {
  if (!list.is_array()) {
    into.push_back(list);
    return {};
  }
  if (depth > 8 || into.size() > most_numbers) return fail(Fault::Limit, "an array of more than a million numbers");
  if (shape.size() <= depth) shape.push_back(list.size());
  for (const Json& one : list)
    if (auto done = numbers_in(one, into, shape, depth + 1); !done) return done;
  return {};
}

}  // namespace

bool is_known_array(Interpreter& in, const Value& value) {
  if (!value.is_object() || value.as<SourceTensor>() || value.as<Instance>() || value.as<python::Module>())
    return false;
  for (const char* word : {"shape", "tolist"})
    if (const auto found = in.find_attribute(value, word); !found || !*found) return false;
  return true;
}

Result<SourceTensor*> SourceLibrary::constant(Interpreter& in, const Value& array) {
  auto method = in.attribute(array, "tolist");
  if (!method) return pass(method);
  auto lists = in.call(*method, ValueList{});
  if (!lists) return pass(lists);
  auto json = json_of(in, *lists);
  if (!json) return pass(json);
  return constant(in, *json, {});
}

Result<SourceTensor*> SourceLibrary::constant(Interpreter& in, const Json& lists, std::optional<DType> dtype) {
  Json numbers = Json::array(), shape = Json::array();
  if (auto done = numbers_in(lists, numbers, shape, 0); !done) return pass(done);
  const auto all = [&](auto is) { return std::ranges::all_of(numbers, is); };
  const bool truths = !numbers.empty() && all([](const Json& n) { return n.is_boolean(); });
  const bool whole = !truths && !numbers.empty() && all([](const Json& n) { return n.is_number_integer(); });
  auto* layer = in.make<SourceLayer>();
  layer->class_name = source_constant;
  layer->name = "constant_" + std::to_string(constants_++);
  TensorType type;
  type.dtype = dtype.value_or(truths ? DType::Bool : whole ? DType::I64 : DType::F32);
  for (const Json& n : shape) type.shape.push_back(Dim(n.get<Size>()));
  layer->config = {{"shape", shape}, {"dtype", std::string(convoy::name_of(type.dtype))}, {"numbers", numbers}};
  layer->calls.emplace_back().order = ++calls_;
  return in.make<SourceTensor>(*this, layer, 0, 0, std::move(type));
}

}  // namespace convoy::keras
