// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/communicator.hpp>
#include <kadam/comm/launcher.hpp>
#include <kadam/config.hpp>
#include <kadam/python/communicator.hpp>

#include <exception>
#include <stdexcept>
#include <string>

#ifdef KADAM_ENABLE_MPI
#include <kadam/comm/mpi_communicator.hpp>
#endif

namespace kadam::python {

namespace {

std::shared_ptr<Communicator> alone(const ExchangeWords& words) {
  if (!words.allow_alone) {
    refuse_to_be_alone("comm is None, which is one rank",
                       "pass MPI.COMM_WORLD of mpi4py and start the program with mpirun or srun, or "
                       "allow_alone=True to let each train alone");
  }
  return Communicator::self();
}

}  // namespace

#ifdef KADAM_ENABLE_MPI

namespace {

Staging staging_of(std::string_view word) {
  if (const auto staging = staging_from(word)) return *staging;
  throw std::invalid_argument("gpu_aware: expected \"auto\", \"on\" or \"off\", got \"" + std::string(word) +
                              '"');
}

void set(MpiOptions& options, const ExchangeWords& words) {
  if (words.ranks_per_node < 0) {
    throw std::invalid_argument("ranks_per_node: expected 0 or more ranks, got " +
                                std::to_string(words.ranks_per_node));
  }
  options.ranks_per_node = words.ranks_per_node;
  options.allow_alone = words.allow_alone;
  options.exchange.staging = staging_of(words.gpu_aware);
  if (!words.piece_bytes) return;
  if (*words.piece_bytes < 0) {
    throw std::invalid_argument("piece_bytes: expected 0 (automatic) or more bytes, got " +
                                std::to_string(*words.piece_bytes));
  }
  options.exchange.piece_bytes = static_cast<std::size_t>(*words.piece_bytes);
}

/// mpi4py has initialised the library that it loads; if Kadam's is another, that one does not run.
void require_same_library() {
  int runs = 0;
  MPI_Initialized(&runs);
  if (runs != 0) return;
  std::string version(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  throw std::invalid_argument(
      "comm: Kadam's MPI library does not run: it is another one than that of mpi4py (compare "
      "mpi4py.MPI.Get_library_version()), or MPI was not initialised. Kadam has " +
      version.substr(0, version.find_first_of("\n,", 0)));
}

MPI_Comm handle_of(nb::handle comm) {
  // A handle of Fortran's is an integer with every MPI library: mpi4py's own headers are not needed.
  const nb::object to_fortran = nb::getattr(comm, "py2f", nb::none());
  if (to_fortran.is_none()) {
    throw nb::type_error(("comm: expected a communicator of mpi4py, or None for one rank, got " +
                          std::string(nb::type_name(comm.type()).c_str()))
                             .c_str());
  }
  require_same_library();
  MPI_Comm handle = MPI_Comm_f2c(nb::cast<MPI_Fint>(to_fortran()));
  if (handle == MPI_COMM_NULL) {
    throw std::invalid_argument(
        "comm is MPI.COMM_NULL: only ranks that belong to a communicator make an optimizer");
  }
  return handle;
}

}  // namespace

std::shared_ptr<Communicator> communicator_of(nb::handle comm, const ExchangeWords& words) {
  MpiOptions options;
  std::exception_ptr own;
  try {
    set(options, words);
  } catch (...) {
    own = std::current_exception();
  }
  if (comm.is_none()) {
    if (own) std::rethrow_exception(own);
    return alone(words);
  }
  MPI_Comm handle = handle_of(comm);
  const nb::gil_scoped_release others_run;
  std::shared_ptr<Communicator> communicator = make_mpi_communicator(handle, options);
  // What one rank alone said wrong ends on all.
  communicator->require_success(own);
  return communicator;
}

#else

std::shared_ptr<Communicator> communicator_of(nb::handle comm, const ExchangeWords& words) {
  if (comm.is_none()) return alone(words);
  throw std::invalid_argument("comm: this Kadam was built without MPI (KADAM_ENABLE_MPI): pass None");
}

#endif

}  // namespace kadam::python
