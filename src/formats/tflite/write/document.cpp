#include "formats/tflite/write/document.h"

#include "base/words.h"
#include "containers/flatbuffer_writer.h"
#include "formats/tflite/catalogue/catalogue.h"
#include "formats/tflite/types.h"

#include <algorithm>
#include <bit>

namespace convoy::tflite {
namespace {

std::uint32_t bits_of(const OptionValue& value, char kind) {
  if (kind == 'f') {
    const double number =
        std::holds_alternative<double>(value) ? std::get<double>(value) : static_cast<double>(std::get<Size>(value));
    return std::bit_cast<std::uint32_t>(static_cast<float>(number));
  }
  return static_cast<std::uint32_t>(std::get<Size>(value));
}

class Layout {
 public:
  explicit Layout(const Document& document) : document_(document), out_("TFL3") {}

  // Positions of the references to each constant's bytes, in order.
  const std::string& bytes() const { return out_.bytes(); }
  std::vector<std::size_t> places;

  void lay_out() {
    const auto model = out_.table({{0, 4, 3}, {1}, {2}, {3}, {4}, {7}});
    out_.root(model.at);
    codes(model.fields[1]);
    const std::size_t graphs = out_.references(1);
    out_.point(model.fields[2], graphs);
    subgraph(graphs + 4);
    out_.point(model.fields[3], out_.text(document_.description));
    signature(model.fields[5]);
    buffers(model.fields[4]);
  }
  void point(std::size_t from, std::size_t to) { out_.point(from, to); }

 private:
  void codes(std::size_t from) {
    for (const DocumentOperator& op : document_.operators) {
      const std::pair code(op.name, op.version);
      if (std::ranges::find(codes_, code) == codes_.end()) codes_.push_back(code);
    }
    const std::size_t list = out_.references(codes_.size());
    out_.point(from, list);
    for (std::size_t i = 0; i < codes_.size(); ++i) {
      const auto number = static_cast<std::uint32_t>(operator_named(codes_[i].first)->code);
      const auto version = static_cast<std::uint32_t>(codes_[i].second);
      // Older readers know the first field alone.
      const auto table = out_.table({{0, 1, std::min(number, 127U)}, {2, 4, version}, {3, 4, number}});
      out_.point(list + 4 + 4 * i, table.at);
    }
  }

  void subgraph(std::size_t from) {
    const auto graph = out_.table({{0}, {1}, {2}, {3}, {4}});
    out_.point(from, graph.at);
    const std::size_t tensors = out_.references(document_.tensors.size());
    out_.point(graph.fields[0], tensors);
    std::uint32_t buffer = 1;
    for (std::size_t i = 0; i < document_.tensors.size(); ++i) {
      const DocumentTensor& tensor = document_.tensors[i];
      this->tensor(tensors + 4 + 4 * i, tensor, tensor.constant ? buffer++ : 0);
    }
    out_.point(graph.fields[1], out_.numbers(document_.inputs));
    out_.point(graph.fields[2], out_.numbers(document_.outputs));
    const std::size_t operators = out_.references(document_.operators.size());
    out_.point(graph.fields[3], operators);
    for (std::size_t i = 0; i < document_.operators.size(); ++i)
      this->operation(operators + 4 + 4 * i, document_.operators[i]);
    out_.point(graph.fields[4], out_.text(document_.name));
  }

  void tensor(std::size_t from, const DocumentTensor& tensor, std::uint32_t buffer) {
    std::vector<std::int32_t> shape, signature;
    for (const Dim n : tensor.type.shape) {
      shape.push_back(n.known() ? static_cast<std::int32_t>(*n) : 1);
      signature.push_back(n.known() ? static_cast<std::int32_t>(*n) : -1);
    }
    const auto type = static_cast<std::uint32_t>(type_code_of(tensor.type.dtype));
    std::vector<FlatField> fields{{0}, {1, 1, type}, {2, 4, buffer}, {3}};
    const bool is_free = shape != signature;
    if (tensor.quantization) fields.push_back({4});
    if (is_free) fields.push_back({7});
    const auto table = out_.table(fields);
    out_.point(from, table.at);
    out_.point(table.fields[0], out_.numbers(shape));
    out_.point(table.fields[3], out_.text(tensor.name));
    if (tensor.quantization) quantization(table.fields[4], *tensor.quantization);
    if (is_free) out_.point(table.fields.back(), out_.numbers(signature));
  }

  void quantization(std::size_t from, const Quantization& as) {
    std::vector<std::int32_t> scales;
    for (const float scale : as.scales) scales.push_back(std::bit_cast<std::int32_t>(scale));
    const auto table = out_.table({{2}, {3}, {6, 4, static_cast<std::uint32_t>(as.axis)}});
    out_.point(from, table.at);
    out_.point(table.fields[0], out_.numbers(scales));
    out_.point(table.fields[1], out_.long_numbers(as.zero_points));
  }

  void operation(std::size_t from, const DocumentOperator& op) {
    const Operator& row = *operator_named(op.name);
    const auto code =
        static_cast<std::uint32_t>(std::ranges::find(codes_, std::pair(op.name, op.version)) - codes_.begin());
    std::vector<FlatField> fields{{0, 4, code}, {1}, {2}};
    if (row.options_kind != 0) {
      fields.push_back({3, 1, static_cast<std::uint32_t>(row.options_kind)});
      fields.push_back({4});
    }
    const auto table = out_.table(fields);
    out_.point(from, table.at);
    out_.point(table.fields[1], out_.numbers(op.inputs));
    out_.point(table.fields[2], out_.numbers(op.outputs));
    if (row.options_kind != 0) options(table.fields[4], row, op.options);
  }

  void options(std::size_t from, const Operator& row, const Options& said) {
    std::vector<FlatField> fields;
    std::vector<std::pair<std::size_t, const Sizes*>> lists;
    int field = 0;
    for (const std::string_view word : words_in(row.options)) {
      const int number = field++;
      const auto colon = word.find(':');
      const auto found = std::ranges::find(said, word.substr(0, colon), &Option::name);
      if (colon == std::string_view::npos || found == said.end()) continue;
      const char kind = word[colon + 1];
      if (kind == 'I') {
        lists.emplace_back(fields.size(), std::get_if<Sizes>(&found->value));
        fields.push_back({number});
      } else {
        fields.push_back({number, kind == 'b' ? 1 : 4, bits_of(found->value, kind)});
      }
    }
    const auto table = out_.table(fields);
    out_.point(from, table.at);
    for (const auto& [place, list] : lists) out_.point(table.fields[place], out_.numbers({list->begin(), list->end()}));
  }

  std::size_t names(const std::vector<std::string>& names, const std::vector<std::int32_t>& tensors) {
    const std::size_t list = out_.references(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto map = out_.table({{0}, {1, 4, static_cast<std::uint32_t>(tensors[i])}});
      out_.point(list + 4 + 4 * i, map.at);
      out_.point(map.fields[0], out_.text(names[i]));
    }
    return list;
  }

  void signature(std::size_t from) {
    const std::size_t list = out_.references(1);
    out_.point(from, list);
    const auto table = out_.table({{0}, {1}, {2}});
    out_.point(list + 4, table.at);
    out_.point(table.fields[0], names(document_.input_names, document_.inputs));
    out_.point(table.fields[1], names(document_.output_names, document_.outputs));
    out_.point(table.fields[2], out_.text("serving_default"));
  }

  // The first one is empty, which stands for no numbers.
  void buffers(std::size_t from) {
    const auto constants = static_cast<std::size_t>(
        std::ranges::count_if(document_.tensors, [](const DocumentTensor& t) { return t.constant.has_value(); }));
    const std::size_t list = out_.references(constants + 1);
    out_.point(from, list);
    out_.point(list + 4, out_.table({}).at);
    for (std::size_t i = 0; i < constants; ++i) {
      const auto table = out_.table({{0}});
      out_.point(list + 8 + 4 * i, table.at);
      places.push_back(table.fields[0]);
    }
  }

  const Document& document_;
  FlatWriter out_;
  std::vector<std::pair<std::string_view, int>> codes_;
};

}  // namespace

Status write_document(const Document& document, const std::function<Status(std::span<const std::byte>)>& append) {
  Layout layout(document);
  layout.lay_out();
  std::vector<const Tensor*> constants;
  for (const DocumentTensor& tensor : document.tensors)
    if (tensor.constant) constants.push_back(&*tensor.constant);
  constexpr std::size_t alignment = 16;
  std::vector<std::size_t> begins;
  std::size_t end = layout.bytes().size();
  for (std::size_t i = 0; i < constants.size(); ++i) {
    begins.push_back((end + 4 + alignment - 1) / alignment * alignment);
    end = begins[i] + static_cast<std::size_t>(constants[i]->count() * bytes_of(constants[i]->dtype()));
    if (end + 2 * alignment >= std::size_t{1} << 31)
      return fail(Fault::Limit, "the model takes 2 GiB or more, which one TFLite file does not hold");
    layout.point(layout.places[i], begins[i] - 4);
  }
  if (auto s = append(bytes_of(layout.bytes())); !s) return s;
  std::size_t at = layout.bytes().size();
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const Bytes numbers = constants[i]->bytes();
    std::string front(begins[i] - at, '\0');
    for (std::size_t k = 0; k < 4; ++k)
      front[front.size() - 4 + k] = static_cast<char>(numbers.size() >> (8 * k) & 0xFF);
    if (auto s = append(bytes_of(front)); !s) return s;
    if (auto s = append(numbers); !s) return s;
    at = begins[i] + numbers.size();
    constants[i]->let_go();
  }
  // Some kernels read a few bytes past the last number.
  return append(bytes_of(std::string(alignment + (alignment - at % alignment) % alignment, '\0')));
}

Tensor int32_of(const Sizes& values, Sizes shape) {
  std::vector<std::byte> bytes;
  for (const Size value : values)
    for (int k = 0; k < 4; ++k) bytes.push_back(static_cast<std::byte>(value >> (8 * k) & 0xFF));
  return *Tensor::owning(DType::I32, std::move(shape), std::move(bytes));
}

}  // namespace convoy::tflite
