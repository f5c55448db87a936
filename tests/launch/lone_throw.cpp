// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/session.hpp>

#include <stdexcept>

/// A program in which the last rank throws while the others wait for it: the job has to end, with its words.
int main(int argc, char** argv) {
  return kadam::launch::run_program("lone_throw", argc, argv,
                                    [](kadam::launch::Session& session, int /*argc*/, char** /*argv*/) {
                                      kadam::Communicator& communicator = *session.communicator();
                                      if (communicator.rank() == communicator.size() - 1)
                                        throw std::runtime_error("thrown on purpose");
                                      const double own = 0.0;
                                      (void)communicator.all_gather_values({&own, 1});
                                      return 0;
                                    });
}
