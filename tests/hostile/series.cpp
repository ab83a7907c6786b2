// Mutations of real files: every cut, seeded bit flips, and numbers overwritten by the ones that break parsers.
#include "hostile/series.h"

#include "containers/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>

namespace convoy::hostile {
namespace {

using Text = std::shared_ptr<const std::string>;

Series cuts(const Text& file, std::size_t most) {
  const std::size_t count = file->size() <= 8 * most ? file->size() : most;  // every byte of a small file
  return {"cut", "", count,       [file, count](std::size_t i) { return file->substr(0, i * file->size() / count); },
          true,  {}, Door::Reader};
}

Series flips(const Text& file, std::size_t count) {
  return {"flip",
          "",
          count,
          [file](std::size_t i) {
            std::string bytes = *file;
            std::mt19937_64 random(i);
            for (std::size_t flip = 0; flip <= i % 3; ++flip)
              bytes[random() % bytes.size()] ^= static_cast<char>(1U << (random() % 8));
            return bytes;
          },
          false,
          {},
          Door::Reader};
}

// Eight bytes at every fourth place become a number that wraps, points outside, or points back to the start.
Series fields(const Text& file, std::size_t most) {
  static constexpr std::array<std::uint64_t, 6> numbers{
      0, ~std::uint64_t{0}, std::uint64_t{1} << 63, 0x4000000000000001, 96, 0x7FFFFFFF};
  const std::size_t places = file->size() / 4;
  const std::size_t count = std::min(places * numbers.size(), most);
  return {"field",
          "",
          count,
          [file, places, count](std::size_t i) {
            std::string bytes = *file;
            const std::size_t step = i * (places * numbers.size()) / count;
            const std::uint64_t number = numbers[step % numbers.size()];
            const std::size_t at = step / numbers.size() * 4, width = i % 2 == 0 ? 8 : 4;
            for (std::size_t byte = 0; byte < width && at + byte < bytes.size(); ++byte)
              bytes[at + byte] = static_cast<char>(number >> (8 * byte));
            return bytes;
          },
          false,
          {},
          Door::Reader};
}

// Every value of a JSON file becomes each of these; whole lists and objects, too.
Series values(const Text& file, std::size_t most) {
  auto parsed = parse_json(*file);
  if (!parsed) return {"value", "", 0, {}, false, {}, Door::Reader};
  auto leaves = std::make_shared<std::vector<Json::json_pointer>>();
  const Json flat = parsed->flatten();
  for (const auto& [path, value] : flat.items()) {
    Json::json_pointer pointer(path);
    leaves->push_back(pointer);
    pointer.pop_back();
    if (!pointer.empty() && (leaves->size() < 2 || std::ranges::find(*leaves, pointer) == leaves->end()))
      leaves->push_back(pointer);
  }
  static const std::vector<Json> replacements{0,
                                              -1,
                                              2147483648,
                                              4611686018427387905,
                                              1e308,
                                              true,
                                              nullptr,
                                              "",
                                              "../../etc/passwd",
                                              Json::array(),
                                              Json::object(),
                                              Json::array({1000000, 1000000, 1000000, 1000000})};
  const std::size_t all = leaves->size() * replacements.size(), count = std::min(all, most);
  const auto root = std::make_shared<const Json>(std::move(*parsed));
  return {"value",
          "",
          count,
          [root, leaves, all, count](std::size_t i) {
            Json changed = *root;
            const std::size_t step = i * all / count;
            changed[(*leaves)[step / replacements.size()]] = replacements[step % replacements.size()];
            return changed.dump();
          },
          false,
          {},
          Door::Reader};
}

// Every byte becomes each of these; and each a number of ten bytes, which lengthens or shortens what lies around it.
Series bytes_of_messages(const Text& file, std::size_t most) {
  static const std::array<std::string, 8> replacements{std::string(1, '\0'),
                                                       "\x01",
                                                       "\x7f",
                                                       "\x80",
                                                       "\xff",
                                                       "\xff\xff\xff\xff\x07",
                                                       "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                                                       "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"};
  const std::size_t all = file->size() * replacements.size(), count = std::min(all, 4 * most);
  return {"byte",
          "",
          count,
          [file, all, count](std::size_t i) {
            const std::size_t step = i * all / count;
            std::string bytes = *file;
            return bytes.replace(step / replacements.size(), 1, replacements[step % replacements.size()]);
          },
          false,
          {},
          Door::Reader};
}

}  // namespace

std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<Series> series_of(const std::filesystem::path& file, Door door,
                              const std::optional<std::filesystem::path>& weights, std::size_t most) {
  const auto bytes = std::make_shared<const std::string>(contents(file));
  if (bytes->empty()) return {};
  std::vector<Series> all{cuts(bytes, most), flips(bytes, most * 5 / 2), fields(bytes, most * 5 / 2)};
  if (file.extension() == ".json") all.push_back(values(bytes, most * 5 / 2));
  if (file.extension() == ".onnx" || file.extension() == ".pb") all.push_back(bytes_of_messages(bytes, most));
  if (file.extension() == ".pb") all.front().must_fail = false;  // the first nodes of a graph are a graph
  for (Series& series : all) {
    series.name += " of " + file.parent_path().filename().string() + "/" + file.filename().string();
    series.extension = file.extension().string();
    series.weights = weights;
    series.door = door;
  }
  return all;
}

}  // namespace convoy::hostile
