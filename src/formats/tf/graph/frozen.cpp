// A graph alone in its file, with its weights as constants.
#include "formats/tf/graph/reader.h"
#include "formats/tf/tf.h"

namespace convoy::tf {
namespace {

// The first fields of the first message of that number.
template <class Take>
bool shows(Bytes bytes, int most, const Take& take) {
  int seen = 0;
  bool found = false;
  (void)each_field(bytes, [&](const ProtoField& field) -> Status {
    found = found || take(field);
    if (found || ++seen == most) return fail(Fault::Internal, "enough");
    return {};
  });
  return found;
}

bool is_word(std::string_view text) {
  if (text.empty() || text.size() > 200) return false;
  for (const char c : text)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '/' ||
          c == '.' || c == '-' || c == '>' || c == '\\'))
      return false;
  return true;
}

// A node: a name and the name of an operator, which begins with a capital or an underscore.
bool is_node(Bytes bytes) {
  std::string_view name, op;
  shows(bytes, 4, [&](const ProtoField& f) {
    if (f.number == 1 && f.wire == Wire::Run) name = f.text();
    if (f.number == 2 && f.wire == Wire::Run) op = f.text();
    return !name.empty() && !op.empty();
  });
  return is_word(name) && is_word(op) && ((op[0] >= 'A' && op[0] <= 'Z') || op[0] == '_');
}

}  // namespace

bool begins_graph(Bytes bytes) {
  return shows(bytes, 4, [](const ProtoField& f) { return f.number == 1 && f.wire == Wire::Run && is_node(f.bytes); });
}

// A meta graph: its first field, meta_info_def, says the version of TensorFlow or the operators used, its second is a graph.
bool begins_meta_graph(Bytes bytes) {
  bool informed = false;
  return shows(bytes, 4, [&](const ProtoField& f) {
    if (f.number == 1 && f.wire == Wire::Run) informed = !is_node(f.bytes);
    return informed && f.number == 2 && f.wire == Wire::Run && begins_graph(f.bytes);
  });
}

bool begins_saved_model(Bytes bytes) {
  return shows(bytes, 3,
               [](const ProtoField& f) { return f.number == 2 && f.wire == Wire::Run && begins_meta_graph(f.bytes); });
}

Result<Graph> read_graph(const Blob& blob, const LoadOptions& options) {
  const auto stored = parse_graph(blob.bytes);
  if (!stored) return std::unexpected(stored.error());
  GraphReader reader(*stored, blob.keeper, options, {});
  auto graph = reader.read({}, {});
  if (graph) graph->source_format = "TensorFlow GraphDef";
  return graph;
}

}  // namespace convoy::tf
