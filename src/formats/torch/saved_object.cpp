// Source: torch/_weights_only_unpickler.py.
#include "formats/torch/saved_object.h"

#include "base/budget.h"
#include "formats/torch/checkpoint.h"

#include <set>

namespace convoy::torch {
namespace {

using SavedKind = SavedObject::Kind;

constexpr int deepest = 100;
constexpr Size most_visits = 4'000'000;
constexpr Size most_name_bytes = Size{1} << 30;

std::string joined(const std::string& name, const std::string& word) { return name.empty() ? word : name + "." + word; }

class Reader {
 public:
  Reader(const Pickle& pickle, PickledTensors tensors) : pickle_(pickle), tensors_(std::move(tensors)) {}

  // `name`: the names that lead to it.
  Result<SavedObject> read(PickleId id, const std::string& name, int depth) {
    SavedObject made;
    if (!id) return made;
    if (depth > deepest) return fail(Fault::Limit, "'" + name + "' lies deeper than 100 levels");
    if (++visits_ > most_visits) return fail(Fault::Limit, "more than 4000000 values are reached");
    if ((name_bytes_ += static_cast<Size>(name.size())) > most_name_bytes)
      return fail(Fault::Limit, "the names of what is reached are longer than 1 GiB together");
    const PickleValue& v = pickle_[id];
    switch (v.kind) {
      case PickleKind::None: return made;
      case PickleKind::Bool: made.kind = SavedKind::Bool, made.whole = v.integer; return made;
      case PickleKind::Integer: made.kind = SavedKind::Whole, made.whole = v.integer; return made;
      case PickleKind::Float: made.kind = SavedKind::Real, made.real = v.number; return made;
      case PickleKind::Text: made.kind = SavedKind::Text, made.text = v.text; return made;
      case PickleKind::Dict: return dict(v.items, name, depth);
      case PickleKind::List:
      case PickleKind::Tuple: {
        made.kind = v.kind == PickleKind::List ? SavedKind::List : SavedKind::Tuple;
        for (std::size_t i = 0; i < v.items.size(); ++i) {
          auto item = read(v.items[i], joined(name, std::to_string(i)), depth + 1);
          if (!item) return item;
          if (auto room = budget::afford_one_more(made.items, "what the file holds"); !room) return pass(room);
          made.items.push_back(*std::move(item));
        }
        return made;
      }
      case PickleKind::Call: return call(v, name, depth);
      case PickleKind::Global: made.kind = SavedKind::Other, made.text = v.text; return made;
      default: made.kind = SavedKind::Other; return made;
    }
  }

 private:
  Status add(SavedObject& to, const std::vector<PickleId>& entries, const std::string& name, int depth) {
    for (std::size_t i = 0; i + 1 < entries.size(); i += 2) {
      const PickleValue& key = pickle_[entries[i]];
      const bool is_word = key.kind == PickleKind::Text, is_number = key.kind == PickleKind::Integer;
      if (!is_word && !is_number) continue;
      const std::string word = is_word ? key.text : std::to_string(key.integer);
      auto item = read(entries[i + 1], joined(name, word), depth + 1);
      if (!item) return pass(item);
      SavedObject named;
      named.kind = is_word ? SavedKind::Text : SavedKind::Whole;
      named.whole = key.integer;
      if (is_word) named.text = key.text;
      if (auto room = budget::afford_one_more(to.items, "what the file holds"); !room) return room;
      to.keys.push_back(std::move(named));
      to.items.push_back(*std::move(item));
    }
    return {};
  }

  Result<SavedObject> dict(const std::vector<PickleId>& entries, const std::string& name, int depth) {
    SavedObject made{.kind = SavedKind::Dict};
    if (auto done = add(made, entries, name, depth); !done) return pass(done);
    return made;
  }

  Result<SavedObject> call(const PickleValue& call, const std::string& name, int depth) {
    const std::string_view callee = pickle_.global(call.callee);
    SavedObject made{.kind = SavedKind::Other, .text = std::string(callee)};
    if (PickledTensors::makes_tensor(callee)) {
      auto tensor = within("tensor '" + name + "'", tensors_.tensor_of(call));
      if (!tensor) return pass(tensor);
      if (*tensor) made.kind = SavedKind::Tensor, made.tensor = std::move(**tensor);
      return made;
    }
    if (callee == "collections OrderedDict" || callee == "collections defaultdict") {
      made.kind = SavedKind::Dict;
      // An older OrderedDict is called with a list of pairs.
      if (pickle_.is(call.arguments, PickleKind::Tuple))
        for (const PickleId argument : pickle_[call.arguments].items)
          if (pickle_.is(argument, PickleKind::List))
            for (const PickleId pair : pickle_[argument].items)
              if ((pickle_.is(pair, PickleKind::List) || pickle_.is(pair, PickleKind::Tuple)) &&
                  pickle_[pair].items.size() == 2)
                if (auto done = add(made, pickle_[pair].items, name, depth); !done) return pass(done);
      if (auto done = add(made, call.entries, name, depth); !done) return pass(done);
      return made;
    }
    // A module: what it holds is in its state.
    if (!pickle_.at(call.state, "_modules") && !pickle_.at(call.state, "_parameters")) return made;
    made.kind = SavedKind::Module;
    for (const char* part : {"_parameters", "_buffers", "_modules"}) {
      auto held = read(pickle_.at(call.state, part), name, depth + 1);
      if (!held) return held;
      made.keys.push_back(SavedObject{.kind = SavedKind::Text, .text = part});
      made.items.push_back(*std::move(held));
    }
    return made;
  }

  const Pickle& pickle_;
  PickledTensors tensors_;
  Size visits_ = 0, name_bytes_ = 0;
};

class Lister {
 public:
  std::vector<LoadedTensor> found;

  Status list(SavedObject& object, const std::string& name) {
    if (object.tensor) {
      if (!names_.insert(name).second) return fail(Fault::Format, "'" + name + "' is there twice");
      found.push_back({name, *std::move(object.tensor)});
      return {};
    }
    for (std::size_t i = 0; i < object.items.size(); ++i)
      if (auto done = list(object.items[i], named(object, i, name)); !done) return done;
    return {};
  }

 private:
  static std::string named(const SavedObject& object, std::size_t i, const std::string& name) {
    if (object.kind == SavedKind::Module) return name;
    if (object.keys.empty()) return joined(name, std::to_string(i));
    const SavedObject& key = object.keys[i];
    return joined(name, key.kind == SavedKind::Text ? key.text : std::to_string(key.whole));
  }

  std::set<std::string> names_;
};

}  // namespace

Result<SavedObject> saved_object(const Pickle& pickle, PickledTensors tensors) {
  return Reader(pickle, std::move(tensors)).read(pickle.root(), "", 0);
}

Result<std::vector<LoadedTensor>> named_tensors(SavedObject object) {
  Lister lister;
  if (auto done = lister.list(object, ""); !done) return pass(done);
  return std::move(lister.found);
}

}  // namespace convoy::torch
