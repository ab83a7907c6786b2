// Builds graphs of single calls for frameworks whose calls this program maps by itself.
#pragma once
#include "golden/answer.h"

namespace convoy::golden {

// A whole number or a list of `count` of them; `otherwise` for all where the attribute is absent or null.
Result<Sizes> numbers(const Json& attrs, const std::string& name, std::size_t count, Size otherwise);
bool flag(const Json& attrs, const std::string& name, bool otherwise);

// A graph in the making: each step reads the last value.
class Calls {
 public:
  explicit Calls(const Case& c);

  ValueId weight(const std::string& name);  // none where the case has no such input
  Status add(Op op, ValueId kernel = {}, ValueId bias = {});
  const Shape& shape() const { return graph_[last_].type.shape; }
  Result<Answer> run() &&;

 private:
  const Case& case_;
  Graph graph_;
  ValueId last_;
};

}  // namespace convoy::golden
