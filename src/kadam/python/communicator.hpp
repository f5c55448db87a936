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

/// The arguments of Python that say how to exchange: see ExchangeOptions and MpiOptions.
struct ExchangeWords {
  int ranks_per_node = 1;
  std::string_view gpu_aware = "auto";
  std::optional<std::int64_t> piece_bytes = {};
  double timeout_seconds = ExchangeOptions{}.timeout_seconds;
  bool allow_alone = false;
};

/// The options that these arguments mean. Errors: std::invalid_argument for a word or a number that means
/// nothing.
[[nodiscard]] ExchangeOptions exchange_options(const ExchangeWords& words);

/// Makes the communicator that `comm` stands for. A communicator of mpi4py: over a duplicate of it. A
/// kadam.Ranks: over TCP. None: one rank, which is refused if the launcher has started several tasks, unless
/// words.allow_alone.
///
/// Collective. Errors: nb::type_error for an object that is no communicator; std::invalid_argument for words
/// that mean nothing, a null communicator, or one of another MPI library than Kadam's; else as
/// make_mpi_communicator().
[[nodiscard]] std::shared_ptr<Communicator> communicator_of(nb::handle comm, const ExchangeWords& words);

/// The name that Kadam's MPI library gives itself, whether it is initialised or not; nothing without MPI.
[[nodiscard]] std::optional<std::string> mpi_library();

/// Whether Kadam's MPI library was initialised; mpi4py has done so if it uses the same library.
[[nodiscard]] bool mpi_was_initialised();

}  // namespace kadam::python
