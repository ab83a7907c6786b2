#include "containers/hdf5.h"

#include "fuzz/answer.h"
#include "fuzz/targets.h"

namespace convoy::fuzz {
namespace {

// A file may name one group under many names: the count of visits bounds the walk, the depth its stack.
void walk(const Hdf5Object& object, int depth, int& visits) {
  if (depth > 64 || ++visits > 2000) return;
  if (const auto attributes = object.attribute_names(); answered(attributes))
    for (const std::string& name : *attributes) answered(object.attribute(name));
  if (object.is_dataset()) {
    answered(object.value());
    return;
  }
  const auto names = object.names();
  if (!answered(names)) return;
  for (const std::string& name : *names)
    if (const auto child = object.open(name); answered(child)) walk(*child, depth + 1, visits);
}

}  // namespace

void hdf5(Bytes bytes) {
  const auto file = Hdf5File::open(blob_of(bytes));
  if (!answered(file)) return;
  int visits = 0;
  walk(file->root(), 0, visits);
}

}  // namespace convoy::fuzz
