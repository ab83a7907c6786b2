#include "port/batch.h"

#include "base/sha256.h"
#include "base/words.h"
#include "containers/json.h"
#include "formats/source.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

namespace convoy {
namespace {

namespace fs = std::filesystem;

constexpr std::array model_extensions{".keras", ".h5", ".hdf5", ".onnx", ".pt2", ".pt", ".pb", ".tflite"};

bool is_model_file(const fs::path& file) { return is_among(model_extensions, file.extension().string()); }

// A SavedModel is a folder.
bool is_model_folder(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / "saved_model.pb", ignored);
}

Result<std::vector<fs::path>> models_below(const std::string& folder) {
  std::vector<fs::path> found;
  std::error_code trouble;
  for (fs::recursive_directory_iterator at(folder, trouble), end; !trouble && at != end; at.increment(trouble)) {
    std::error_code ignored;
    if (at->is_directory(ignored) && is_model_folder(at->path())) {
      found.push_back(at->path());
      at.disable_recursion_pending();
    } else if (is_model_file(at->path()) && at->is_regular_file(ignored)) found.push_back(at->path());
  }
  if (trouble) return fail(Fault::Io, "'" + folder + "' cannot be read: " + trouble.message());
  if (found.empty())
    return fail(Fault::Io, "'" + folder +
                               "' holds no model: no SavedModel, and no file that is .keras, .h5, .hdf5, .onnx, .pt2, "
                               ".pt, .pb or .tflite");
  std::ranges::sort(found);
  return found;
}

// What Python can import a module by.
std::string identifier(std::string name) {
  for (char& c : name)
    if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')) c = '_';
  return name.empty() || (name[0] >= '0' && name[0] <= '9') ? "_" + name : name;
}

// Gives every source a port of its own: the one that a ledger says it has, whatever other models came or went, or a name
// that no ledger gave to another.
class Places {
 public:
  Places(fs::path folder, std::string extension, const Ledgers& before)
      : folder_(std::move(folder)),
        extension_(std::move(extension)) {
    for (const auto& [source, entry] : before) {
      const fs::path output = entry.output;
      const fs::path place = output.lexically_relative(folder_);
      const bool is_here = !place.empty() && *place.begin() != "..";
      if (entry.stands() && is_here && output.extension() == extension_ && taken_.insert(output).second)
        before_.emplace(source, output);
    }
  }

  void add(const std::string& source, const fs::path& place) {
    if (!sources_.insert(source).second) return;
    if (const auto before = before_.find(source); before != before_.end()) {
      items_.push_back({source, before->second});
      return;
    }
    const std::string stem = extension_ == ".py" ? identifier(place.stem().string()) : place.stem().string();
    const auto numbered = [&](const std::string& number) {
      return folder_ / place.parent_path() / (stem + number + extension_);
    };
    fs::path output = numbered("");
    for (int number = 2; !taken_.insert(output).second; ++number) output = numbered("_" + std::to_string(number));
    items_.push_back({source, std::move(output)});
  }
  std::vector<BatchItem> take() { return std::move(items_); }

 private:
  fs::path folder_;
  std::string extension_;
  std::set<std::string> sources_;
  std::set<fs::path> taken_;
  std::map<std::string, fs::path> before_;
  std::vector<BatchItem> items_;
};

template <class T>
void read_member(const Json& line, const char* key, T& value) {
  const auto found = line.find(key);
  if (found == line.end()) return;
  if constexpr (std::is_same_v<T, std::string>) {
    if (found->is_string()) value = found->get<std::string>();
  } else if (found->is_number()) value = found->get<T>();
}

Status read_ledger(const fs::path& file, Ledgers& entries) {
  std::ifstream lines(file);
  if (!lines) return fail(Fault::Io, "'" + file.string() + "' cannot be read");
  for (std::string text; std::getline(lines, text);) {
    const auto line = parse_json(text);
    if (!line || !line->is_object()) continue;
    LedgerEntry entry;
    read_member(*line, "file", entry.file);
    read_member(*line, "sha256", entry.sha256);
    read_member(*line, "verdict", entry.verdict);
    read_member(*line, "reason", entry.reason);
    read_member(*line, "seconds", entry.seconds);
    read_member(*line, "memory", entry.memory);
    read_member(*line, "output", entry.output);
    entries[entry.file] = std::move(entry);
  }
  return {};
}

}  // namespace

namespace {

Status add_file(const fs::path& file, Sha256& sum) {
  std::ifstream stream(file, std::ios::binary);
  for (std::vector<char> block(std::size_t{1} << 20); stream;) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    sum.update(std::as_bytes(std::span(block.data(), static_cast<std::size_t>(stream.gcount()))));
  }
  if (!stream.eof()) return fail(Fault::Io, "'" + file.string() + "' cannot be read");
  return {};
}

}  // namespace

Result<std::string> sha256_of_model(const fs::path& model) {
  Sha256 sum;
  std::vector<fs::path> files{model};
  if (is_model_folder(model)) {  // its variables lie beside the graph
    files.clear();
    std::error_code trouble;
    for (fs::recursive_directory_iterator at(model, trouble), end; !trouble && at != end; at.increment(trouble))
      if (std::error_code ignored; at->is_regular_file(ignored)) files.push_back(at->path());
    if (trouble) return fail(Fault::Io, "'" + model.string() + "' cannot be read: " + trouble.message());
    std::ranges::sort(files);
  }
  for (const fs::path& file : files)
    if (auto added = add_file(file, sum); !added) return pass(added);
  return sum.finish_hex();
}

bool names_folder(const std::string& word) {
  std::error_code ignored;
  return fs::is_directory(word, ignored) && !is_model_folder(word);
}

Result<std::vector<BatchItem>> batch_of(const std::vector<std::string>& named, const fs::path& folder,
                                        const std::string& extension, const Ledgers& before) {
  Places places(folder, extension, before);
  for (const std::string& word : named) {
    if (!names_folder(word)) {
      const fs::path file = file_of(word).lexically_normal();
      places.add(word, file.has_filename() ? file.filename() : file.parent_path().filename());
      continue;
    }
    const auto found = models_below(word);
    if (!found) return std::unexpected(found.error());
    for (const fs::path& file : *found) places.add(file.string(), file.lexically_relative(word));
  }
  return places.take();
}

Result<Shard> shard_of(const std::string& word) {
  Shard shard;
  const char *const begin = word.data(), *const end = begin + word.size();
  const auto index = std::from_chars(begin, end, shard.index);
  const bool slash = index.ec == std::errc{} && index.ptr != end && *index.ptr == '/';
  const auto count = slash ? std::from_chars(index.ptr + 1, end, shard.count) : index;
  if (!slash || count.ec != std::errc{} || count.ptr != end || shard.index >= shard.count)
    return fail(Fault::Usage,
                "--shard: '" + word + "' is no part of a whole; write I/N with I from 0 to N - 1, such as 0/8");
  return shard;
}

std::string ledger_line(const LedgerEntry& entry) {
  const Json line{{"file", entry.file},     {"sha256", entry.sha256},   {"verdict", entry.verdict},
                  {"reason", entry.reason}, {"seconds", entry.seconds}, {"memory", entry.memory},
                  {"output", entry.output}};
  return json_text(line) + "\n";
}

fs::path ledger_in(const fs::path& folder, const Shard& shard) {
  if (shard.count == 1) return folder / "ledger.jsonl";
  return folder / ("ledger." + std::to_string(shard.index) + "-of-" + std::to_string(shard.count) + ".jsonl");
}

Result<Ledgers> read_ledgers(const fs::path& folder) {
  std::vector<fs::path> ledgers;
  std::error_code trouble;
  for (fs::directory_iterator at(folder, trouble), end; !trouble && at != end; at.increment(trouble)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("ledger.") && name.ends_with(".jsonl")) ledgers.push_back(at->path());
  }
  if (trouble && trouble != std::errc::no_such_file_or_directory)
    return fail(Fault::Io, "'" + folder.string() + "' cannot be read: " + trouble.message());
  std::ranges::sort(ledgers);
  Ledgers entries;
  for (const fs::path& ledger : ledgers) {
    Ledgers own;
    if (auto read = read_ledger(ledger, own); !read) return pass(read);
    for (auto& [file, entry] : own)
      if (!entries.contains(file) || !entries[file].stands()) entries[file] = std::move(entry);
  }
  return entries;
}

}  // namespace convoy
