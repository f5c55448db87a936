// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/simulation.hpp>

#include <string>

namespace kadam::insitu {

/// What is about to run: solver, surrogate, training, bytes of a step.
[[nodiscard]] std::string banner(const Settings& settings, const Simulation& simulation,
                                 const Communicator& program);

/// What came out of it.
[[nodiscard]] std::string results_text(const Settings& settings, const Summary& summary);

}  // namespace kadam::insitu
