// Lays out ModelProto. Field numbers are those of onnx.proto.
#include "formats/onnx/write/document.h"

#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_writer.hpp>

#include <array>
#include <limits>

namespace convoy::onnx {
namespace {

using protozero::pbf_writer;

constexpr Size external_from = 1024, external_alignment = 4096;
constexpr Size largest_message = std::numeric_limits<std::int32_t>::max();

// AttributeProto: name 1, f 2, i 3, s 4, floats 7, ints 8, strings 9, type 20.
std::string attribute(const DocumentAttribute& a) {
  std::string text;
  pbf_writer message(text);
  message.add_string(1, a.name.data(), a.name.size());
  if (const auto* i = std::get_if<Size>(&a.value)) {
    message.add_int64(3, *i);
    message.add_enum(20, 2);
  } else if (const auto* f = std::get_if<double>(&a.value)) {
    message.add_float(2, static_cast<float>(*f));
    message.add_enum(20, 1);
  } else if (const auto* s = std::get_if<std::string>(&a.value)) {
    message.add_bytes(4, *s);
    message.add_enum(20, 3);
  } else if (const auto* ints = std::get_if<Sizes>(&a.value)) {
    for (const Size one : *ints) message.add_int64(8, one);
    message.add_enum(20, 7);
  } else if (const auto* floats = std::get_if<std::vector<double>>(&a.value)) {
    for (const double one : *floats) message.add_float(7, static_cast<float>(one));
    message.add_enum(20, 6);
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&a.value)) {
    for (const std::string& one : *texts) message.add_bytes(9, one);
    message.add_enum(20, 8);
  }
  return text;
}

// NodeProto: input 1, output 2, name 3, op_type 4, attribute 5.
std::string node(const DocumentNode& n) {
  std::string text;
  pbf_writer message(text);
  for (const auto& input : n.inputs) message.add_string(1, input);
  for (const auto& output : n.outputs) message.add_string(2, output);
  message.add_string(3, n.name);
  message.add_string(4, n.op);
  for (const auto& a : n.attributes) message.add_message(5, attribute(a));
  return text;
}

// ValueInfoProto: name 1, type 2 {tensor_type 1 {elem_type 1, shape 2 {dim 1 {dim_value 1, dim_param 2}}}},
// doc_string 3.
std::string value_info(const DocumentValue& v) {
  std::string shape;
  pbf_writer dims(shape);
  for (std::size_t i = 0; i < v.type.shape.size(); ++i) {
    std::string dim;
    pbf_writer one(dim);
    if (v.type.shape[i].known()) one.add_int64(1, *v.type.shape[i]);
    else if (!v.unknown[i].empty()) one.add_string(2, v.unknown[i]);
    dims.add_message(1, dim);
  }
  std::string tensor_type, type, text;
  pbf_writer tensor(tensor_type);
  tensor.add_int32(1, static_cast<std::int32_t>(data_type_of(v.type.dtype)));
  tensor.add_message(2, shape);
  pbf_writer(type).add_message(1, tensor_type);
  pbf_writer message(text);
  message.add_string(1, v.name);
  message.add_message(2, type);
  if (!v.says.empty()) message.add_string(3, v.says);
  return text;
}

std::string entry(std::string_view key, const std::string& value) {
  std::string text;
  pbf_writer message(text);
  message.add_string(1, key.data(), key.size());
  message.add_string(2, value);
  return text;
}

// A message that ends with the bytes of a tensor, or all of it as text.
struct Part {
  std::string text;
  const Tensor* numbers = nullptr;
  Size bytes() const { return static_cast<Size>(text.size()) + (numbers ? bytes_in(*numbers) : 0); }
  static Size bytes_in(const Tensor& t) { return t.count() * bytes_of(t.dtype()); }
};

// The key and length in front of a message of this length.
std::string heading(std::uint32_t field, Size length) {
  std::string text;
  protozero::add_varint_to_buffer(&text, (field << 3U) | 2U);
  protozero::add_varint_to_buffer(&text, static_cast<std::uint64_t>(length));
  return text;
}

// TensorProto: dims 1, data_type 2, name 8, raw_data 9, external_data 13, data_location 14. `place`: where its bytes
// lie in the file of external data.
Part tensor(const DocumentTensor& t, const std::string* location, Size place) {
  Part part;
  pbf_writer message(part.text);
  for (const Size n : t.tensor.shape()) message.add_int64(1, n);
  message.add_int32(2, static_cast<std::int32_t>(data_type_of(t.tensor.dtype())));
  message.add_string(8, t.name);
  const Size bytes = Part::bytes_in(t.tensor);
  if (location) {
    message.add_message(13, entry("location", *location));
    message.add_message(13, entry("offset", std::to_string(place)));
    message.add_message(13, entry("length", std::to_string(bytes)));
    message.add_enum(14, 1);
  } else {
    part.text += heading(9, bytes);
    part.numbers = &t.tensor;
  }
  return part;
}

Status append_numbers(const Tensor& t, const std::function<Status(Bytes)>& append) {
  const auto done = append(t.bytes());
  t.let_go();
  return done;
}

Status append_padding(Size count, const std::function<Status(Bytes)>& append) {
  static constexpr std::array<std::byte, external_alignment> zeros{};
  return append(Bytes(zeros).first(static_cast<std::size_t>(count)));
}

// The initializers in order; where there is a file of external data, its bytes are written on the way.
Result<std::vector<Part>> initializers_of(const Document& document, const ExternalData* external) {
  std::vector<Part> parts;
  Size place = 0;
  for (const auto& t : document.initializers) {
    const Size bytes = Part::bytes_in(t.tensor);
    if (!external || bytes < external_from) {
      parts.push_back(tensor(t, nullptr, 0));
      continue;
    }
    const Size gap = (external_alignment - place % external_alignment) % external_alignment;
    if (auto s = append_padding(gap, external->append); !s) return pass(s);
    place += gap;
    parts.push_back(tensor(t, &external->location, place));
    if (auto s = append_numbers(t.tensor, external->append); !s) return pass(s);
    place += bytes;
  }
  return parts;
}

}  // namespace

Size ir_version_of(Size opset) {
  struct Step {
    Size opset, ir;
  };
  constexpr std::array steps{Step{26, 13}, Step{25, 13}, Step{24, 12}, Step{23, 11}, Step{21, 10},
                             Step{19, 9},  Step{15, 8},  Step{12, 7},  Step{11, 6}};
  for (const Step& step : steps)
    if (opset >= step.opset) return step.ir;
  return 5;
}

Size data_type_of(DType dtype) {
  switch (dtype) {
    case DType::F32: return 1;
    case DType::U8: return 2;
    case DType::I8: return 3;
    case DType::U16: return 4;
    case DType::I16: return 5;
    case DType::I32: return 6;
    case DType::I64: return 7;
    case DType::Bool: return 9;
    case DType::F16: return 10;
    case DType::F64: return 11;
    case DType::U32: return 12;
    case DType::U64: return 13;
    case DType::BF16: return 16;
  }
  std::unreachable();
}

Status write_document(const Document& document, const std::function<Status(Bytes)>& append,
                      const ExternalData* external) {
  auto initializers = initializers_of(document, external);
  if (!initializers) return pass(initializers);

  // GraphProto: node 1, name 2, initializer 5, input 11, output 12, value_info 13.
  std::vector<Part> graph(1);
  pbf_writer begin(graph.front().text);
  for (const auto& n : document.nodes) begin.add_message(1, node(n));
  begin.add_string(2, document.graph_name);
  for (Part& part : *initializers) {
    graph.push_back({heading(5, part.bytes()), nullptr});
    graph.push_back(std::move(part));
  }
  graph.emplace_back();
  pbf_writer end(graph.back().text);
  for (const auto& v : document.inputs) end.add_message(11, value_info(v));
  for (const auto& v : document.outputs) end.add_message(12, value_info(v));
  for (const auto& v : document.values) end.add_message(13, value_info(v));

  Size length = 0;
  for (const Part& part : graph) length += part.bytes();
  if (length > largest_message - 4096)
    return fail(Fault::Limit, "the model would be a file of " + std::to_string(length) +
                                  " bytes, and ONNX allows 2147483647 in one; write the weights beside it with "
                                  "--external-data");

  // ModelProto: ir_version 1, producer_name 2, producer_version 3, graph 7, opset_import 8 {domain 1, version 2}.
  std::string head, tail, opset;
  pbf_writer model(head);
  model.add_int64(1, ir_version_of(document.opset));
  model.add_string(2, document.producer);
  model.add_string(3, document.producer_version);
  head += heading(7, length);
  pbf_writer set(opset);
  set.add_string(1, "");
  set.add_int64(2, document.opset);
  pbf_writer(tail).add_message(8, opset);

  if (auto s = append(bytes_of(head)); !s) return s;
  for (const Part& part : graph) {
    if (auto s = append(bytes_of(part.text)); !s) return s;
    if (part.numbers)
      if (auto s = append_numbers(*part.numbers, append); !s) return s;
  }
  return append(bytes_of(tail));
}

}  // namespace convoy::onnx
