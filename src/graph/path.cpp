#include "graph/path.h"

namespace convoy {

std::string path_of(const Node& node) {
  std::string path, last;
  const auto enter = [&](const std::string& name) {
    const bool says_last = !last.empty() && name.starts_with(last) &&
                           (name.size() == last.size() || name[last.size()] == '.' || name[last.size()] == '/');
    if (says_last) path.resize(path.size() - last.size());
    else if (!path.empty()) path += "/";
    path += name;
    last = name;
  };
  for (const Scope& scope : node.scopes) enter(scope.name);
  enter(node.layer);
  return path;
}

}  // namespace convoy
