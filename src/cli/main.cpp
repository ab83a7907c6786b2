// The program `convoy`.
#include "cli/command_line.h"

int main(int argc, char** argv) { return convoy::cli::run_command_line(argc, argv); }
