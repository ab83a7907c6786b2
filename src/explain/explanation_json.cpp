// An explanation as a program reads it: the same facts.
#include "explain/explanation.h"

#include <nlohmann/json.hpp>

namespace convoy::explain {
namespace {

// The cells a window reads: a number, null for padding, {"repeats": cell} for padding that copies one.
Json taps(const std::vector<Tap>& all) {
  Json list = Json::array();
  for (const Tap& t : all) {
    if (!t.padding) list.push_back(*t.cell);
    else if (t.cell) list.push_back({{"repeats", *t.cell}});
    else list.push_back(nullptr);
  }
  return list;
}

Json axis(const AxisFacts& a, bool transposed) {
  Json object{{"name", a.name},
              {"kernel", a.window.kernel},
              {"stride", a.window.stride},
              {"dilation", a.window.dilation},
              {"reach", a.window.reach()}};
  object["size"] = a.size.known() ? Json(*a.size) : Json(nullptr);
  object["out"] = a.out ? Json(*a.out) : Json(nullptr);
  if (!a.formula.empty()) object["out_of_n"] = a.formula;
  const char *before = transposed ? "cut_before" : "before", *after = transposed ? "cut_after" : "after";
  if (a.placed.size() == 1) {
    object[before] = a.placed[0].before;
    object[after] = a.placed[0].after;
  } else {
    object["by_size"] = Json::array();
    for (const Placed& p : a.placed)
      object["by_size"].push_back({{"when", p.when}, {before, p.before}, {after, p.after}});
  }
  if (a.scatter) object["scatter"] = *a.scatter;
  if (!a.first.empty()) object["first"] = taps(a.first), object["last"] = taps(a.last);
  if (!a.divisors.empty()) object["divisors"] = a.divisors;
  return object;
}

}  // namespace

Json json_of(const Explanation& e) {
  Json object{{"framework", name_of(e.framework)}, {"layer", e.function}};
  if (!e.name.empty()) object["name"] = e.name;
  object["axes"] = Json::array();
  for (const AxisFacts& a : e.axes) object["axes"].push_back(axis(a, e.layer.does == Does::Transpose));
  if (e.comparison) {
    object["numbers"] = {{"x", e.comparison->x}, {"w", e.comparison->w}};
    for (const Shown& row : e.comparison->rows) object["numbers"][row.name] = row.y;
  }
  object["equivalents"] = Json::array();
  for (const Line& line : e.lines) {
    Json one{{"framework", name_of(line.framework)}, {"code", line.code}, {"equal", line.equal}};
    if (!line.holds.empty()) one["holds"] = line.holds;
    if (!line.remark.empty()) one["remark"] = line.remark;
    object["equivalents"].push_back(std::move(one));
  }
  if (!e.kernel.empty()) object["kernel"] = e.kernel;
  if (!e.sentences.empty()) object["sentences"] = e.sentences;
  if (!e.notes.empty()) object["notes"] = e.notes;
  return object;
}

}  // namespace convoy::explain
