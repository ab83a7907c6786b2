// The objects of a TorchScript archive: modules with their attributes out of data.pkl, and the names of their code.
#pragma once
#include "containers/pickle.h"
#include "formats/torch/pickled_tensor.h"
#include "formats/torch/source/tracer.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace convoy::torch {

// The code of an archive: "__torch__.torch.nn.functional" by its text.
class ScriptCode {
 public:
  // `root`: what stands in front of every member, "net/".
  ScriptCode(const ZipArchive& zip, std::string root);
  // Nothing: there is no such file.
  Result<std::optional<python::SourceFile>> find(const std::string& module) const;
  bool holds(const std::string& module) const;
  bool leads_on(const std::string& name) const { return folders_.contains(name); }

 private:
  const ZipArchive& zip_;
  std::string root_;
  std::set<std::string> files_, folders_;  // by their names in code
};

// A module of the archive. Calling a method of it names the layers that the call makes.
class ScriptModule : public python::Object {
 public:
  ScriptModule(Tracer& in, python::Class* of, std::string name) : tracer(in), type(of), path(std::move(name)) {}
  std::string type_name() const override { return type->name; }
  Result<std::optional<python::Value>> attribute(python::Interpreter& in, const std::string& name) override;
  Status set_attribute(python::Interpreter&, const std::string& name, python::Value) override;

  Tracer& tracer;
  python::Class* const type;
  const std::string path;
  python::NameTable attributes;
};

// What torch, ops, CONSTANTS and __torch__ mean in this code, and what its words for types and constants do.
class ScriptLibrary : public python::Library {
 public:
  ScriptLibrary(Tracer& tracer, const ScriptCode& code) : tracer_(tracer), code_(code) {}
  Result<std::optional<python::Value>> module(python::Interpreter&, const std::string&) override {
    return std::nullopt;
  }
  Result<std::optional<python::Value>> implied(python::Interpreter& in, const std::string& name) override;
  bool has_private_names() const override { return false; }  // ___torch_mangle_7 is one name everywhere
  python::ValueList constants;

 private:
  Tracer& tracer_;
  const ScriptCode& code_;
};

// `int`, `float` and `bool` of sizes that are free and of tensors that hold one known number.
void replace_numbers(Tracer& tracer, python::Interpreter& in);

// Values of a pickle as the code sees them. Fails: what reads no class of the code, tensors beyond their storage.
class ScriptObjects {
 public:
  ScriptObjects(Tracer& tracer, python::Interpreter& in, const Pickle& pickle, PickledTensors tensors)
      : tracer_(tracer),
        in_(in),
        pickle_(pickle),
        tensors_(std::move(tensors)) {}
  Result<python::Value> value(PickleId id, const std::string& path, bool trainable = false, int depth = 0);

 private:
  Result<python::Value> made(const PickleValue& value, PickleId id, const std::string& path, bool trainable, int depth);
  Result<python::Value> called(const PickleValue& call, PickleId id, const std::string& path, bool trainable,
                               int depth);
  Result<python::Value> module(const PickleValue& call, PickleId id, const std::string& callee, const std::string& path,
                               int depth);
  Result<python::ValueList> items(const PickleValue& value, const std::string& path, int depth);

  Tracer& tracer_;
  python::Interpreter& in_;
  const Pickle& pickle_;
  PickledTensors tensors_;
  std::map<PickleId, python::Value> known_;
};

}  // namespace convoy::torch
