// The tree of model.weights.h5: layers/<class>_<n>/vars/0, 1, 2 ...
#include "formats/keras/weights.h"

#include <cctype>

namespace convoy::keras {
namespace {

bool lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }
bool upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }

class Tree : public WeightSource {
 public:
  Tree(Hdf5Object root, bool checks_names) : root_(std::move(root)), checks_names_(checks_names) {}
  bool nests() const override { return true; }

  Result<Variables> of(const Location& location) override {
    Variables variables;
    std::string path = location.group + "/vars";
    if (!root_.has(path)) {
      // tf.keras 2.12 and 2.13 name the folder of layers otherwise.
      const std::string old = with_old_folder(path);
      if (!root_.has(old)) return variables;
      path = old;
    }
    auto group = root_.group(path);
    if (!group) return pass(group);
    auto children = group->names();
    if (!children) return pass(children);
    if (auto ok = check_name(*group, location); !ok) return pass(ok);
    for (std::size_t i = 0; i < children->size(); ++i) {
      auto tensor = group->dataset(std::to_string(i));
      if (!tensor) return within("array '" + path + "/" + std::to_string(i) + "'", Result<Variables>(pass(tensor)));
      variables.all.push_back({{}, std::move(*tensor), false});
    }
    return variables;
  }

 private:
  static std::string with_old_folder(std::string path) {
    const std::string now = "layers/", old = "_layer_checkpoint_dependencies/";
    for (std::size_t at = path.find(now); at != std::string::npos; at = path.find(now, at + old.size()))
      path.replace(at, now.size(), old);
    return path;
  }

  Status check_name(const Hdf5Object& group, const Location& location) const {
    const bool wrapped = location.group.find("/") != location.group.rfind("/") && location.names.size() == 1;
    if (!checks_names_ || wrapped || location.names.empty()) return {};
    auto name = string_of(group, "name");
    if (!name) return pass(name);
    if (name->empty() || *name == location.names.back()) return {};
    // The inside of a wrapper carries its own name.
    if (!ends_in_class(location.group)) return {};
    return fail(Fault::Format, "group '" + location.group + "/vars' says it holds layer '" + *name + "', expected '" +
                                   location.names.back() + "'");
  }
  // "layers/x/layers/y", not "layers/x/cell".
  static bool ends_in_class(const std::string& group) {
    const auto last = group.rfind('/');
    if (last == std::string::npos) return false;
    const auto before = group.rfind('/', last - 1);
    const auto from = before == std::string::npos ? 0 : before + 1;
    return group.substr(from, last - from) == "layers";
  }

  Hdf5Object root_;
  bool checks_names_;
};

}  // namespace

Location Location::child(const std::string& attribute) const { return {group + "/" + attribute, names}; }

std::string snake_case(const std::string& class_name) {
  std::string words, out;
  for (const char c : class_name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') words += c;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const char c = words[i];
    const bool next_lower = i + 1 < words.size() && lower(words[i + 1]);
    if (i > 0 && upper(c) && (next_lower || lower(words[i - 1]))) out += '_';
    out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

Result<std::unique_ptr<WeightSource>> weights_v3(const Hdf5Object& root, bool checks_names) {
  return std::make_unique<Tree>(root, checks_names);
}

}  // namespace convoy::keras
