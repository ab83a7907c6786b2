// From the pasted call to cells per axis.
#include "explain/pad_list.h"

#include "base/words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace convoy::explain {
namespace {

using python::Expression;
using python::Kind;

// How a call writes its counts down.
enum class Writing : std::uint8_t {
  LastAxisFirst,  // F.pad, nn.ReflectionPad2d: pairs from the last axis on
  AxisPairs,      // tf.pad: one pair for every axis
  Spatial,        // Keras layers: one number, pair or pairs for the spatial axes
  Numpy,          // one number or pair for all axes, or one pair for every axis
  BeginsEnds      // ONNX: all begins, then all ends
};

struct Reads {
  std::string_view name;  // behind the last point
  std::string_view parameters;
  Writing writing;
  std::size_t space = 0;  // spatial axes that the name says
  PadMode mode = PadMode::Constant;
  bool cuts = false;  // the counts are cut off
};

constexpr std::string_view layer_words = "padding value";
constexpr std::array reads{
    Reads{"ZeroPad1d", layer_words, Writing::LastAxisFirst, 1},
    Reads{"ZeroPad2d", layer_words, Writing::LastAxisFirst, 2},
    Reads{"ZeroPad3d", layer_words, Writing::LastAxisFirst, 3},
    Reads{"ConstantPad1d", layer_words, Writing::LastAxisFirst, 1},
    Reads{"ConstantPad2d", layer_words, Writing::LastAxisFirst, 2},
    Reads{"ConstantPad3d", layer_words, Writing::LastAxisFirst, 3},
    Reads{"ReflectionPad1d", "padding", Writing::LastAxisFirst, 1, PadMode::Reflect},
    Reads{"ReflectionPad2d", "padding", Writing::LastAxisFirst, 2, PadMode::Reflect},
    Reads{"ReflectionPad3d", "padding", Writing::LastAxisFirst, 3, PadMode::Reflect},
    Reads{"ReplicationPad1d", "padding", Writing::LastAxisFirst, 1, PadMode::Edge},
    Reads{"ReplicationPad2d", "padding", Writing::LastAxisFirst, 2, PadMode::Edge},
    Reads{"ReplicationPad3d", "padding", Writing::LastAxisFirst, 3, PadMode::Edge},
    Reads{"CircularPad1d", "padding", Writing::LastAxisFirst, 1, PadMode::Wrap},
    Reads{"CircularPad2d", "padding", Writing::LastAxisFirst, 2, PadMode::Wrap},
    Reads{"CircularPad3d", "padding", Writing::LastAxisFirst, 3, PadMode::Wrap},
    Reads{"ZeroPadding1D", "padding data_format", Writing::Spatial, 1},
    Reads{"ZeroPadding2D", "padding data_format", Writing::Spatial, 2},
    Reads{"ZeroPadding3D", "padding data_format", Writing::Spatial, 3},
    Reads{"Cropping1D", "cropping data_format", Writing::Spatial, 1, PadMode::Constant, true},
    Reads{"Cropping2D", "cropping data_format", Writing::Spatial, 2, PadMode::Constant, true},
    Reads{"Cropping3D", "cropping data_format", Writing::Spatial, 3, PadMode::Constant, true},
    Reads{"Pad", "pads mode value axes", Writing::BeginsEnds},
};
// `pad` belongs to several: what stands in front of the point decides.
constexpr Reads torch_pad{"F.pad", "input pad mode value", Writing::LastAxisFirst};
constexpr Reads tensorflow_pad{"tf.pad", "tensor paddings mode constant_values name", Writing::AxisPairs};
constexpr Reads keras_pad{"keras.ops.pad", "x pad_width mode constant_values", Writing::Numpy};
constexpr Reads numpy_pad{"np.pad", "array pad_width mode constant_values", Writing::Numpy};

const Reads* reads_of(std::string_view dotted) {
  const auto point = dotted.rfind('.');
  const std::string_view last = point == std::string_view::npos ? dotted : dotted.substr(point + 1);
  if (last == "pad") {
    const std::string_view front = point == std::string_view::npos ? "" : dotted.substr(0, point);
    if (front == "tf" || front == "tensorflow") return &tensorflow_pad;
    if (front.ends_with("np") || front == "numpy") return &numpy_pad;
    if (front.ends_with("ops")) return &keras_pad;
    if (front == "F" || front.ends_with("functional")) return &torch_pad;
    return nullptr;
  }
  const auto found = std::ranges::find(reads, last, &Reads::name);
  return found == reads.end() ? nullptr : &*found;
}

struct Word {
  std::string_view word;
  PadMode mode;
  std::string_view said_by;  // letters of the frameworks: t(orch) f (TensorFlow) k(eras) n(umPy) o(nnx)
};
constexpr std::array words{Word{"constant", PadMode::Constant, "tfkno"},
                           Word{"reflect", PadMode::Reflect, "tfkno"},
                           Word{"symmetric", PadMode::Symmetric, "fkn"},
                           Word{"replicate", PadMode::Edge, "t"},
                           Word{"circular", PadMode::Wrap, "t"},
                           Word{"edge", PadMode::Edge, "no"},
                           Word{"wrap", PadMode::Wrap, "no"}};

char letter_of(Writing writing, bool keras) {
  switch (writing) {
    case Writing::LastAxisFirst: return 't';
    case Writing::AxisPairs: return 'f';
    case Writing::Spatial: return 'k';
    case Writing::Numpy: return keras ? 'k' : 'n';
    case Writing::BeginsEnds: return 'o';
  }
  return 't';
}

constexpr Size most_cells_added = Size{1} << 40;

class PadListReader {
 public:
  PadListReader(const Reads& how, const Expression& call) : how_(how), call_(call) {}

  Result<PadList> read(const std::string& layout, const std::vector<std::optional<Size>>& size);

 private:
  std::unexpected<Error> wrong(std::string what) const { return fail(Fault::Usage, std::move(what)); }
  std::unexpected<Error> open(const Expression& name) const;
  Status bind();
  const Expression* given(std::string_view name) const {
    for (const auto& [known, value] : given_)
      if (known == name) return value->kind == Kind::None ? nullptr : value;
    return nullptr;
  }
  Status mode(PadList& list) const;
  Result<Size> number(const Expression& e) const;
  Result<Sizes> numbers(const Expression& e) const;
  Result<std::vector<Added>> pairs(const Expression& e) const;
  // Cells of some axes, in the order of x; `all`: of every axis of x.
  struct Counts {
    std::vector<Added> cells;
    bool all = false;
  };
  Result<Counts> counts(std::size_t rank) const;
  Result<Counts> numpy_counts(const Expression& e, std::size_t rank) const;
  Result<Counts> spatial_counts(const Expression& e) const;
  Result<Counts> onnx_counts(const Expression& e, std::size_t rank) const;
  Result<Counts> last_first(const Expression& e) const;

  const Reads& how_;
  const Expression& call_;
  std::vector<std::pair<std::string, const Expression*>> given_;
};

Status PadListReader::bind() {
  const auto names = words_in(how_.parameters);
  std::size_t place = 0;
  // ONNX names its attributes; the tensor in front of them is not among these parameters.
  if (how_.writing == Writing::BeginsEnds) place = names.size();
  for (const auto& argument : call_.arguments) {
    if (!argument.keyword.empty()) {
      std::string name = argument.keyword;
      if (name == "constant_value" && how_.writing == Writing::BeginsEnds) name = "value";
      if (name == "paddings" && how_.writing == Writing::BeginsEnds) name = "pads";  // operator set 1
      if (std::ranges::find(names, name) == names.end())
        return wrong(
            fmt::format("{} has no argument '{}'; it has {}", how_.name, argument.keyword, fmt::join(names, ", ")));
      given_.emplace_back(name, &argument.value);
    } else if (how_.writing == Writing::BeginsEnds) {
      if (argument.value.kind == Kind::Name) continue;  // the tensor
      if (!given("pads")) given_.emplace_back("pads", &argument.value);
    } else {
      if (place >= names.size()) return wrong(fmt::format("{} takes {} arguments", how_.name, names.size()));
      given_.emplace_back(names[place++], &argument.value);
    }
  }
  return {};
}

std::unexpected<Error> PadListReader::open(const Expression& e) const {
  return wrong(fmt::format("{}: '{}' is not evaluated; write what it stands for", how_.name, e.text));
}

Result<Size> PadListReader::number(const Expression& e) const {
  if (e.kind == Kind::Name) return open(e);
  if (e.kind != Kind::Integer) return wrong(fmt::format("{}: a count of cells is a whole number", how_.name));
  if (e.integer > most_cells_added || e.integer < -most_cells_added)
    return wrong(fmt::format("{}: {} cells are beyond the limit of {}", how_.name, e.integer, most_cells_added));
  return e.integer;
}

Result<Sizes> PadListReader::numbers(const Expression& e) const {
  if (e.kind == Kind::Name) return open(e);
  if (e.kind != Kind::Tuple && e.kind != Kind::List)
    return wrong(fmt::format("{} takes a list of counts here", how_.name));
  Sizes all;
  for (const auto& item : e.items) {
    const auto n = number(item);
    if (!n) return std::unexpected(n.error());
    all.push_back(*n);
  }
  return all;
}

bool nested(const Expression& e) {
  return !e.items.empty() && (e.items.front().kind == Kind::Tuple || e.items.front().kind == Kind::List);
}

Result<std::vector<Added>> PadListReader::pairs(const Expression& e) const {
  if (e.kind == Kind::Name) return open(e);
  if ((e.kind != Kind::Tuple && e.kind != Kind::List) || !nested(e))
    return wrong(fmt::format("{} takes one pair for each axis, such as [[0, 0], [1, 2], [3, 4], [0, 0]]", how_.name));
  std::vector<Added> all;
  for (const auto& item : e.items) {
    const auto two = numbers(item);
    if (!two) return std::unexpected(two.error());
    if (two->size() != 2)
      return wrong(fmt::format("{}: the pair of axis {} has {} numbers", how_.name, all.size(), two->size()));
    all.push_back({(*two)[0], (*two)[1]});
  }
  return all;
}

Result<PadListReader::Counts> PadListReader::last_first(const Expression& e) const {
  if (e.kind == Kind::Integer && how_.space > 0) {
    const auto n = number(e);
    if (!n) return std::unexpected(n.error());
    return Counts{std::vector<Added>(how_.space, {*n, *n}), false};
  }
  const auto list = numbers(e);
  if (!list) return std::unexpected(list.error());
  if (list->size() % 2 != 0)
    return fail(Fault::Unsupported, fmt::format("{} takes pairs, and {} numbers are none", how_.name, list->size()));
  if (how_.space > 0 && list->size() != 2 * how_.space)
    return fail(Fault::Unsupported,
                fmt::format("{} takes {} numbers, here are {}", how_.name, 2 * how_.space, list->size()));
  Counts counts;
  for (std::size_t i = list->size(); i >= 2; i -= 2) counts.cells.push_back({(*list)[i - 2], (*list)[i - 1]});
  return counts;
}

Result<PadListReader::Counts> PadListReader::spatial_counts(const Expression& e) const {
  if (e.kind == Kind::Integer) {
    const auto n = number(e);
    if (!n) return std::unexpected(n.error());
    return Counts{std::vector<Added>(how_.space, {*n, *n}), false};
  }
  if (nested(e)) {
    auto cells = pairs(e);
    if (!cells) return pass(cells);
    if (cells->size() != how_.space)
      return fail(Fault::Unsupported,
                  fmt::format("{} takes {} pairs, here are {}", how_.name, how_.space, cells->size()));
    return Counts{std::move(*cells), false};
  }
  const auto list = numbers(e);
  if (!list) return std::unexpected(list.error());
  if (how_.space == 1 && list->size() == 2) return Counts{{{(*list)[0], (*list)[1]}}, false};
  if (how_.space == 1 || list->size() != how_.space)
    return fail(Fault::Unsupported, fmt::format("{} takes a number, {} numbers or {} pairs; here are {} numbers",
                                                how_.name, how_.space == 1 ? 2 : how_.space, how_.space, list->size()));
  Counts counts;
  for (const Size n : *list) counts.cells.push_back({n, n});
  return counts;
}

Result<PadListReader::Counts> PadListReader::numpy_counts(const Expression& e, std::size_t rank) const {
  if (nested(e) && e.items.size() > 1) {
    auto cells = pairs(e);
    if (!cells) return pass(cells);
    return Counts{std::move(*cells), true};
  }
  if (rank == 0)
    return wrong(
        fmt::format("{} means every axis here; say with --layout which there are, such as --layout NHWC", how_.name));
  if (e.kind == Kind::Integer) {
    const auto n = number(e);
    if (!n) return std::unexpected(n.error());
    return Counts{std::vector<Added>(rank, {*n, *n}), true};
  }
  const auto list = numbers(nested(e) ? e.items.front() : e);
  if (!list) return std::unexpected(list.error());
  if (list->size() != 2) return wrong(fmt::format("{} takes a pair for all axes or one for each", how_.name));
  return Counts{std::vector<Added>(rank, {(*list)[0], (*list)[1]}), true};
}

Result<PadListReader::Counts> PadListReader::onnx_counts(const Expression& e, std::size_t rank) const {
  const auto list = numbers(e);
  if (!list) return std::unexpected(list.error());
  if (list->size() % 2 != 0)
    return fail(Fault::Unsupported,
                fmt::format("pads holds all begins, then all ends; {} numbers cannot", list->size()));
  const std::size_t half = list->size() / 2;
  std::vector<Added> cells;
  for (std::size_t i = 0; i < half; ++i) cells.push_back({(*list)[i], (*list)[half + i]});
  const Expression* axes = given("axes");
  if (!axes) return Counts{std::move(cells), true};
  const auto chosen = numbers(*axes);
  if (!chosen) return std::unexpected(chosen.error());
  if (chosen->size() != half)
    return fail(Fault::Unsupported, fmt::format("axes lists {} axes, pads has pairs for {}", chosen->size(), half));
  if (rank == 0)
    return wrong("axes counts from the front; say with --layout which axes there are, such as --layout NCHW");
  std::vector<Added> all(rank);
  for (std::size_t i = 0; i < half; ++i) {
    const Size axis = (*chosen)[i] + ((*chosen)[i] < 0 ? static_cast<Size>(rank) : 0);
    if (axis < 0 || axis >= static_cast<Size>(rank))
      return fail(Fault::Unsupported, fmt::format("axes names axis {} of {}", (*chosen)[i], rank));
    all[static_cast<std::size_t>(axis)] = cells[i];
  }
  return Counts{std::move(all), true};
}

Result<PadListReader::Counts> PadListReader::counts(std::size_t rank) const {
  static constexpr std::array names{"pad", "paddings", "padding", "cropping", "pad_width", "pads"};
  for (const char* name : names)
    if (const Expression* e = given(name)) switch (how_.writing) {
        case Writing::LastAxisFirst: return last_first(*e);
        case Writing::Spatial: return spatial_counts(*e);
        case Writing::Numpy: return numpy_counts(*e, rank);
        case Writing::BeginsEnds: return onnx_counts(*e, rank);
        case Writing::AxisPairs: {
          auto cells = pairs(*e);
          if (!cells) return pass(cells);
          return Counts{std::move(*cells), true};
        }
      }
  if (how_.writing == Writing::Spatial) return Counts{std::vector<Added>(how_.space, {1, 1}), false};  // its default
  return wrong(fmt::format("{} says no counts", how_.name));
}

Status PadListReader::mode(PadList& list) const {
  list.mode = how_.mode;
  const char letter = letter_of(how_.writing, &how_ == &keras_pad);
  if (const Expression* e = given("mode")) {
    std::string said = e->kind == Kind::String ? e->text : "";
    std::ranges::transform(said, said.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    const auto found = std::ranges::find_if(
        words, [&](const Word& w) { return w.word == said && w.said_by.find(letter) != std::string_view::npos; });
    if (found == words.end()) {
      std::string has;
      for (const Word& w : words)
        if (w.said_by.find(letter) != std::string_view::npos)
          has += fmt::format("{}'{}'", has.empty() ? "" : ", ", w.word);
      return fail(Fault::Unsupported, fmt::format("{} has no mode '{}'; it has {}", how_.name, said, has));
    }
    list.mode = found->mode;
  }
  for (const char* name : {"value", "constant_values"})
    if (const Expression* e = given(name)) {
      if (e->kind != Kind::Integer && e->kind != Kind::Real)
        return wrong(fmt::format("{}: the value is no number", how_.name));
      list.value = e->kind == Kind::Integer ? static_cast<double>(e->integer) : e->real;
    }
  return {};
}

std::string letters(std::size_t rank) {
  std::string all;
  for (std::size_t i = 0; i < rank; ++i) all += static_cast<char>('a' + i);
  return all;
}

std::string usual_axes(std::size_t space, bool channels_last) {
  static constexpr std::array<const char*, 4> spaces{"", "W", "HW", "DHW"};
  if (space < 1 || space > 3) return "";
  return channels_last ? fmt::format("N{}C", spaces[space]) : fmt::format("NC{}", spaces[space]);
}

Status check_layout(const std::string& layout) {
  std::string seen;
  for (const char c : layout) {
    if (std::string_view("NCDHW").find(c) == std::string_view::npos || seen.find(c) != std::string::npos)
      return fail(Fault::Usage, fmt::format("--layout {}: write N, C, D, H and W, each once, such as NCHW", layout));
    seen += c;
  }
  return {};
}

Result<PadList> PadListReader::read(const std::string& layout, const std::vector<std::optional<Size>>& size) {
  if (auto s = check_layout(layout); !s) return pass(s);
  if (auto s = bind(); !s) return pass(s);
  PadList list;
  list.call = how_.name;
  if (auto s = mode(list); !s) return pass(s);
  auto found = counts(layout.size());
  if (!found) return pass(found);
  auto& cells = found->cells;
  bool last = how_.writing == Writing::AxisPairs || how_.writing == Writing::Spatial || how_.writing == Writing::Numpy;
  if (const Expression* e = given("data_format")) last = e->text != "channels_first";
  if (found->all) list.axes = usual_axes(cells.size() >= 2 ? cells.size() - 2 : 0, last);
  else list.axes = usual_axes(cells.size() > 3 ? cells.size() - 2 : cells.size(), last);
  if (!layout.empty()) list.axes = layout;
  if (list.axes.empty()) list.axes = letters(cells.size());
  const bool spatial_only = how_.writing == Writing::Spatial;
  list.cells.assign(list.axes.size(), {});
  if (found->all && cells.size() != list.axes.size())
    return wrong(
        fmt::format("{} gives pairs for {} axes, --layout {} has {}", how_.name, cells.size(), layout, layout.size()));
  if (cells.size() > list.axes.size())
    return wrong(
        fmt::format("{} gives pairs for {} axes, --layout {} has {}", how_.name, cells.size(), layout, layout.size()));
  std::size_t next = spatial_only ? 0 : list.axes.size() - cells.size();
  for (const Added& a : cells) {
    while (spatial_only && next < list.axes.size() && (list.axes[next] == 'N' || list.axes[next] == 'C')) ++next;
    if (next >= list.axes.size())
      return wrong(fmt::format("{} pads {} spatial axes, --layout {} has fewer", how_.name, cells.size(), layout));
    list.cells[next++] = how_.cuts ? Added{-a.before, -a.after} : a;
  }
  const bool negative = std::ranges::any_of(cells, [](const Added& a) { return a.before < 0 || a.after < 0; });
  if (negative && how_.writing != Writing::LastAxisFirst && how_.writing != Writing::BeginsEnds)
    return fail(Fault::Unsupported, fmt::format("{} refuses negative counts", how_.name));
  list.cuts_last =
      how_.writing == Writing::LastAxisFirst && (list.mode == PadMode::Reflect || list.mode == PadMode::Edge);
  list.size.assign(list.axes.size(), std::nullopt);
  if (size.empty()) return list;
  std::vector<std::size_t> sized;
  for (std::size_t i = 0; i < list.axes.size(); ++i)
    if (size.size() == list.axes.size() || !list.named() || (list.axes[i] != 'N' && list.axes[i] != 'C'))
      sized.push_back(i);
  if (sized.size() != size.size())
    return wrong(fmt::format("--size has {} numbers, {} has {} spatial axes", size.size(), list.axes, sized.size()));
  for (std::size_t i = 0; i < sized.size(); ++i) list.size[sized[i]] = size[i];
  return list;
}

}  // namespace

bool is_pad_list(std::string_view name) { return reads_of(name) != nullptr; }

Result<PadList> read_pad_list(const Expression& call, const std::string& layout,
                              const std::vector<std::optional<Size>>& size) {
  if (call.kind != Kind::Call || call.base.empty() || call.base.front().kind != Kind::Name)
    return fail(Fault::Usage, "this is no call of a pad");
  const Reads* how = reads_of(call.base.front().text);
  if (!how) return fail(Fault::Usage, fmt::format("'{}' is no pad that is known", call.base.front().text));
  auto list = PadListReader(*how, call).read(layout, size);
  if (!list) return list;
  for (std::size_t i = 0; i < list->axes.size(); ++i)
    if (list->size[i])
      if (auto cells = cells_of(*list, i, *list->size[i]); !cells) return pass(cells);
  return list;
}

}  // namespace convoy::explain
