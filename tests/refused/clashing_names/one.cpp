// Names that other.cpp has as well (expected.txt), and some that it may have.
#include <string>

namespace convoy {
namespace {

constexpr int most = 3, least = 1;
struct Written {
  int place;
};
using Places = std::basic_string<char>;
std::string joined(const Places& places, int from = 0) { return places.substr(from); }
template <class T>
T doubled(T number) {
  return number + number;
}
int overloaded(int number) { return number; }
int shown(Written written);
enum class Kind { One };

}  // namespace

static int counted(int number) { return number + most + least; }
int shown_elsewhere(int number);
int Shown::place(int number) const { return counted(number); }

}  // namespace convoy
