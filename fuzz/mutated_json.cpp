#include "fuzz/mutated_json.h"

#include "containers/json.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <iterator>
#include <limits>

namespace convoy::fuzz {
namespace {

// Every value of the document with what holds it (null for the outermost).
struct Place {
  Json* value;
  Json* holder;
};

void gather(Json& value, Json* holder, std::vector<Place>& places) {
  places.push_back({&value, holder});
  if (value.is_structured())
    for (auto& part : value) gather(part, &value, places);
}

Json odd_number(std::minstd_rand& random, const Json& value) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr std::array<std::int64_t, 12> odd{
      0, 1, -1, 2, 7, 255, -128, 65536, 0x7fffffff, 1LL << 32, Limits::max(), Limits::min()};
  switch (random() % 4) {
    case 0:
      if (value.is_number_integer() && value < Limits::max()) return value.get<std::int64_t>() + 1;
      break;
    case 1: return 0.5;
    default: break;
  }
  return odd[random() % odd.size()];
}

void change(const Place& place, const std::vector<Place>& places, std::minstd_rand& random) {
  Json& value = *place.value;
  const Json other = *places[random() % places.size()].value;
  switch (random() % 8) {
    case 0: value = nullptr; return;
    case 1: value = other; return;
    case 2:
      if (place.holder && place.holder->is_array()) {
        place.holder->push_back(Json(value));
        return;
      }
      break;
    case 3:
      if (value.is_array() && !value.empty()) {
        value.erase(random() % value.size());
        return;
      }
      if (value.is_object() && !value.empty()) {
        value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(random() % value.size())));
        return;
      }
      break;
    default: break;
  }
  if (value.is_number()) value = odd_number(random, value);
  else if (value.is_boolean()) value = !value.get<bool>();
  else if (value.type() == other.type()) value = other;
  else if (value.is_string() && !value.get_ref<const std::string&>().empty()) value.get_ref<std::string&>().pop_back();
  else value = static_cast<std::int64_t>(random() % 16);
}

}  // namespace

std::vector<std::byte> mutated_json(Bytes text, std::minstd_rand& random) {
  auto document = parse_json(text_of(text));
  if (!document) return {};
  std::vector<Place> places;
  gather(*document, nullptr, places);
  change(places[random() % places.size()], places, random);
  const std::string changed = document->dump(-1, ' ', false, Json::error_handler_t::replace);
  const Bytes bytes = std::as_bytes(std::span(changed));
  return {bytes.begin(), bytes.end()};
}

}  // namespace convoy::fuzz
