// Reads the text form of a graph, line by line.
#include "graph/text.h"
#include "graph/text_fields.h"
#include "graph/text_line.h"

#include <set>

namespace convoy {

namespace {

using text::Line;

// "float32[?,8]"
TensorType read_type(Line& line) {
  TensorType type;
  const auto element = line.token("[");
  if (line.ok() && !text::parse(element, type.dtype)) {
    line.complain("'" + std::string(element) + "' is not an element type");
  }
  line.expect("[");
  while (line.ok() && !line.take("]")) {
    if (!type.shape.empty()) line.expect(",");
    const auto size = line.token(",]");
    Size n = 0;
    if (size == "?") type.shape.push_back(Dim::unknown());
    else if (text::parse(size, n) && n >= 0) type.shape.emplace_back(n);
    else line.complain("'" + std::string(size) + "' is not a size");
  }
  return type;
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

// The operator called `wanted`, with its fields at their defaults.
template <std::size_t i = 0>
std::optional<Op> named_op(std::string_view wanted) {
  if constexpr (i == std::tuple_size_v<AnyOp::tuple>) return std::nullopt;
  else if (std::tuple_element_t<i, AnyOp::tuple>::name == wanted) return std::tuple_element_t<i, AnyOp::tuple>{};
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
    op.visit([&](auto& o) {
      std::remove_cvref_t<decltype(o)>::fields([&](std::string_view field, auto member) {
        if (field != field_name) return;
        known = true;
        understood = text::parse(value, o.*member);
      });
    });
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
  std::vector<TensorType> read_types(Line& line);
  void infer_node(Line& line, const Node& node, const std::vector<TensorType>& declared);
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
  value.type = read_type(line);
  if (line.take("<-")) value.origin = read_origin(line);
  graph_.inputs.push_back(add(line, std::move(value)));
}

void GraphReader::read_constant_line(Line& line) {
  Value value;
  value.name = line.name();
  value.type = read_type(line);
  if (line.take_word("frozen")) value.trainable = false;
  if (line.take("<-")) value.origin = read_origin(line);
  line.expect("=");
  value.constant = text::read_constant(line, value.type);
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
  const auto types = read_types(line);
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
  infer_node(line, graph_.nodes.back(), types);
}

std::vector<TensorType> GraphReader::read_types(Line& line) {
  std::vector<TensorType> types;
  if (!line.take(":")) return types;
  do types.push_back(read_type(line));
  while (line.take(","));
  return types;
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

void GraphReader::infer_node(Line& line, const Node& node, const std::vector<TensorType>& declared) {
  std::vector<Input> inputs;
  for (const ValueId v : node.inputs) {
    if (!v) inputs.push_back({});
    else inputs.push_back({&graph_[v].type, graph_[v].constant ? &*graph_[v].constant : nullptr});
  }
  auto types = infer(node.op, Inputs(inputs));
  if (!types) {
    refusal_ = std::move(types.error());
    return;
  }
  if (types->size() != node.outputs.size()) {
    line.complain(std::to_string(node.outputs.size()) + " outputs, " + std::string(name_of(node.op)) + " has " +
                  std::to_string(types->size()));
    return;
  }
  for (std::size_t i = 0; i < types->size(); ++i) {
    const TensorType& type = (*types)[i];
    if (!declared.empty() && (declared.size() != types->size() || declared[i] != type)) {
      line.complain("output " + std::to_string(i) + " is " + text_of(type) + ", another type is written down");
    }
    graph_[node.outputs[i]].type = type;
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
