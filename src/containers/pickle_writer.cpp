#include "containers/pickle_writer.h"

#include "containers/zip.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace convoy {

namespace {

// Protocol 2 in the few opcodes that torch's restricted reader knows.
class PickleText {
 public:
  PickleText() { text_ = "\x80\x02"; }

  PickleText& op(char code) {
    text_ += code;
    return *this;
  }
  PickleText& global(std::string_view module, std::string_view name) {
    text_ += 'c';
    text_ += module;
    text_ += '\n';
    text_ += name;
    text_ += '\n';
    return *this;
  }
  PickleText& string(std::string_view text) {
    text_ += 'X';
    little(text.size(), 4);
    text_ += text;
    return *this;
  }
  PickleText& integer(Size n) {
    if (n >= 0 && n <= 0xFF) return op('K').little(static_cast<std::uint64_t>(n), 1);
    if (n >= 0 && n <= 0xFFFF) return op('M').little(static_cast<std::uint64_t>(n), 2);
    if (n >= std::numeric_limits<std::int32_t>::min() && n <= std::numeric_limits<std::int32_t>::max()) {
      return op('J').little(static_cast<std::uint64_t>(n), 4);
    }
    return op('\x8a').op('\x08').little(static_cast<std::uint64_t>(n), 8);
  }
  PickleText& tuple(const Sizes& items) {
    op('(');
    for (const Size n : items) integer(n);
    return op('t');
  }
  PickleText& ordered_dict() { return global("collections", "OrderedDict").op(')').op('R'); }

  const std::string& text() const { return text_; }

 private:
  PickleText& little(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) text_ += static_cast<char>(value >> (8 * i) & 0xFF);
    return *this;
  }

  std::string text_;
};

// torch.NAME; nothing for a type that came after the storages of one type each.
std::optional<std::string_view> storage_class(DType dtype) {
  switch (dtype) {
    case DType::F16: return "HalfStorage";
    case DType::BF16: return "BFloat16Storage";
    case DType::F32: return "FloatStorage";
    case DType::F64: return "DoubleStorage";
    case DType::I8: return "CharStorage";
    case DType::I16: return "ShortStorage";
    case DType::I32: return "IntStorage";
    case DType::I64: return "LongStorage";
    case DType::U8: return "ByteStorage";
    case DType::Bool: return "BoolStorage";
    case DType::U16:
    case DType::U32:
    case DType::U64: return std::nullopt;
  }
  return std::nullopt;
}

Sizes contiguous_strides(const Sizes& shape) {
  Sizes strides(shape.size());
  Size step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i] > 0 ? shape[i] : 1;
  }
  return strides;
}

void write_tensor(PickleText& pickle, const Tensor& t, std::size_t key) {
  const auto storage = storage_class(t.dtype());
  pickle.global("torch._utils", storage ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3").op('(');
  pickle.op('(').string("storage");
  if (storage) pickle.global("torch", *storage);
  else pickle.global("torch.storage", "UntypedStorage");
  pickle.string(std::to_string(key)).string("cpu");
  pickle.integer(storage ? t.count() : t.count() * bytes_of(t.dtype())).op('t').op('Q');
  pickle.integer(0).tuple(t.shape()).tuple(contiguous_strides(t.shape()));
  pickle.op('\x89').ordered_dict();  // requires_grad is False; no hooks
  if (!storage) pickle.global("torch", name_of(t.dtype()));
  pickle.op('t').op('R');
}

// Which storage each tensor lies in: tensors over the same bytes share one.
std::vector<std::size_t> storage_keys(const std::vector<NamedTensor>& tensors) {
  std::map<std::pair<const std::byte*, std::pair<std::size_t, DType>>, std::size_t> known;
  std::vector<std::size_t> keys;
  std::size_t next = 0;
  for (const auto& [name, tensor] : tensors) {
    const auto bytes = tensor.bytes();
    std::size_t key = next;
    if (!bytes.empty()) key = known.try_emplace({bytes.data(), {bytes.size(), tensor.dtype()}}, next).first->second;
    keys.push_back(key);
    next = std::max(next, key + 1);
  }
  return keys;
}

}  // namespace

Status write_state_dict(const std::vector<NamedTensor>& tensors, const std::function<Status(Bytes)>& append) {
  PickleText pickle;
  std::vector<const Tensor*> storages;
  std::set<std::string_view> names;
  const auto keys = storage_keys(tensors);
  pickle.ordered_dict().op('(');
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, tensor] = tensors[i];
    if (!names.insert(name).second) return fail(Fault::Unsupported, "two tensors named '" + name + "'");
    if (name.size() > 0xFFFF) return fail(Fault::Limit, "tensor name of more than 65535 bytes");
    if (keys[i] == storages.size()) storages.push_back(&tensor);
    pickle.string(name);
    write_tensor(pickle, tensor, keys[i]);
  }
  pickle.op('u').op('.');

  ZipWriter zip(append);
  const std::pair<std::string_view, std::string_view> head[] = {
      {"data.pkl", pickle.text()}, {".format_version", "1"}, {".storage_alignment", "64"}, {"byteorder", "little"}};
  for (const auto& [name, text] : head) {
    if (auto done = zip.add("archive/" + std::string(name), bytes_of(text)); !done) return done;
  }
  for (std::size_t i = 0; i < storages.size(); ++i) {
    if (auto done = zip.add("archive/data/" + std::to_string(i), storages[i]->bytes()); !done) return done;
    storages[i]->let_go();
  }
  if (auto done = zip.add("archive/version", bytes_of("3\n")); !done) return done;
  return zip.finish();
}

Result<std::vector<NamedTensor>> read_back_state_dict(Blob file, const std::vector<NamedTensor>& written) {
  const auto zip = ZipArchive::open(file);
  if (!zip) return std::unexpected(zip.error());
  const auto keys = storage_keys(written);
  std::vector<NamedTensor> all;
  for (std::size_t i = 0; i < written.size(); ++i) {
    auto storage = zip->read("archive/data/" + std::to_string(keys[i]));
    if (!storage) return pass(storage);
    auto tensor = Tensor::view(written[i].tensor.dtype(), written[i].tensor.shape(), storage->bytes, storage->keeper);
    if (!tensor) return pass(tensor);
    all.push_back({written[i].name, std::move(*tensor)});
  }
  return all;
}

}  // namespace convoy
