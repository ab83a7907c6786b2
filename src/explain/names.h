// Which framework's layer or function a pasted name means: by its prefix, or by its letters and keywords.
#pragma once
#include "containers/python/expression.h"
#include "convoy/result.h"
#include "explain/layer.h"

#include <string>
#include <string_view>
#include <vector>

namespace convoy::explain {

struct Named {
  Framework framework = Framework::Torch;
  std::string function;  // of the framework's table: "conv2d", "nn.conv2d", "Conv2D", "Conv"
};

// Fails (Usage): a name that no framework has, with the nearest that one has; one that several have.
Result<Named> resolve(const std::string& dotted, const std::vector<python::Argument>& arguments);

}  // namespace convoy::explain
