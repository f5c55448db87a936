// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <string_view>

namespace kadam::python {

namespace nb = nanobind;

/// How to exchange, as Python says it.
struct ExchangeWords {
  int ranks_per_node = 1;
  std::string_view gpu_aware = "auto";
  std::optional<std::int64_t> piece_bytes = {};
  double timeout_seconds = ExchangeOptions{}.timeout_seconds;
  bool allow_alone = false;
};

/// Errors: std::invalid_argument for words that mean nothing.
[[nodiscard]] ExchangeOptions exchange_options(const ExchangeWords& words);

/// A communicator over a duplicate of mpi4py's; over TCP for a kadam.Ranks; of one rank for None, unless the
/// launcher has started several tasks.
///
/// Collective. Errors: nb::type_error for what is no communicator; std::invalid_argument for words that mean
/// nothing, a null communicator, or one of another MPI library than Kadam's; else as make_mpi_communicator().
[[nodiscard]] std::shared_ptr<Communicator> communicator_of(nb::handle comm, const ExchangeWords& words);

/// The first words that Kadam's MPI library says of itself, whether it runs or not; none without MPI.
[[nodiscard]] std::optional<std::string> mpi_library();

/// Whether Kadam's MPI library was initialised: by mpi4py, if that has the same one.
[[nodiscard]] bool mpi_was_initialised();

}  // namespace kadam::python
