// Names that one.cpp has as well (expected.txt), and some that it may have.
#include <string>

namespace convoy {
namespace {

constexpr int least = 2;
enum class Written { One };
using Places = std::basic_string<char>;
std::string joined(const Places& all, int first) { return "most = " + all + std::to_string(first); }
template <class Number>
Number doubled(Number number) {
  return 2 * number;
}
int overloaded(long number) { return 2; }
const int Kind = 2;  // most

}  // namespace

static int counted(int) { return least; }
int shown_elsewhere(int number);
int Shown::place(long number) const { return counted(2); }

}  // namespace convoy

namespace convoy::elsewhere {
namespace {
constexpr int most = 4;
}
}  // namespace convoy::elsewhere
