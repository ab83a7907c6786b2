#include "containers/inflate.h"

#include "base/budget.h"

#include <zlib.h>
#include <algorithm>

namespace convoy {
namespace {

constexpr double steps_per_byte = 3;

}

Result<std::vector<std::byte>> inflate(Bytes stored, Wrapping wrapping, Size most) {
  constexpr Size step = 1 << 30;  // zlib counts in 32 bits
  z_stream stream{};
  if (inflateInit2(&stream, wrapping == Wrapping::Raw ? -15 : 15) != Z_OK) {
    return fail(Fault::Limit, "not enough memory to inflate");
  }
  struct Ends {
    z_stream* stream;
    ~Ends() { inflateEnd(stream); }
  } ends{&stream};
  const Size size = static_cast<Size>(stored.size());
  // Twice the input is a fair first guess and is backed by bytes that are there.
  std::vector<std::byte> content(static_cast<std::size_t>(std::min(most, std::max<Size>(size * 2, 256))));
  Size fed = 0, made = 0;
  for (;;) {
    if (stream.avail_in == 0 && fed < size) {
      const Size n = std::min(step, size - fed);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(stored.data() + fed));
      stream.avail_in = static_cast<uInt>(n);
      fed += n;
    }
    if (made == static_cast<Size>(content.size()) && made < most) {
      const Size more = std::min(most, made * 2);
      if (auto paid = budget::afford(more, "inflating " + std::to_string(size) + " bytes"); !paid) return pass(paid);
      if (auto paid = budget::spend(steps_per_byte * static_cast<double>(more), "inflating"); !paid) return pass(paid);
      content.reserve(static_cast<std::size_t>(more));  // a vector that grows by itself takes more than it is asked for
      content.resize(static_cast<std::size_t>(more));
    }
    std::byte beyond{};  // once the limit is reached, one byte more shows whether the stream ends there
    const Size room = std::min(step, static_cast<Size>(content.size()) - made);
    stream.next_out = reinterpret_cast<Bytef*>(room > 0 ? content.data() + made : &beyond);
    stream.avail_out = static_cast<uInt>(room > 0 ? room : 1);
    const auto offered = static_cast<Size>(stream.avail_out);
    const int state = ::inflate(&stream, Z_NO_FLUSH);
    const Size produced = offered - static_cast<Size>(stream.avail_out);
    if (room == 0 && produced > 0) {
      return fail(Fault::Format, "inflates to more than the " + std::to_string(most) + " bytes it should have");
    }
    made += produced;
    if (state == Z_STREAM_END) break;
    if (state == Z_MEM_ERROR) return fail(Fault::Limit, "not enough memory to inflate");
    if (state != Z_OK) {
      return fail(Fault::Format, "is not a whole deflate stream: wrong after " + std::to_string(made) + " bytes");
    }
  }
  if (stream.avail_in != 0 || fed != size) return fail(Fault::Format, "has bytes behind its deflate stream");
  content.resize(static_cast<std::size_t>(made));
  return content;
}

}  // namespace convoy
