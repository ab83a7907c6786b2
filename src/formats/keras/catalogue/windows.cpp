#include "formats/keras/catalogue/windows.h"

#include <algorithm>

namespace convoy::keras {

Spelling padding_of(Use& use, bool may_be_causal) {
  const Json* argument = use.option("padding");
  const std::string word = !argument ? "valid" : argument->is_string() ? argument->get<std::string>() : "";
  if (word == "valid") return Spelling::Valid;
  if (word == "same") return Spelling::SameUpper;
  if (word == "causal" && may_be_causal) return Spelling::Causal;
  use.call.refuse(Fault::Unsupported, use.called("padding") + " is '" + word + "', expected 'valid' or 'same'" +
                                          (may_be_causal ? " or 'causal'" : ""));
  return Spelling::Valid;
}

std::vector<Window> windows_of(Use& use, const Sizes& kernel) {
  const std::size_t space = kernel.size();
  const bool dilates = use.takes("dilation_rate");
  const Sizes strides = use.option("strides") || dilates ? use.sizes("strides", space) : kernel;
  const Sizes dilations = dilates ? use.sizes("dilation_rate", space) : Sizes(space, 1);
  std::vector<Window> windows;
  for (std::size_t i = 0; i < space; ++i) {
    windows.push_back({kernel[i], strides[i], dilations[i]});
    if (use.call.failed() || windows.back().sane()) continue;
    const std::string k = std::to_string(kernel[i]), s = std::to_string(strides[i]);
    use.call.refuse(Fault::Format, dilates ? "kernel " + k + ", stride " + s + " and dilation " +
                                                 std::to_string(dilations[i]) + " are no window"
                                           : "pool size " + k + " and stride " + s + " are no window");
  }
  return windows;
}

void expect_no_strided_dilation(Use& use, const std::vector<Window>& windows) {
  if (std::ranges::any_of(windows, [](const Window& w) { return w.stride > 1; }) &&
      std::ranges::any_of(windows, [](const Window& w) { return w.dilation > 1; }))
    use.call.refuse(Fault::Unsupported, "has both strides and dilation, which Keras does not run");
}

}  // namespace convoy::keras
