// convoy pad LAYER --svg FILE: the windows of a layer over its cells as a picture.
#include "base/atomic_output.h"
#include "cli/pad.h"
#include "explain/picture.h"

namespace convoy::cli {

Status draw_layers(const std::vector<explain::Explanation>& layers, OutputSet& output) {
  const auto svg = explain::picture_of(layers);
  if (!svg)
    return fail(Fault::Usage, "--svg draws layers of a known size; say which with --size, such as --size 100x20");
  if (auto s = output.append(0, bytes_of(*svg)); !s) return s;
  return output.commit();
}

}  // namespace convoy::cli
