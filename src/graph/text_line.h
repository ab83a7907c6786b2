// One line of the text form, and the parts that more than one kind of line holds.
#pragma once
#include "convoy/tensor.h"
#include "graph/text_fields.h"

#include <string>
#include <string_view>

namespace convoy::text {

// One line, read from left to right. The first thing not understood is kept with its column.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {}

  bool ok() const { return complaint_.empty(); }
  const std::string& complaint() const { return complaint_; }
  std::size_t column() const { return at_complaint_ + 1; }
  bool complain(std::string what) {
    if (ok()) complaint_ = std::move(what), at_complaint_ = start_;
    return false;
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) ++at_;
    const bool apart = at_ == 0 || text_[at_ - 1] == ' ' || text_[at_ - 1] == '\t';
    if (apart && at_ < text_.size() && text_[at_] == '#') at_ = text_.size();  // a comment
    start_ = at_;
  }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  bool next_is(std::string_view mark) {
    skip_blanks();
    return text_.substr(at_).starts_with(mark);
  }
  // Takes the mark if it comes next.
  bool take(std::string_view mark) {
    if (!ok() || !next_is(mark)) return false;
    at_ += mark.size();
    return true;
  }
  void expect(std::string_view mark) {
    if (!take(mark)) complain("'" + std::string(mark) + "' expected");
  }
  // Takes the word if it comes next and stands alone: not quoted, not the beginning of a longer one.
  bool take_word(std::string_view word) {
    if (!ok() || !next_is(word)) return false;
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && is_name_letter(text_[end])) return false;
    at_ = end;
    return true;
  }
  std::string name() {
    if (!ok()) return {};
    if (next_is("\"")) return quoted();
    const std::size_t from = at_;
    while (at_ < text_.size() && is_name_letter(text_[at_])) ++at_;
    if (at_ == from) complain("a name is expected");
    return std::string(text_.substr(from, at_ - from));
  }
  // Up to the next blank, or to one of `stops`.
  std::string_view token(std::string_view stops = {}) {
    if (!ok()) return {};
    skip_blanks();
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r' &&
           stops.find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
    return text_.substr(from, at_ - from);
  }
  std::string quoted();

 private:
  std::string_view text_;
  std::size_t at_ = 0, start_ = 0, at_complaint_ = 0;
  std::string complaint_;
};

// What stands behind "=" of a constant, up to the end of the line.
Tensor read_constant(Line& line, const TensorType& type);

}  // namespace convoy::text
