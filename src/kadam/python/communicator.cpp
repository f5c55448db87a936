// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <kadam/comm/launcher.hpp>
#include <kadam/comm/socket_communicator.hpp>
#include <kadam/config.hpp>
#include <kadam/python/communicator.hpp>

#include <exception>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef KADAM_ENABLE_MPI
#include <kadam/comm/mpi_communicator.hpp>
#endif

namespace kadam::python {

namespace {

std::shared_ptr<Communicator> alone(const ExchangeWords& words) {
  if (!words.allow_alone) {
    refuse_to_be_alone("comm is None, which means one rank",
                       "pass MPI.COMM_WORLD of mpi4py; under torchrun, pass torch.distributed.group.WORLD to "
                       "kadam.torch.Optimizer; or pass allow_alone=True to let each task train alone");
  }
  return Communicator::self();
}

Staging staging_of(std::string_view word) {
  if (const auto staging = staging_from(word)) return *staging;
  throw std::invalid_argument("gpu_aware: expected \"auto\", \"on\" or \"off\", got \"" + std::string(word) +
                              '"');
}

/// Sets the options of MpiOptions or SocketOptions from words.
template <class Options>
void set(Options& options, const ExchangeWords& words) {
  if (words.ranks_per_node < 0) {
    throw std::invalid_argument("ranks_per_node: expected 0 or more ranks, got " +
                                std::to_string(words.ranks_per_node));
  }
  options.ranks_per_node = words.ranks_per_node;
  options.exchange = exchange_options(words);
}

/// The exception that call() throws; null if it throws none. A mistake on one rank then ends the call on all,
/// by require_success().
template <class Call>
std::exception_ptr mistake_of(const Call& call) {
  try {
    call();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

/// Whether comm is a kadam.Ranks.
bool brings_ranks_together(nb::handle comm) {
  return nb::hasattr(comm, "gather") && nb::hasattr(comm, "host");
}

std::shared_ptr<Communicator> communicator_over_tcp(nb::handle comm, const ExchangeWords& words) {
  SocketOptions options;
  const std::exception_ptr own = mistake_of([&] { set(options, words); });
  options.host = nb::cast<std::string>(comm.attr("host"));
  const int rank = nb::cast<int>(comm.attr("rank"));
  const int size = nb::cast<int>(comm.attr("size"));
  const auto gather = [&](const std::string& text) {
    const nb::gil_scoped_acquire python;
    return nb::cast<std::vector<std::string>>(comm.attr("gather")(text));
  };
  const nb::gil_scoped_release others_run;
  std::shared_ptr<Communicator> communicator = make_socket_communicator(rank, size, gather, options);
  communicator->require_success(own);
  return communicator;
}

}  // namespace

ExchangeOptions exchange_options(const ExchangeWords& words) {
  ExchangeOptions options;
  options.staging = staging_of(words.gpu_aware);
  if (!(words.timeout_seconds >= 0.0)) {
    throw std::invalid_argument("timeout_seconds: expected 0 (none) or more seconds, got " +
                                std::to_string(words.timeout_seconds));
  }
  options.timeout_seconds = words.timeout_seconds;
  if (!words.piece_bytes) return options;
  if (*words.piece_bytes < 0) {
    throw std::invalid_argument("piece_bytes: expected 0 (automatic) or more bytes, got " +
                                std::to_string(*words.piece_bytes));
  }
  options.piece_bytes = static_cast<std::size_t>(*words.piece_bytes);
  return options;
}

#ifdef KADAM_ENABLE_MPI

std::optional<std::string> mpi_library() {
  std::string version(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  version.resize(static_cast<std::size_t>(length));
  return version.substr(0, version.find_first_of("\n,", 0));
}

bool mpi_was_initialised() {
  int runs = 0;
  MPI_Initialized(&runs);
  return runs != 0;
}

namespace {

/// Throws unless Kadam's MPI library is that of mpi4py. mpi4py has initialised the library that it loads: if
/// Kadam's is another one, that is not initialised.
void require_same_library() {
  if (mpi_was_initialised()) return;
  throw std::invalid_argument(
      "comm: Kadam's MPI library is not initialised: mpi4py uses another one (compare "
      "mpi4py.MPI.Get_library_version()), or the program did not initialise MPI. Kadam uses " +
      mpi_library().value_or(""));
}

MPI_Comm handle_of(nb::handle comm) {
  // A handle of Fortran's is an integer with every MPI library: mpi4py's own headers are not needed.
  const nb::object to_fortran = nb::getattr(comm, "py2f", nb::none());
  if (to_fortran.is_none()) {
    throw nb::type_error(
        ("comm: expected a communicator of mpi4py, a kadam.Ranks, or None for one rank, got " +
         std::string(nb::type_name(comm.type()).c_str()))
            .c_str());
  }
  require_same_library();
  MPI_Comm handle = MPI_Comm_f2c(nb::cast<MPI_Fint>(to_fortran()));
  if (handle == MPI_COMM_NULL) {
    throw std::invalid_argument(
        "comm is MPI.COMM_NULL: make an optimizer only on ranks that belong to the communicator");
  }
  return handle;
}

}  // namespace

std::shared_ptr<Communicator> communicator_of(nb::handle comm, const ExchangeWords& words) {
  if (brings_ranks_together(comm)) return communicator_over_tcp(comm, words);
  MpiOptions options;
  options.allow_alone = words.allow_alone;
  const std::exception_ptr own = mistake_of([&] { set(options, words); });
  if (comm.is_none()) {
    if (own) std::rethrow_exception(own);
    return alone(words);
  }
  MPI_Comm handle = handle_of(comm);
  const nb::gil_scoped_release others_run;
  std::shared_ptr<Communicator> communicator = make_mpi_communicator(handle, options);
  communicator->require_success(own);
  return communicator;
}

#else

std::optional<std::string> mpi_library() {
  return std::nullopt;
}

bool mpi_was_initialised() {
  return false;
}

std::shared_ptr<Communicator> communicator_of(nb::handle comm, const ExchangeWords& words) {
  if (brings_ranks_together(comm)) return communicator_over_tcp(comm, words);
  if (comm.is_none()) return alone(words);
  throw std::invalid_argument(
      "comm: this Kadam was built without MPI: pass None, or build it with KADAM_ENABLE_MPI=ON");
}

#endif

}  // namespace kadam::python
