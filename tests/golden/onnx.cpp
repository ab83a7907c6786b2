// ONNX's operators: the node of the case, through the rows that read model files.
#include "formats/onnx/catalogue/catalogue.h"
#include "functions/evaluate.h"
#include "golden/answer.h"

#include <deque>
#include <sstream>

namespace convoy::golden {
namespace {

// make_node('Pad', ['x', 'pads', '', 'axes'], ['y'], ...): the operator, its inputs by place and its outputs.
struct NodeText {
  std::string type;
  std::vector<std::string> inputs, outputs;
};

std::vector<std::string> quoted(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at)) {
    const std::size_t end = text.find('\'', at + 1);
    if (end == std::string::npos) break;
    words.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return words;
}

std::optional<NodeText> node_of(const std::string& call) {
  const auto open = call.find('['), close = call.find(']');
  const auto second = call.find('[', close), end = call.find(']', second);
  if (open == std::string::npos || close < open || second == std::string::npos || end == std::string::npos)
    return std::nullopt;
  const auto type = quoted(call.substr(0, open));
  if (type.empty()) return std::nullopt;
  return NodeText{type.front(), quoted(call.substr(open, close - open)), quoted(call.substr(second, end - second))};
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

Result<Answer> answer_onnx(const Case& c) {
  const auto node = node_of(c.call);
  if (!node) return fail(Fault::Format, "the call is no node");
  const FunctionRow* row = row_of(onnx::functions(), node->type);
  if (!row) return not_mapped("ONNX's " + node->type);
  const auto parameters = words_of(row->parameters);
  std::deque<View> views;
  std::vector<ArrayArgument> arrays;
  for (std::size_t i = 0; i < node->inputs.size(); ++i) {
    const Array* array = c.input(node->inputs[i]);
    if (!array) continue;
    if (i >= parameters.size()) return fail(Fault::Format, "the node has too many inputs");
    arrays.push_back({parameters[i], &views.emplace_back(array->tensor)});
  }
  Json attributes = c.attrs;
  const CallSetting setting{.opset = attributes.value("opset", Size{0}), .results = node->outputs.size()};
  attributes.erase("opset");
  auto results = evaluate(onnx::functions(), node->type, arrays, attributes, setting);
  if (!results) return pass(results);
  Answer answer{{results->front(), c.want ? c.want->layout : ""}, {}};
  if (results->size() > 1) answer.indices = (*results)[1];
  return answer;
}

}  // namespace convoy::golden
