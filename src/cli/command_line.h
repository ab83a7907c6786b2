// All of the command but what a program alone can have: main(), and the memory that it counts.
#pragma once

namespace convoy::cli {

// Does what the command line says; the exit code.
int run_command_line(int argc, char** argv);

}  // namespace convoy::cli
