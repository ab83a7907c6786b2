#include "containers/safetensors.h"

#include "base/shown.h"

#include "containers/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

namespace convoy {
namespace {

constexpr Size longest_header = 100'000'000;

struct Word {
  std::string_view word;
  DType dtype;
};
constexpr std::array words{Word{"F16", DType::F16},  Word{"BF16", DType::BF16}, Word{"F32", DType::F32},
                           Word{"F64", DType::F64},  Word{"I8", DType::I8},     Word{"I16", DType::I16},
                           Word{"I32", DType::I32},  Word{"I64", DType::I64},   Word{"U8", DType::U8},
                           Word{"U16", DType::U16},  Word{"U32", DType::U32},   Word{"U64", DType::U64},
                           Word{"BOOL", DType::Bool}};

std::string_view word_of(DType dtype) {
  for (const auto& w : words)
    if (w.dtype == dtype) return w.word;
  return "F32";
}

struct Stored {
  DType dtype = DType::F32;
  Sizes shape;
  Size begin = 0, end = 0;
};

std::optional<Size> size_in(const Json& number) {
  if (!number.is_number_integer()) return {};
  if (number.is_number_unsigned() &&
      number.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<Size>::max()))
    return {};
  const Size n = number.get<Size>();
  return n < 0 ? std::nullopt : std::optional(n);
}

Result<Stored> stored_in(const Json& entry) {
  const auto wrong = [](const char* what) { return fail(Fault::Format, what); };
  if (!entry.is_object() || entry.size() != 3 || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets"))
    return wrong("its header entry is not dtype, shape and data_offsets");
  Stored s;
  const auto& dtype = entry["dtype"];
  const auto known = std::find_if(words.begin(), words.end(), [&](const Word& w) {
    return dtype.is_string() && dtype.get_ref<const std::string&>() == w.word;
  });
  if (known == words.end()) return fail(Fault::Unsupported, "its element type " + json_text(dtype) + " is not known");
  s.dtype = known->dtype;
  if (!entry["shape"].is_array() || entry["shape"].size() > 32)
    return wrong("its shape is not a list of at most 32 sizes");
  for (const auto& n : entry["shape"]) {
    const auto size = size_in(n);
    if (!size) return wrong("its shape holds something that is not a size");
    s.shape.push_back(*size);
  }
  const auto& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2) return wrong("its data_offsets are not two numbers");
  const auto begin = size_in(offsets[0]), end = size_in(offsets[1]);
  if (!begin || !end || *begin > *end) return wrong("its data_offsets are not two rising numbers");
  s.begin = *begin, s.end = *end;
  const auto count = checked_count(s.shape);
  const auto bytes = count ? checked_multiply(*count, bytes_of(s.dtype)) : std::nullopt;
  if (!bytes || *bytes != s.end - s.begin) return wrong("its data_offsets do not fit its shape");
  return s;
}

}  // namespace

Result<std::vector<NamedTensor>> read_safetensors(Blob file) {
  ByteReader reader(file.bytes);
  const auto length = reader.u64();
  if (!reader.ok()) return reader.failure("the header's length");
  if (length > static_cast<std::uint64_t>(longest_header))
    return fail(Fault::Limit, "the header claims " + std::to_string(length) + " bytes, the limit is 100000000");
  const Bytes text = reader.take(static_cast<Size>(length));
  if (!reader.ok()) return reader.failure("the header");
  auto header = within("header", parse_json(text_of(text)));
  if (!header) return pass(header);
  if (!header->is_object()) return fail(Fault::Format, "the header is not a JSON object");
  const Bytes buffer = reader.take(reader.left());

  std::vector<std::pair<std::string, Stored>> all;
  for (const auto& [name, entry] : header->items()) {
    if (name == "__metadata__") continue;
    auto stored = within("tensor '" + name + "'", stored_in(entry));
    if (!stored) return pass(stored);
    all.emplace_back(name, std::move(*stored));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.begin, a.second.end) < std::pair(b.second.begin, b.second.end);
  });
  std::vector<NamedTensor> tensors;
  Size covered = 0;
  for (auto& [name, s] : all) {
    if (s.begin != covered)
      return within("tensor '" + name + "'",
                    Result<std::vector<NamedTensor>>(fail(Fault::Format, "begins at byte " + std::to_string(s.begin) +
                                                                             " of the buffer, expected " +
                                                                             std::to_string(covered))));
    if (s.end > static_cast<Size>(buffer.size()))
      return within("tensor '" + name + "'",
                    Result<std::vector<NamedTensor>>(
                        fail(Fault::Truncated, "needs bytes up to " + std::to_string(s.end) + " of a buffer of " +
                                                   std::to_string(buffer.size()))));
    covered = s.end;
    auto tensor = Tensor::view(
        s.dtype, s.shape, buffer.subspan(static_cast<std::size_t>(s.begin), static_cast<std::size_t>(s.end - s.begin)),
        file.keeper);
    if (!tensor) return pass(tensor);
    tensors.push_back({name, std::move(*tensor)});
  }
  if (covered != static_cast<Size>(buffer.size()))
    return fail(Fault::Format, std::to_string(static_cast<Size>(buffer.size()) - covered) +
                                   " bytes of the buffer belong to no tensor");
  return tensors;
}

Status write_safetensors(std::vector<NamedTensor> tensors, const std::map<std::string, std::string>& metadata,
                         const std::function<Status(Bytes)>& append) {
  std::stable_sort(tensors.begin(), tensors.end(), [](const NamedTensor& a, const NamedTensor& b) {
    const Size wide_a = bytes_of(a.tensor.dtype()), wide_b = bytes_of(b.tensor.dtype());
    return wide_a != wide_b ? wide_a > wide_b : a.name < b.name;
  });
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  Size at = 0;
  for (const auto& [name, tensor] : tensors) {
    if (!is_utf8(name))
      return fail(Fault::Unsupported, "the name '" + name + "' is no UTF-8, which this format asks for");
    const Size end = at + tensor.count() * bytes_of(tensor.dtype());
    header[name] = {{"dtype", word_of(tensor.dtype())}, {"shape", tensor.shape()}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = json_text(header);
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(static_cast<std::uint64_t>(text.size()) >> (8 * i));
  if (auto s = append(bytes_of(length + text)); !s) return s;
  for (const auto& named : tensors) {
    if (auto s = append(named.tensor.bytes()); !s) return s;
    named.tensor.let_go();
  }
  return {};
}

}  // namespace convoy
