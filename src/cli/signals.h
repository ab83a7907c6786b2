// What the command does when the system interrupts it: leave no temporary file behind, say what happened, exit.
#pragma once

namespace convoy::cli {

void install_signal_handlers();

}  // namespace convoy::cli
