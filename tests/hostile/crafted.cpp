// Hostile files made by hand. Each says what is wrong with it; none of them may be read.
#include "hostile/series.h"

#include "base/crc32.h"
#include "containers/zip.h"

#include <memory>
#include <utility>

namespace convoy::hostile {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

void put(std::string& out, std::uint64_t number, int width) {
  for (int i = 0; i < width; ++i) out += static_cast<char>(i < 8 ? number >> (8 * i) : 0);
}

// A zip of stored members without any of the care our own writer takes: names may repeat or lead elsewhere.
std::string zip_of(const Files& files, std::uint32_t size_lie = 0) {
  std::string out, directory;
  for (const auto& [name, content] : files) {
    const auto at = out.size();
    const std::uint32_t crc = crc32_of(bytes_of(content));
    const auto size = static_cast<std::uint32_t>(content.size()) + size_lie;
    std::string common;
    put(common, 20, 2);  // version needed
    put(common, 0, 8);   // flags, method, time, date
    put(common, crc, 4);
    put(common, size, 4);
    put(common, size, 4);
    put(common, name.size(), 2);
    put(common, 0, 2);
    out += "PK\x03\x04" + common + name + content;
    directory += "PK\x01\x02";
    put(directory, 20, 2);
    directory += common;
    put(directory, 0, 10);  // comment, disk, attributes
    put(directory, at, 4);
    directory += name;
  }
  const auto at = out.size();
  out += directory + "PK\x05\x06";
  put(out, 0, 4);
  put(out, files.size(), 2);
  put(out, files.size(), 2);
  put(out, directory.size(), 4);
  put(out, at, 4);
  put(out, 0, 2);
  return out;
}

std::string repeated(std::string_view part, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += part;
  return out;
}

std::string sequential(const std::string& layers) {
  return R"({"class_name": "Sequential", "config": {"name": "s", "layers": [)" + layers + "]}}";
}

std::string input(const std::string& shape) {
  return R"({"class_name": "InputLayer", "config": {"name": "x", "dtype": "float32", "batch_shape": )" + shape + "}}";
}

Files texts() {
  const std::string nested = R"({"class_name": "Sequential", "config": {"name": "n", "layers": [)";
  return {
      {"lists nested 200,000 deep", repeated("[", 200000)},
      {"objects nested 100,000 deep", repeated("{\"a\":", 100000)},
      {"models nested 10,000 deep", repeated(nested, 10000) + repeated("]}}", 10000)},
      {"models nested 150 deep", repeated(nested, 150) + repeated("]}}", 150)},
      {"a number of 100,000 digits", "{\"class_name\": " + repeated("9", 100000) + "}"},
      {"a key given twice", R"({"class_name": "Sequential", "class_name": "Functional", "config": {}})"},
      {"an input of 8e18 numbers",
       sequential(
           input("[null, 2000000000, 2000000000, 2]") +
           R"(, {"class_name": "Flatten", "config": {"name": "f"}}, {"class_name": "Dense", "config": {"name": "d", "units": 2000000000}})")},
      {"an upsampling by 2^40",
       sequential(
           input("[null, 4, 5, 2]") +
           R"(, {"class_name": "UpSampling2D", "config": {"name": "u", "size": [1099511627776, 1099511627776]}})")},
      {"a padding of 2^62",
       sequential(
           input("[null, 4, 5, 2]") +
           R"(, {"class_name": "ZeroPadding2D", "config": {"name": "p", "padding": [[4611686018427387904, 4611686018427387904], [0, 0]]}})")},
      {"a vector repeated 2^62 times",
       sequential(input("[null, 4]") +
                  R"(, {"class_name": "RepeatVector", "config": {"name": "r", "n": 4611686018427387904}})")},
      {"a pool of stride 0",
       sequential(
           input("[null, 4, 5, 2]") +
           R"(, {"class_name": "MaxPooling2D", "config": {"name": "p", "pool_size": [2, 2], "strides": [0, 1]}})")},
      {"a pool of a negative window",
       sequential(
           input("[null, 4, 5, 2]") +
           R"(, {"class_name": "AveragePooling2D", "config": {"name": "p", "pool_size": [-2, 2], "strides": [1, 1]}})")},
      {"a layer that reads itself",
       R"({"class_name": "Functional", "config": {"name": "m", "layers": [{"class_name": "ReLU", "name": "a", "config": {"name": "a"},
          "inbound_nodes": [[["a", 0, 0, {}]]]}], "input_layers": [["a", 0, 0]], "output_layers": [["a", 0, 0]]}})"},
      {"two layers that read each other",
       R"({"class_name": "Functional", "config": {"name": "m", "layers": [
          {"class_name": "ReLU", "name": "a", "config": {"name": "a"}, "inbound_nodes": [[["b", 0, 0, {}]]]},
          {"class_name": "ReLU", "name": "b", "config": {"name": "b"}, "inbound_nodes": [[["a", 0, 0, {}]]]}],
          "input_layers": [["a", 0, 0]], "output_layers": [["b", 0, 0]]}})"},
      {"code in a Lambda",
       sequential(
           input("[null, 4]") +
           R"(, {"class_name": "Lambda", "config": {"name": "evil", "function": ["4wEAAAAAAAAA", null, null]}})")},
      {"a module to import", R"({"class_name": "system", "module": "os", "config": {"command": "touch /tmp/x"}})"},
      {"nothing", ""},
      {"a half surrogate", "\"\\ud800\""},
      {"bytes that are no UTF-8", "{\"class_name\": \"\xff\xfe\"}"},
  };
}

Files archives(const std::string& config, const std::string& weights) {
  const std::string meta = R"({"keras_version": "3.15.1"})";
  Files all;
  const auto add = [&](const std::string& name, const Files& members, std::uint32_t lie = 0) {
    all.emplace_back(name, zip_of(members, lie));
  };
  const Files whole{{"metadata.json", meta}, {"config.json", config}, {"model.weights.h5", weights}};
  const auto with = [&](const std::string& name, const std::string& content) {
    Files members = whole;
    members.emplace_back(name, content);
    return members;
  };
  add("two members named config.json", with("config.json", "{}"));
  add("two members of weights", with("model.weights.h5", weights));
  add("a member above the folder", with("../x", "x"));
  add("a member at the root", with("/etc/passwd", "x"));
  add("a member behind a backslash", with("a\\..\\x", "x"));
  add("a member on a drive", with("C:x", "x"));
  add("a member in the middle of nowhere", with("a/../../x", "x"));
  add("sizes that reach past the end", whole, 1000000);
  add("sizes that wrap", whole, 0xFFFFFF00U);
  add("no config", {{"metadata.json", meta}, {"model.weights.h5", weights}});
  add("no weights", {{"metadata.json", meta}, {"config.json", config}});
  add("weights that are no HDF5", {{"metadata.json", meta}, {"config.json", config}, {"model.weights.h5", "no"}});
  all.emplace_back("an end record alone", std::string("PK\x05\x06") + std::string(18, '\0'));
  all.emplace_back("two archives in a row", zip_of(whole) + zip_of(whole));
  all.emplace_back("bytes behind the archive", zip_of(whole) + "hidden");
  all.emplace_back("bytes before the archive", "hidden" + zip_of(whole));
  return all;
}

std::vector<Series> one_each(const Files& files, const std::string& extension) {
  std::vector<Series> all;
  for (const auto& [name, bytes] : files)
    all.push_back({name, extension, 1, [bytes](std::size_t) { return bytes; }, true, {}, Door::Reader});
  return all;
}

}  // namespace

std::vector<Series> crafted(const std::filesystem::path& folder) {
  std::vector<Series> all = one_each(texts(), ".json");
  const auto archived =
      one_each(archives(contents(folder / "model.json"), contents(folder / "model.weights.h5")), ".keras");
  all.insert(all.end(), archived.begin(), archived.end());
  const std::string signature = "\x89HDF\r\n\x1a\n";
  const auto hdf5 = one_each({{"a signature alone", signature},
                              {"a signature and zeros", signature + std::string(4096, '\0')},
                              {"a signature and ones", signature + std::string(4096, '\xff')}},
                             ".h5");
  all.insert(all.end(), hdf5.begin(), hdf5.end());
  return all;
}

}  // namespace convoy::hostile
