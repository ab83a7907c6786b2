// How much memory, and work in proportion, a caller grants to models that need more than their files' sizes grant.
#pragma once
#include "convoy/result.h"
#include "convoy/size.h"

#include <optional>
#include <string_view>

namespace convoy {

// While one lives, what its thread asks of the library may hold so many bytes, and 64 more for each byte that is read; usually
// 160 MiB to read and write a model, 2 GiB to compute one. What is over that fails with Fault::Budget and says what would be enough.
// Calls side by side share the largest budget of theirs.
//   const convoy::Granting granting(convoy::memory_of("8G").value());
//   const auto model = convoy::load("large.onnx", {});
class Granting {
 public:
  explicit Granting(Size bytes) noexcept;
  ~Granting();
  Granting(const Granting&) = delete;
  Granting& operator=(const Granting&) = delete;

  // What this thread grants.
  static std::optional<Size> current() noexcept;

 private:
  std::optional<Size> before_;
};

// "512M", "8G", "8GiB", or bytes. Fails (Usage): anything else.
Result<Size> memory_of(std::string_view words);

}  // namespace convoy
