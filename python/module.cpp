// The Python module's native part: convoy/model.h as Python calls it. What people call is python/convoy/, which is Python.
#include "convoy/call.h"
#include "convoy/cancellation.h"
#include "convoy/granting.h"
#include "convoy/model.h"
#include "convoy/progress.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

namespace nb = nanobind;

namespace {

using convoy::DType;
using convoy::Tensor;

// Becomes an exception of convoy.errors on its way into Python.
struct Failure : std::exception {
  explicit Failure(convoy::Error e) : error(std::move(e)) {}
  const char* what() const noexcept override { return error.what.c_str(); }
  convoy::Error error;
};

const char* kind_of(convoy::Fault fault) {
  using convoy::Fault;
  switch (fault) {
    case Fault::Format:
    case Fault::Truncated:
    case Fault::Limit:
    case Fault::UnsafePath: return "BrokenFile";
    case Fault::Budget:
    case Fault::Unsupported: return "Unsupported";
    case Fault::Io: return "FileError";
    case Fault::Proof: return "NotProven";
    case Fault::Numeric:  // an index outside of its table
    case Fault::Usage: return "UsageError";
    case Fault::Cancelled:  // only by an interrupt, which is what is raised
    case Fault::Internal: break;
  }
  return "InternalError";
}

// Names in files are any bytes; Python says those that are no UTF-8 by lone surrogates, as it does of file names.
nb::object text(const std::string& bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape"));
}

// What a call asks for beside its work: memory, and a callable that hears what it is at (convoy/progress.h), or None.
struct Asked {
  std::optional<convoy::Size> budget;
  nb::object told;
};

// What the working thread is at, for the thread that waits for it.
class Seen {
 public:
  struct At {
    std::string step, layer;
    std::size_t done, of;
  };
  void see(const convoy::Progress& at) {
    const std::lock_guard lock(guard_);
    at_ = At{std::string(at.step), std::string(at.layer), at.done, at.of};
  }
  std::optional<At> taken() {
    const std::lock_guard lock(guard_);
    return std::exchange(at_, std::nullopt);
  }

 private:
  std::mutex guard_;
  std::optional<At> at_;
};

// What a handler of signals or the caller's own callable raised; null: nothing.
std::exception_ptr raised_meanwhile(const Asked& asked, Seen& seen) {
  try {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    const auto at = asked.told.is_none() ? std::nullopt : seen.taken();
    if (at) asked.told(text(at->step), at->done, at->of, text(at->layer));
  } catch (const nb::python_error&) { return std::current_exception(); }
  return nullptr;
}

// What the library makes while other threads of Python run. Signals reach Python's main thread alone: there, and where progress is
// told, the work is done on another thread, and an interrupt (Ctrl-C) cancels it.
template <class Work>
auto aside(const Asked& asked, const Work& work) -> decltype(work()) {
  const auto granted = [&] {
    std::optional<convoy::Granting> granting;
    if (asked.budget) granting.emplace(*asked.budget);
    return work();
  };
  const nb::object threading = nb::module_::import_("threading");
  if (asked.told.is_none() && !threading.attr("current_thread")().is(threading.attr("main_thread")())) {
    const nb::gil_scoped_release others_run;
    return granted();
  }
  convoy::Cancellation cancellation;
  Seen seen;
  const bool tells = !asked.told.is_none();
  std::optional<decltype(work())> made;
  std::mutex guard;
  std::condition_variable done;
  std::exception_ptr raised;
  {
    const nb::gil_scoped_release others_run;
    std::thread worker([&] {
      const convoy::Listening listening(cancellation);
      std::optional<convoy::Watching> watching;
      if (tells) watching.emplace([&](const convoy::Progress& at) { seen.see(at); });
      auto result = granted();
      const std::lock_guard lock(guard);
      made.emplace(std::move(result));
      done.notify_one();
    });
    constexpr std::chrono::milliseconds between_looks(50);
    for (std::unique_lock lock(guard); !done.wait_for(lock, between_looks, [&] { return made.has_value(); });) {
      lock.unlock();
      if (!raised) {
        const nb::gil_scoped_acquire held;
        raised = raised_meanwhile(asked, seen);
        if (raised) cancellation.cancel();
      }
      lock.lock();
    }
    worker.join();
  }
  if (raised) std::rethrow_exception(raised);
  return *std::move(made);
}

template <class T>
T value_of(convoy::Result<T> result) {
  if (!result) throw Failure(std::move(result.error()));
  return *std::move(result);
}

nb::dlpack::dtype dlpack_of(DType type) {
  using Code = nb::dlpack::dtype_code;
  const auto bits = static_cast<std::uint8_t>(convoy::bytes_of(type) * 8);
  const auto code = [&] {
    switch (type) {
      case DType::BF16: return Code::Bfloat;
      case DType::F16:
      case DType::F32:
      case DType::F64: return Code::Float;
      case DType::Bool: return Code::Bool;
      case DType::U8:
      case DType::U16:
      case DType::U32:
      case DType::U64: return Code::UInt;
      default: return Code::Int;
    }
  }();
  return {static_cast<std::uint8_t>(code), bits, 1};
}

nb::list texts(const std::vector<std::string>& all) {
  nb::list list;
  for (const std::string& one : all) list.append(text(one));
  return list;
}

// File names are bytes.
std::string path_of(const nb::bytes& path) { return {path.c_str(), path.size()}; }

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// Looks at the caller's memory and keeps it alive; the last owner may let go of it on any thread.
Tensor tensor_of(const Array& array) {
  const nb::dlpack::dtype said = array.dtype();
  for (const DType type : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8, DType::I16, DType::I32,
                           DType::I64, DType::U8, DType::U16, DType::U32, DType::U64, DType::Bool}) {
    if (!(said == dlpack_of(type))) continue;
    convoy::Sizes shape;
    for (std::size_t i = 0; i < array.ndim(); ++i) shape.push_back(static_cast<convoy::Size>(array.shape(i)));
    const std::shared_ptr<const void> keeper(new Array(array), [](const void* kept) {
      const nb::gil_scoped_acquire held;
      delete static_cast<const Array*>(kept);
    });
    return value_of(
        Tensor::view(type, std::move(shape), {static_cast<const std::byte*>(array.data()), array.nbytes()}, keeper));
  }
  throw Failure(
      {convoy::Fault::Usage, "an array of this element type is not taken: give float32, float64, int32 or int64", {}});
}

// numpy has no bfloat16, whose numbers are float32's.
nb::ndarray<nb::numpy> array_of(const Tensor& given) {
  const Tensor tensor = given.dtype() == DType::BF16 ? given.converted(DType::F32) : given;
  const auto bytes = tensor.bytes();
  auto* copy = new std::byte[bytes.size() + 1];
  const nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<std::byte*>(p); });
  constexpr std::size_t most = 1 << 25;  // an interrupt need not wait for gigabytes
  for (std::size_t at = 0; at < bytes.size(); at += most) {
    if (at > 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    std::memcpy(copy + at, bytes.data() + at, std::min(most, bytes.size() - at));
  }
  std::vector<std::size_t> shape;
  for (const convoy::Size n : tensor.shape()) shape.push_back(static_cast<std::size_t>(n));
  return {copy, shape.size(), shape.data(), owner, nullptr, dlpack_of(tensor.dtype())};
}

std::vector<Tensor> tensors_of(const std::vector<Array>& arrays) {
  std::vector<Tensor> tensors;
  for (const Array& array : arrays) tensors.push_back(tensor_of(array));
  return tensors;
}

nb::list values_as_tuples(const std::vector<convoy::ModelValue>& values) {
  nb::list all;
  for (const auto& value : values)
    all.append(nb::make_tuple(text(value.name), std::string(name_of(value.dtype)), value.shape));
  return all;
}

nb::dict attributes_as_dict(const std::map<std::string, convoy::ModelAttribute>& attributes) {
  nb::dict all;
  for (const auto& [name, value] : attributes)
    std::visit(
        [&, key = name]<class T>(const T& said) {
          if constexpr (std::is_same_v<T, std::string>) all[key.c_str()] = text(said);
          else if constexpr (std::is_same_v<T, convoy::Sizes>) all[key.c_str()] = nb::tuple(nb::cast(said));
          else all[key.c_str()] = said;
        },
        value);
  return all;
}

nb::list layers_as_tuples(const convoy::Model& model) {
  nb::list all;
  for (const auto& layer : model.layers())
    all.append(nb::make_tuple(text(layer.name), layer.operation, layer.inputs, attributes_as_dict(layer.attributes),
                              layer.output, text(layer.padding), layer.parameters, layer.multiply_adds));
  return all;
}

nb::list run(const convoy::Model& model, const std::vector<Array>& inputs, const convoy::RunSettings& settings,
             const Asked& asked) {
  const auto tensors = tensors_of(inputs);
  const auto outputs = aside(asked, [&] { return model.run(tensors, settings); });
  nb::list all;
  for (const Tensor& one : value_of(outputs)) all.append(array_of(one));
  return all;
}

nb::tuple outcome_as_tuple(const convoy::PortOutcome& outcome) {
  nb::list files;
  for (const auto& one : outcome.files) files.append(nb::make_tuple(text(one.path.string()), one.bytes, one.sha256));
  return nb::make_tuple(outcome.holds, files, text(outcome.text), outcome.json);
}

nb::tuple port(const nb::bytes& file_path, const nb::bytes& output_path, const convoy::PortSettings& settings,
               const convoy::ReadOptions& reading, const Asked& asked) {
  const std::string file = path_of(file_path), output = path_of(output_path);
  return outcome_as_tuple(value_of(aside(asked, [&] { return convoy::port(file, output, settings, reading); })));
}

convoy::DiffSettings diff_settings(const std::vector<Array>& inputs, std::uint64_t seed, int threads) {
  return {.inputs = tensors_of(inputs), .seed = seed, .threads = threads};
}

nb::tuple diff(const convoy::Model& a, const convoy::Model& b, const std::vector<Array>& inputs, std::uint64_t seed,
               int threads, bool page, const Asked& asked) {
  convoy::DiffSettings settings = diff_settings(inputs, seed, threads);
  settings.page = page;
  const auto outcome = value_of(aside(asked, [&] { return convoy::diff(a, b, settings); }));
  nb::list findings;
  for (const auto& one : outcome.findings)
    findings.append(nb::make_tuple(text(one.a), text(one.b), one.cause, one.certain, text(one.change), text(one.torch),
                                   text(one.keras)));
  return nb::make_tuple(outcome.same, findings, text(outcome.text), outcome.json, text(outcome.html));
}

nb::tuple mend(const convoy::Model& a, const convoy::Model& b, const nb::bytes& folder_path,
               const std::vector<Array>& inputs, std::uint64_t seed, int threads, bool overwrites, const Asked& asked) {
  const std::string folder = path_of(folder_path);
  const convoy::DiffSettings settings = diff_settings(inputs, seed, threads);
  return outcome_as_tuple(value_of(aside(asked, [&] { return convoy::mend(a, b, folder, settings, overwrites); })));
}

nb::tuple copy_weights(const nb::bytes& path_a, const nb::bytes& path_b, const nb::bytes& path,
                       const convoy::ReadOptions& reading_a, const convoy::ReadOptions& reading_b, std::uint64_t seed,
                       int threads, const Asked& asked) {
  const std::string a = path_of(path_a), b = path_of(path_b), output = path_of(path);
  const convoy::CopySettings settings{reading_a, reading_b, true, true, seed, threads};
  const auto outcome = value_of(aside(asked, [&] { return convoy::copy_weights(a, b, output, settings); }));
  return nb::make_tuple(outcome.holds, text(outcome.text), outcome.json);
}

nb::list weights(const nb::bytes& path, const Asked& asked) {
  const std::string file = path_of(path);
  nb::list all;
  for (const auto& one : value_of(aside(asked, [&] { return convoy::weights(file); })))
    all.append(nb::make_tuple(text(one.name), array_of(one.tensor)));
  return all;
}

nb::list call(const std::string& framework, const std::string& function,
              const std::vector<std::pair<std::string, Array>>& arrays, const std::string& arguments,
              convoy::Size opset, std::size_t results) {
  std::vector<convoy::NamedArray> given;
  for (const auto& [name, array] : arrays) given.push_back({name, tensor_of(array)});
  const auto made = value_of(aside({std::nullopt, nb::none()}, [&] {
    return convoy::call(framework, function, given, arguments, {opset, results});
  }));
  nb::list all;
  for (const Tensor& one : made) all.append(array_of(one));
  return all;
}

nb::list pad(const std::string& call, const convoy::PadSettings& settings) {
  nb::list all;
  for (const auto& one : value_of(convoy::pad(call, settings))) {
    nb::list axes, lines;
    for (const auto& axis : one.axes)
      axes.append(nb::make_tuple(axis.name, axis.size, axis.before, axis.after, axis.out, axis.formula, axis.cuts));
    for (const auto& line : one.lines)
      lines.append(nb::make_tuple(line.framework, line.code, line.equal, line.holds, line.remark));
    all.append(nb::make_tuple(one.framework, one.function, axes, lines, one.text, one.json, one.svg));
  }
  return all;
}

nb::tuple diff_calls(const std::string& a, const std::string& b, const convoy::PadSettings& settings) {
  const auto outcome = value_of(convoy::diff_calls(a, b, settings));
  return nb::make_tuple(outcome.same, texts(outcome.findings), text(outcome.text), outcome.json);
}

// What is asked for is set field by field, by the names that it has in C++.
void define_settings(nb::module_& m) {
  using namespace nb::literals;
  using convoy::PadSettings, convoy::PortSettings, convoy::ReadOptions, convoy::RunSettings;
  nb::class_<ReadOptions>(m, "ReadOptions")
      .def(nb::init<>())
      .def_prop_rw(
          "weights", [](const ReadOptions& to) { return nb::bytes(to.weights.c_str()); },
          [](ReadOptions& to, const nb::bytes& path) { to.weights = path_of(path); })
      .def_rw("size", &ReadOptions::size)
      .def_rw("shapes", &ReadOptions::shapes)
      .def_prop_rw(
          "types",
          [](const ReadOptions& to) {
            std::map<std::string, std::string> names;
            for (const auto& [input, type] : to.types) names.emplace(input, name_of(type));
            return names;
          },
          [](ReadOptions& to, const std::map<std::string, std::string>& names) {
            to.types.clear();
            for (const auto& [input, name] : names)
              if (const auto type = convoy::type_named(name)) to.types.emplace(input, *type);
              else throw nb::value_error(("'" + name + "' is no element type").c_str());
          })
      .def_rw("outputs", &ReadOptions::outputs)
      .def_rw("dequantizes", &ReadOptions::dequantizes)
      .def_prop_rw(
          "import_roots",
          [](const ReadOptions& to) {
            nb::list all;
            for (const auto& root : to.import_roots) all.append(nb::bytes(root.c_str()));
            return all;
          },
          [](ReadOptions& to, const std::vector<nb::bytes>& roots) {
            to.import_roots.clear();
            for (const nb::bytes& root : roots) to.import_roots.emplace_back(path_of(root));
          })
      .def_rw("seed", &ReadOptions::seed)
      .def_rw("signature", &ReadOptions::signature)
      .def_rw("names", &ReadOptions::names);
  nb::class_<RunSettings>(m, "RunSettings")
      .def(nb::init<>())
      .def_rw("doubles", &RunSettings::doubles)
      .def_rw("threads", &RunSettings::threads)
      .def_rw("plain", &RunSettings::plain)
      .def_rw("direct", &RunSettings::direct);
  nb::class_<PortSettings>(m, "PortSettings")
      .def(nb::init<>())
      .def_rw("to", &PortSettings::to)
      .def_rw("overwrites", &PortSettings::overwrites)
      .def_rw("proves", &PortSettings::proves)
      .def_rw("without", &PortSettings::without)
      .def_rw("source_axes", &PortSettings::source_axes)
      .def_rw("weights_format", &PortSettings::weights_format)
      .def_rw("opset", &PortSettings::opset)
      .def_rw("optimizes", &PortSettings::optimizes)
      .def_rw("external_data", &PortSettings::external_data)
      .def_rw("rounds_to_halves", &PortSettings::rounds_to_halves)
      .def(
          "set_reals",
          [](PortSettings& to, const std::string& name) {
            to.reals = convoy::real_type_named(name);
            return to.reals.has_value();
          },
          "name"_a)
      .def(
          "set_quantized",
          [](PortSettings& to, const std::string& word) {
            to.quantized = convoy::quantized_named(word);
            return to.quantized.has_value();
          },
          "word"_a)
      .def_rw("seed", &PortSettings::seed)
      .def_rw("threads", &PortSettings::threads);
  nb::class_<PadSettings>(m, "PadSettings")
      .def(nb::init<>())
      .def_rw("size", &PadSettings::size)
      .def_rw("kernel", &PadSettings::kernel)
      .def_rw("channels", &PadSettings::channels)
      .def_rw("layout", &PadSettings::layout);
}

}  // namespace

NB_MODULE(_convoy, m) {
  m.attr("version") = CONVOY_VERSION;
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      const nb::object kind = nb::module_::import_("convoy.errors").attr(kind_of(failure.error.fault));
      PyErr_SetObject(kind.ptr(), kind(text(failure.error.what), text(failure.error.where)).ptr());
    }
  });
  using namespace nb::literals;
  nb::class_<Asked>(m, "Asked")
      .def(
          "__init__",
          [](Asked* made, std::optional<convoy::Size> budget, nb::object told) {
            new (made) Asked{budget, std::move(told)};
          },
          "budget"_a.none(), "told"_a.none());
  define_settings(m);
  nb::class_<convoy::Model>(m, "Model")
      .def_prop_ro("name", [](const convoy::Model& model) { return text(model.name()); })
      .def_prop_ro("format", [](const convoy::Model& model) { return text(model.format()); })
      .def_prop_ro("remarks", [](const convoy::Model& model) { return texts(model.remarks()); })
      .def_prop_ro("inputs", [](const convoy::Model& model) { return values_as_tuples(model.inputs()); })
      .def_prop_ro("outputs", [](const convoy::Model& model) { return values_as_tuples(model.outputs()); })
      .def_prop_ro("layers", &layers_as_tuples)
      .def_prop_ro("parameters", &convoy::Model::parameters)
      .def_prop_ro("result_names", [](const convoy::Model& model) { return texts(model.result_names()); })
      .def_prop_ro("dtypes",
                   [](const convoy::Model& model) {
                     nb::list all;
                     for (const DType type : model.dtypes()) all.append(std::string(name_of(type)));
                     return all;
                   })
      .def("summary_text", [](const convoy::Model& model) { return text(model.summary_text()); })
      .def("summary_json", &convoy::Model::summary_json)
      .def(
          "outputs_at",
          [](const convoy::Model& model, const std::vector<std::string>& layers) {
            return value_of(model.outputs_at(layers));
          },
          "layers"_a)
      .def("probing_inputs",
           [](const convoy::Model& model) {
             nb::list all;
             for (const Tensor& one : value_of(model.probing_inputs())) all.append(array_of(one));
             return all;
           })
      .def("fingerprint", &convoy::Model::fingerprint)
      .def("run", &run, "inputs"_a, "settings"_a, "asked"_a);
  m.def(
      "load",
      [](const nb::bytes& path, const convoy::ReadOptions& reading, const Asked& asked) {
        const auto file = path_of(path);
        return value_of(aside(asked, [&] { return convoy::load(file, reading); }));
      },
      "path"_a, "reading"_a, "asked"_a);
  m.def(
      "load_beside",
      [](const convoy::Model& other, const nb::bytes& path, const convoy::ReadOptions& reading, const Asked& asked) {
        const auto file = path_of(path);
        return value_of(aside(asked, [&] { return convoy::load_beside(other, file, reading); }));
      },
      "other"_a, "path"_a, "reading"_a, "asked"_a);
  m.def(
      "load_pair",
      [](const nb::bytes& path_a, const nb::bytes& path_b, const convoy::ReadOptions& reading_a,
         const convoy::ReadOptions& reading_b, const Asked& asked) {
        const auto a = path_of(path_a), b = path_of(path_b);
        auto pair = value_of(aside(asked, [&] { return convoy::load_pair(a, b, reading_a, reading_b); }));
        return std::pair(std::move(pair.a), std::move(pair.b));
      },
      "a"_a, "b"_a, "reading_a"_a, "reading_b"_a, "asked"_a);
  m.def("port", &port, "path"_a, "output"_a, "settings"_a, "reading"_a, "asked"_a);
  m.def("diff", &diff, "a"_a, "b"_a, "inputs"_a, "seed"_a, "threads"_a, "page"_a, "asked"_a);
  m.def("mend", &mend, "a"_a, "b"_a, "folder"_a, "inputs"_a, "seed"_a, "threads"_a, "overwrites"_a, "asked"_a);
  m.def("diff_calls", &diff_calls, "a"_a, "b"_a, "settings"_a);
  m.def("copy_weights", &copy_weights, "a"_a, "b"_a, "output"_a, "reading_a"_a, "reading_b"_a, "seed"_a, "threads"_a,
        "asked"_a);
  m.def("weights", &weights, "path"_a, "asked"_a);
  m.def(
      "functions_of",
      [](const std::string& framework) {
        nb::list all;
        for (const auto& one : value_of(convoy::functions_of(framework)))
          all.append(nb::make_tuple(one.name, one.parameters));
        return all;
      },
      "framework"_a);
  m.def("call", &call, "framework"_a, "function"_a, "arrays"_a, "arguments"_a, "opset"_a, "results"_a);
  m.def("pad", &pad, "call"_a, "settings"_a);
  m.def(
      "address_of",
      [](const Array& array) { return reinterpret_cast<std::uintptr_t>(tensor_of(array).bytes().data()); }, "array"_a);
  m.def("memory_of", [](const std::string& words) { return value_of(convoy::memory_of(words)); }, "words"_a);
}
