// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/adam.hpp>
#include <reference/divisible_adam.hpp>
#include <reference/efficient_adam.hpp>
#include <reference/frozen_variance_adam.hpp>
#include <reference/lamb.hpp>
#include <reference/local_rounds.hpp>
#include <reference/locally_accumulated_adam.hpp>
#include <reference/loco.hpp>
#include <reference/low_rank_muon.hpp>
#include <reference/muon.hpp>
#include <reference/onebit_lamb.hpp>
#include <reference/zero_one_adam.hpp>

#include <stdexcept>
#include <string>

namespace kadam::reference {

/// The table of references, one for each algorithm.
inline constexpr Reference references[] = {
    adam_reference,           lamb_reference,          onebit_adam_reference,
    apmsqueeze_reference,     onebit_lamb_reference,   zero_one_adam_reference,
    efficient_adam_reference, loco_reference,          locally_accumulated_adam_reference,
    divisible_adam_reference, muon_reference,          local_adam_reference,
    local_muon_reference,     low_rank_muon_reference,
};

/// Makes the reference of an algorithm. Options have the names of configurations. Errors:
/// std::invalid_argument for an unknown algorithm, or an option that it does not read.
inline Simulation make_reference(const std::string& name, const Options& options, const World& world) {
  for (const Reference& reference : references) {
    if (name != reference.name) continue;
    OptionReader read(options, world);
    Simulation simulation = reference.make(read, world);
    read.require_all_read();
    return simulation;
  }
  throw std::invalid_argument("no reference is called " + name);
}

}  // namespace kadam::reference
