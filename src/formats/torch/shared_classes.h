// Classes that differ in numbers only become one class that takes the numbers.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace convoy::torch {

struct ClassText {
  std::string name, body;  // the body starts behind the docstring
};

// What classes that become one have in common, the body without the numbers that turn into arguments; and those.
std::pair<std::string, std::vector<std::string>> kind_of_class(const std::string& body);
// How much text a class adds to one around it, in lines: what it computes often joins what stands before.
double lines_of_class(const std::string& body);

// The classes, inner before outer; `top` is the body of the class that uses them, and follows their new names. A class
// says `Name()` where it makes another.
std::vector<ClassText> shared(std::vector<ClassText> classes, std::string& top);

// The line that makes a sequence of blocks: equal neighbours are counted, and long lists wrapped.
std::string sequence_line(const std::string& attribute, const std::vector<std::string>& blocks);
// The same for the lines of a body whose blocks have got their arguments.
std::string with_sequences(const std::string& body);

}  // namespace convoy::torch
