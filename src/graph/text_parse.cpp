// Reads the text form of a graph. Every number in it may be hostile: sizes are checked before anything is allocated.
#include "base/half.h"
#include "graph/text.h"
#include "graph/text_fields.h"

#include <set>

namespace convoy {

namespace {

constexpr Size most_numbers = Size{1} << 26;  // of one constant by seed

// One line, read from left to right. The first thing not understood is kept with its column.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {}

  bool ok() const { return complaint_.empty(); }
  const std::string& complaint() const { return complaint_; }
  std::size_t column() const { return at_complaint_ + 1; }
  bool complain(std::string what) {
    if (ok()) complaint_ = std::move(what), at_complaint_ = start_;
    return false;
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    const bool apart = at_ == 0 || text_[at_ - 1] == ' ' || text_[at_ - 1] == '\t';
    if (apart && at_ < text_.size() && text_[at_] == '#') at_ = text_.size();  // a comment
    start_ = at_;
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  bool next_is(std::string_view mark) {
    skip_blanks();
    return text_.substr(at_).starts_with(mark);
  }
  // Takes the mark if it comes next.
  bool take(std::string_view mark) {
    if (!ok() || !next_is(mark)) return false;
    at_ += mark.size();
    return true;
  }
  void expect(std::string_view mark) {
    if (!take(mark)) complain("'" + std::string(mark) + "' expected");
  }
  // Takes the word if it comes next and stands alone: not quoted, not the beginning of a longer one.
  bool take_word(std::string_view word) {
    if (!ok() || !next_is(word)) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && text::is_name_letter(text_[end])) return false;
    at_ = end;
    return true;
  }
  std::string name() {
    if (!ok()) return {};
    if (next_is("\"")) return quoted();
    const std::size_t from = at_;
    while (at_ < text_.size() && text::is_name_letter(text_[at_])) ++at_;
    if (at_ == from) complain("a name is expected");
    return std::string(text_.substr(from, at_ - from));
  }
  // Up to the next blank, or to one of `stops`.
  std::string_view token(std::string_view stops = {}) {
    if (!ok()) return {};
    skip_blanks();
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r' &&
           stops.find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
    return text_.substr(from, at_ - from);
  }
  std::string quoted();

 private:
  std::string_view text_;
  std::size_t at_ = 0, start_ = 0, at_complaint_ = 0;
  std::string complaint_;
};

std::string Line::quoted() {
  std::string result;
  expect("\"");
  while (ok()) {
    if (at_ == text_.size()) return complain("the closing quote is missing"), result;
    char c = text_[at_++];
    if (c == '"') return result;
    if (c == '\\') {
      c = at_ < text_.size() ? text_[at_++] : ' ';
      if (c == 'n') c = '\n';
      else if (c == 'u') {
        int code = -1;
        const std::string_view digits = text_.substr(at_, 4);
        const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (digits.size() != 4 || end.ptr != digits.data() + 4 || code < 0 || code > 0x7F) {
          complain("an escape in quotes that is not \\u0000 to \\u007f");
        }
        at_ += 4;
        c = static_cast<char>(code);
      } else if (c != '"' && c != '\\') complain("an escape in quotes that is not \\\", \\\\, \\n or \\u");
    }
    result += c;
  }
  return result;
}

// "float32[?,8]"
Fact read_fact(Line& line) {
  Fact fact;
  const auto type = line.token("[");
  if (line.ok() && !text::parse(type, fact.dtype)) {
    line.complain("'" + std::string(type) + "' is not an element type");
  }
  line.expect("[");
  while (line.ok() && !line.take("]")) {
    if (!fact.shape.empty()) line.expect(",");
    const auto size = line.token(",]");
    Size n = 0;
    if (size == "?") fact.shape.push_back(Dim::unknown());
    else if (text::parse(size, n) && n >= 0) fact.shape.emplace_back(n);
    else line.complain("'" + std::string(size) + "' is not a size");
  }
  return fact;
}

Sizes read_sizes(Line& line) {
  Sizes sizes;
  line.expect("[");
  const auto list = line.token("]");
  if (line.ok() && !text::parse(list, sizes)) line.complain("'" + std::string(list) + "' is not a list of sizes");
  line.expect("]");
  return sizes;
}

Origin read_origin(Line& line) {
  Origin origin;
  origin.source = line.name();
  if (line.take_word("split")) origin.split = read_sizes(line);
  if (line.take_word("permuted")) origin.permutation = read_sizes(line);
  return origin;
}

template <class T, class Narrow>
Tensor from_numbers(DType dtype, const Sizes& shape, const std::vector<T>& numbers, Narrow narrow) {
  using To = decltype(narrow(T{}));
  std::vector<std::byte> bytes(numbers.size() * sizeof(To));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const To value = narrow(numbers[i]);
    std::memcpy(bytes.data() + i * sizeof(To), &value, sizeof(To));
  }
  return Tensor::owning(dtype, shape, std::move(bytes)).value_or(Tensor());
}

template <class To>
auto cast() {
  return [](auto value) { return static_cast<To>(value); };
}

template <class T>
Tensor whole_tensor(DType dtype, const Sizes& shape, const std::vector<T>& numbers) {
  switch (dtype) {
    case DType::I8: return from_numbers(dtype, shape, numbers, cast<std::int8_t>());
    case DType::I16: return from_numbers(dtype, shape, numbers, cast<std::int16_t>());
    case DType::I32: return from_numbers(dtype, shape, numbers, cast<std::int32_t>());
    case DType::I64: return from_numbers(dtype, shape, numbers, cast<std::int64_t>());
    case DType::U16: return from_numbers(dtype, shape, numbers, cast<std::uint16_t>());
    case DType::U32: return from_numbers(dtype, shape, numbers, cast<std::uint32_t>());
    case DType::U64: return from_numbers(dtype, shape, numbers, cast<std::uint64_t>());
    case DType::U8:
    case DType::Bool: return from_numbers(dtype, shape, numbers, cast<std::uint8_t>());
    case DType::F16: return from_numbers(dtype, shape, numbers, [](T v) { return half_of(static_cast<double>(v)); });
    case DType::BF16: return from_numbers(dtype, shape, numbers, [](T v) { return bfloat_of(static_cast<double>(v)); });
    case DType::F32: return from_numbers(dtype, shape, numbers, cast<float>());
    case DType::F64: return from_numbers(dtype, shape, numbers, cast<double>());
  }
  std::unreachable();
}

bool is_floating(DType dtype) {
  return dtype == DType::F16 || dtype == DType::BF16 || dtype == DType::F32 || dtype == DType::F64;
}

// The numbers up to the end of the line, in the type that holds them all: a float32 is parsed as one, since going by
// way of double would round twice.
template <class T>
std::vector<T> read_numbers(Line& line) {
  std::vector<T> numbers;
  while (line.ok() && !line.at_end()) {
    const auto token = line.token();
    T value{};
    const auto end = std::from_chars(token.data(), token.data() + token.size(), value);
    if (end.ec != std::errc() || end.ptr != token.data() + token.size()) {
      line.complain("'" + std::string(token) + "' is not a number of this type");
    }
    numbers.push_back(value);
  }
  return numbers;
}

template <class T>
Tensor read_listed(Line& line, DType dtype, const Sizes& shape, Size count) {
  const auto numbers = read_numbers<T>(line);
  if (line.ok() && static_cast<Size>(numbers.size()) != count) {
    line.complain(std::to_string(numbers.size()) + " numbers, expected " + std::to_string(count));
  }
  return line.ok() ? whole_tensor(dtype, shape, numbers) : Tensor();
}

Tensor read_constant(Line& line, const Fact& fact) {
  const auto shape = sizes_of(fact.shape);
  const Size count = shape ? checked_count(*shape).value_or(-1) : -1;
  if (line.ok() && count < 0) line.complain("a constant needs a shape without '?'");
  if (line.take_word("crc32")) line.complain("only the checksum of the numbers is written down, not the numbers");
  if (!line.ok()) return {};
  if (line.take_word("seed")) {
    const auto token = line.token();
    Size seed = 0;
    if (!text::parse(token, seed)) line.complain("'" + std::string(token) + "' is not a seed");
    const bool positive = line.take_word("positive");
    if (count > most_numbers) line.complain("more than " + std::to_string(most_numbers) + " numbers");
    return line.ok() ? seeded_tensor(fact.dtype, *shape, static_cast<std::uint64_t>(seed), positive) : Tensor();
  }
  if (fact.dtype == DType::F64) return read_listed<double>(line, fact.dtype, *shape, count);
  if (is_floating(fact.dtype)) return read_listed<float>(line, fact.dtype, *shape, count);
  if (fact.dtype == DType::U64) return read_listed<std::uint64_t>(line, fact.dtype, *shape, count);
  return read_listed<std::int64_t>(line, fact.dtype, *shape, count);
}

// The operator called `wanted`, with its fields at their defaults.
template <std::size_t i = 0>
std::optional<Op> named_op(std::string_view wanted) {
  if constexpr (i == std::variant_size_v<Op>) return std::nullopt;
  else if (std::variant_alternative_t<i, Op>::name == wanted) return Op(std::in_place_index<i>);
  else return named_op<i + 1>(wanted);
}

// "windows=3/2,3/2", as long as something like it follows.
void read_fields(Line& line, Op& op) {
  std::set<std::string> seen;
  while (line.ok() && !line.at_end() && !line.next_is(":") && !line.next_is("<-") && !line.next_is("@")) {
    const std::string field_name(line.token("="));
    line.expect("=");
    if (!seen.insert(field_name).second) line.complain("field '" + field_name + "' is given twice");
    const bool in_quotes = line.ok() && line.next_is("\"");
    const std::string value = in_quotes ? line.quoted() : std::string(line.token());
    if (!line.ok()) return;
    bool known = false, understood = false;
    std::visit(
        [&](auto& o) {
          const auto set = [&](const auto& field) {
            if (field.name != field_name) return;
            known = true;
            understood = text::parse(value, o.*field.member);
          };
          std::apply([&](const auto&... field) { (set(field), ...); }, std::remove_cvref_t<decltype(o)>::fields());
        },
        op);
    if (!known) line.complain(std::string(name_of(op)) + " has no field '" + field_name + "'");
    else if (!understood) line.complain("'" + value + "' makes no sense for field '" + field_name + "'");
  }
}

class GraphReader {
 public:
  Result<Graph> read(std::string_view text);

 private:
  void read_line(Line& line);
  void read_graph(Line& line);
  void read_input(Line& line);
  void read_constant_line(Line& line);
  void read_output(Line& line);
  void read_node(Line& line, std::string first);
  void read_tail(Line& line, Node& node);
  std::vector<Fact> read_facts(Line& line);
  void infer_node(Line& line, const Node& node, const std::vector<Fact>& declared);
  ValueId add(Line& line, Value value);
  ValueId known(Line& line, const std::string& value_name);

  Graph graph_;
  std::map<std::string, ValueId> ids_;
  std::vector<std::optional<Origin>> origins_;  // of the node that is being read
  std::optional<Error> refusal_;                // of an operator, with a place of its own
};

ValueId GraphReader::add(Line& line, Value value) {
  const ValueId id{static_cast<std::int32_t>(graph_.values.size())};
  if (line.ok() && !ids_.emplace(value.name, id).second) line.complain("'" + value.name + "' is already there");
  graph_.values.push_back(std::move(value));
  return id;
}

ValueId GraphReader::known(Line& line, const std::string& value_name) {
  const auto it = ids_.find(value_name);
  if (it != ids_.end()) return it->second;
  line.complain("no value is called '" + value_name + "' so far");
  return {};
}

void GraphReader::read_graph(Line& line) {
  graph_.name = line.name();
  if (line.take_word("from")) graph_.source_format = line.name();
}

void GraphReader::read_input(Line& line) {
  Value value;
  value.name = line.name();
  value.fact = read_fact(line);
  if (line.take("<-")) value.origin = read_origin(line);
  graph_.inputs.push_back(add(line, std::move(value)));
}

void GraphReader::read_constant_line(Line& line) {
  Value value;
  value.name = line.name();
  value.fact = read_fact(line);
  if (line.take_word("frozen")) value.trainable = false;
  if (line.take("<-")) value.origin = read_origin(line);
  line.expect("=");
  value.constant = read_constant(line, value.fact);
  add(line, std::move(value));
}

void GraphReader::read_output(Line& line) {
  const std::string value_name = line.name();
  const ValueId id = known(line, value_name);
  graph_.outputs.push_back(id);
  graph_.output_names.push_back(line.take_word("as") ? line.name() : value_name);
}

void GraphReader::read_node(Line& line, std::string first) {
  Node node;
  std::vector<std::string> names{std::move(first)};
  while (line.take(",")) names.push_back(line.name());
  line.expect("=");
  const std::string word = line.name();
  auto op = named_op(word);
  if (line.ok() && !op) line.complain("no operator is called '" + word + "'");
  line.expect("(");
  bool more = line.ok() && !line.take(")");
  while (more && line.ok()) {
    if (line.take_word("_")) node.inputs.emplace_back();
    else if (const std::string input = line.name(); line.ok()) node.inputs.push_back(known(line, input));
    more = line.take(",");
    if (!more) line.expect(")");
  }
  if (!line.ok()) return;
  read_fields(line, *op);
  node.op = *std::move(op);
  const auto facts = read_facts(line);
  origins_.clear();
  read_tail(line, node);
  if (node.layer.empty()) node.layer = names[0];
  if (line.ok() && !origins_.empty() && origins_.size() != names.size()) {
    line.complain("one origin per output is expected");
  }
  if (!line.ok()) return;
  const NodeId id{static_cast<std::int32_t>(graph_.nodes.size())};
  for (std::size_t i = 0; i < names.size(); ++i) {
    Value value;
    value.name = names[i];
    value.producer = id;
    if (!origins_.empty()) value.origin = origins_[i];
    node.outputs.push_back(add(line, std::move(value)));
  }
  graph_.nodes.push_back(std::move(node));
  infer_node(line, graph_.nodes.back(), facts);
}

std::vector<Fact> GraphReader::read_facts(Line& line) {
  std::vector<Fact> facts;
  if (!line.take(":")) return facts;
  do facts.push_back(read_fact(line));
  while (line.take(","));
  return facts;
}

void GraphReader::read_tail(Line& line, Node& node) {
  if (line.take("<-")) {
    do {
      if (line.take_word("_")) origins_.emplace_back();
      else origins_.emplace_back(read_origin(line));
    } while (line.take(","));
  }
  if (!line.take("@")) return;
  node.layer = line.name();
  if (line.take_word("kind")) node.kind = line.name();
  if (!line.take_word("in")) return;
  while (line.ok() && !line.at_end()) {
    Scope scope;
    scope.name = line.name();
    Size call = 0;
    line.expect("#");
    if (!text::parse(line.token(), call) || call < 0 || call > 1'000'000) line.complain("a call's number is expected");
    scope.call = static_cast<int>(call);
    node.scopes.push_back(std::move(scope));
  }
}

void GraphReader::infer_node(Line& line, const Node& node, const std::vector<Fact>& declared) {
  std::vector<Input> inputs;
  for (const ValueId v : node.inputs) {
    if (!v) inputs.push_back({});
    else inputs.push_back({&graph_[v].fact, graph_[v].constant ? &*graph_[v].constant : nullptr});
  }
  auto facts = infer(node.op, Inputs(inputs));
  if (!facts) {
    refusal_ = std::move(facts.error());
    return;
  }
  if (facts->size() != node.outputs.size()) {
    line.complain(std::to_string(node.outputs.size()) + " outputs, " + std::string(name_of(node.op)) + " has " +
                  std::to_string(facts->size()));
    return;
  }
  for (std::size_t i = 0; i < facts->size(); ++i) {
    const Fact& fact = (*facts)[i];
    if (!declared.empty() && (declared.size() != facts->size() || declared[i] != fact)) {
      line.complain("output " + std::to_string(i) + " is " + text_of(fact) + ", another fact is written down");
    }
    graph_[node.outputs[i]].fact = fact;
  }
}

void GraphReader::read_line(Line& line) {
  if (line.at_end()) return;
  if (line.take_word("graph")) read_graph(line);
  else if (line.take_word("input")) read_input(line);
  else if (line.take_word("const")) read_constant_line(line);
  else if (line.take_word("output")) read_output(line);
  else read_node(line, line.name());
  if (line.ok() && !refusal_ && !line.at_end()) line.complain("more than expected");
}

Result<Graph> GraphReader::read(std::string_view text) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    Line line(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    read_line(line);
    const std::string place = "line " + std::to_string(number);
    if (refusal_) return within(place, Result<Graph>(std::unexpected(*std::move(refusal_))));
    if (!line.ok()) {
      return within(place + ", column " + std::to_string(line.column()),
                    Result<Graph>(fail(Fault::Format, line.complaint())));
    }
  }
  return std::move(graph_);
}

}  // namespace

Tensor seeded_tensor(DType dtype, const Sizes& shape, std::uint64_t seed, bool positive) {
  const Size count = checked_count(shape).value_or(0);
  const bool has_sign = is_floating(dtype) || (dtype >= DType::I8 && dtype <= DType::I64);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::uint64_t state = seed * 0x9E3779B97F4A7C15 + 0x1234567;
  for (auto& number : numbers) {
    state += 0x9E3779B97F4A7C15;  // splitmix64: short, and its low bits are as good as its high ones
    std::uint64_t mixed = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    mixed ^= mixed >> 31;
    const auto size = static_cast<std::int64_t>(dtype == DType::Bool ? 1 : 1 + (mixed >> 8) % 3);
    number = has_sign && !positive && (mixed & 1) != 0 ? -size : size;
  }
  return whole_tensor(dtype, shape, numbers);
}

Result<Op> parse_op(std::string_view text) {
  Line line(text);
  const std::string word = line.name();
  auto op = named_op(word);
  if (line.ok() && !op) line.complain("no operator is called '" + word + "'");
  if (op) read_fields(line, *op);
  if (line.ok() && !line.at_end()) line.complain("more than expected");
  if (line.ok()) return *std::move(op);
  return within("column " + std::to_string(line.column()), Result<Op>(fail(Fault::Format, line.complaint())));
}

Result<Graph> parse_graph(std::string_view text) { return GraphReader().read(text); }

}  // namespace convoy
