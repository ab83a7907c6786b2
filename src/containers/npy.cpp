#include "containers/npy.h"

#include "containers/zip.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

namespace convoy {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";
constexpr Size longest_npy_header = 64 << 10;
constexpr std::size_t highest_rank = 32;

struct Coded {
  std::string_view code;  // without the byte order
  DType dtype;
};
constexpr std::array codes{Coded{"f2", DType::F16}, Coded{"f4", DType::F32}, Coded{"f8", DType::F64},
                           Coded{"i1", DType::I8},  Coded{"i2", DType::I16}, Coded{"i4", DType::I32},
                           Coded{"i8", DType::I64}, Coded{"u1", DType::U8},  Coded{"u2", DType::U16},
                           Coded{"u4", DType::U32}, Coded{"u8", DType::U64}, Coded{"b1", DType::Bool}};

struct Header {
  DType dtype = DType::F32;
  bool big_endian = false, fortran = false;
  Sizes shape;
};

// Reads the Python literal {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } and nothing else.
class Literal {
 public:
  explicit Literal(std::string_view text) : text_(text) {}

  Result<Header> header() {
    Header h;
    bool descr = false, order = false, shape = false;
    if (!take('{')) return wrong();
    while (!take('}')) {
      const auto key = word();
      if (!key || !take(':')) return wrong();
      if (*key == "descr" && !descr) {
        const auto code = word();
        if (!code || code->empty()) return wrong();
        if (auto s = dtype(*code, h); !s) return pass(s);
        descr = true;
      } else if (*key == "fortran_order" && !order) {
        if (take("True")) h.fortran = true;
        else if (!take("False")) return wrong();
        order = true;
      } else if (*key == "shape" && !shape) {
        if (!sizes(h.shape)) return wrong();
        shape = true;
      } else {
        return wrong();
      }
      if (!take(',') && peek() != '}') return wrong();
    }
    if (peek() != '\0' || !descr || !order || !shape) return wrong();
    return h;
  }

 private:
  static std::unexpected<Error> wrong() {
    return fail(Fault::Format, "the header of the array is not one numpy writes");
  }
  char peek() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_[0];
  }
  bool take(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    peek();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string_view> word() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return {};
    const auto end = text_.find(quote, 1);
    if (end == std::string_view::npos) return {};
    const auto inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }
  bool sizes(Sizes& shape) {
    if (!take('(')) return false;
    while (!take(')')) {
      peek();
      Size n = 0;
      const auto [end, fault] = std::from_chars(text_.data(), text_.data() + text_.size(), n);
      if (fault != std::errc{} || n < 0 || shape.size() == highest_rank) return false;
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (!text_.empty() && text_[0] == 'L') text_.remove_prefix(1);  // Python 2 wrote long numbers so
      shape.push_back(n);
      if (!take(',') && peek() != ')') return false;
    }
    return true;
  }
  static Status dtype(std::string_view code, Header& h) {
    const char order = code[0];
    if (order == '<' || order == '>' || order == '|' || order == '=') code.remove_prefix(1);
    h.big_endian = order == '>';
    for (const auto& known : codes)
      if (known.code == code) {
        h.dtype = known.dtype;
        return {};
      }
    return fail(Fault::Unsupported, "element type '" + std::string(code) + "' is not a number that convoy reads");
  }

  std::string_view text_;
};

std::shared_ptr<std::vector<std::byte>> swapped(Bytes bytes, Size width) {
  auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  for (std::size_t i = 0; i + static_cast<std::size_t>(width) <= copy->size(); i += static_cast<std::size_t>(width))
    std::reverse(copy->begin() + static_cast<std::ptrdiff_t>(i),
                 copy->begin() + static_cast<std::ptrdiff_t>(i) + width);
  return copy;
}

std::string head_of(const Tensor& t) {
  std::string_view code = "f4";
  for (const auto& known : codes)
    if (known.dtype == t.dtype()) code = known.code;
  std::string text = "{'descr': '" + std::string(bytes_of(t.dtype()) == 1 ? "|" : "<") + std::string(code) +
                     "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < t.shape().size(); ++i)
    text += (i ? ", " : "") + std::to_string(t.shape()[i]) + (t.shape().size() == 1 ? "," : "");
  text += "), }";
  const std::size_t prefix = npy_magic.size() + 4;
  text.append((64 - (prefix + text.size() + 1) % 64) % 64, ' ');
  std::string head(npy_magic);
  head += {'\x01', '\x00', static_cast<char>((text.size() + 1) & 0xFF), static_cast<char>((text.size() + 1) >> 8)};
  return head + text + "\n";
}

// numpy has no name for bfloat16, whose numbers are all float32.
Tensor sayable(const Tensor& tensor) { return tensor.dtype() == DType::BF16 ? tensor.converted(DType::F32) : tensor; }

}  // namespace

Result<Tensor> read_npy(Blob file) {
  ByteReader reader(file.bytes);
  if (text_of(reader.take(static_cast<Size>(npy_magic.size()))) != npy_magic)
    return fail(Fault::Format, "is not a numpy array: it does not begin with \\x93NUMPY");
  const auto major = reader.u8(), minor = reader.u8();
  if (reader.ok() && (major < 1 || major > 3 || minor != 0))
    return fail(Fault::Unsupported,
                "version " + std::to_string(major) + "." + std::to_string(minor) + " of the npy format is not known");
  const Size length = major == 1 ? reader.u16() : reader.u32();
  if (length > longest_npy_header)
    return fail(Fault::Limit, "the header claims " + std::to_string(length) + " bytes, the limit is 65536");
  const Bytes text = reader.take(length);
  if (!reader.ok()) return reader.failure("the header");
  auto header = Literal(text_of(text)).header();
  if (!header) return pass(header);
  const auto count = checked_count(header->shape);
  const auto size = count ? checked_multiply(*count, bytes_of(header->dtype)) : std::nullopt;
  if (!size) return fail(Fault::Limit, "the shape has more elements than a number can count");
  const Bytes data = reader.take(*size);
  if (!reader.ok()) return reader.failure("the data");
  if (reader.left() > 0) return fail(Fault::Format, std::to_string(reader.left()) + " bytes follow the array");

  Sizes stored = header->shape;
  if (header->fortran) std::reverse(stored.begin(), stored.end());
  Result<Tensor> tensor = Tensor::view(header->dtype, stored, data, file.keeper);
  if (header->big_endian) {
    const auto copy = swapped(data, bytes_of(header->dtype));
    tensor = Tensor::view(header->dtype, stored, *copy, copy);
  }
  if (!tensor || !header->fortran) return tensor;
  Sizes axes;
  for (auto i = static_cast<Size>(stored.size()); i-- > 0;) axes.push_back(i);
  return tensor->permuted(axes);
}

Status write_npy(const Tensor& tensor, const std::function<Status(Bytes)>& append) {
  const Tensor numbers = sayable(tensor);
  if (auto s = append(bytes_of(head_of(numbers))); !s) return s;
  return append(numbers.bytes());
}

Status write_npz(const std::vector<std::pair<std::string, Tensor>>& tensors,
                 const std::function<Status(Bytes)>& append) {
  ZipWriter zip(append);
  for (const auto& [name, tensor] : tensors) {
    const Tensor numbers = sayable(tensor);
    const std::string head = head_of(numbers);
    const Bytes parts[] = {bytes_of(head), numbers.bytes()};
    if (auto s = zip.add_parts(name + ".npy", parts); !s) return s;
    tensor.let_go();
  }
  return zip.finish();
}

Result<std::vector<std::pair<std::string, Tensor>>> read_npz(Blob file) {
  auto zip = ZipArchive::open(file);
  if (!zip) return pass(zip);
  std::vector<std::pair<std::string, Tensor>> all;
  for (const auto& entry : zip->entries()) {
    auto content = zip->read(entry.name);
    if (!content) return pass(content);
    auto tensor = within("entry '" + entry.name + "'", read_npy(*content));
    if (!tensor) return pass(tensor);
    const bool suffixed = entry.name.ends_with(".npy");
    all.emplace_back(suffixed ? entry.name.substr(0, entry.name.size() - 4) : entry.name, std::move(*tensor));
  }
  return all;
}

}  // namespace convoy
