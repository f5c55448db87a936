// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/socket_communicator.hpp>
#include <kadam/config.hpp>
#include <kadam/version.hpp>
#include <launch/session.hpp>

#include <Kokkos_Core.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#ifdef KADAM_ENABLE_MPI
#include <kadam/comm/mpi_communicator.hpp>

#include <mpi.h>
#endif

namespace kadam::launch {
namespace {

/// The whole text as a number.
template <class Number>
bool reads(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// Exchange options, which depend on the machine and not on the training, from the environment.
ExchangeOptions exchange_options() {
  ExchangeOptions options;
  if (const char* text = std::getenv("KADAM_GPU_AWARE")) {
    const auto staging = staging_from(text);
    if (!staging) throw UsageError("KADAM_GPU_AWARE=" + std::string(text) + ": expected auto, on or off");
    options.staging = *staging;
  }
  if (const char* text = std::getenv("KADAM_PIECE_BYTES")) {
    if (!reads(text, options.piece_bytes))
      throw UsageError("KADAM_PIECE_BYTES=" + std::string(text) +
                       ": expected a number of bytes, or 0 to choose it automatically");
  }
  if (const char* text = std::getenv("KADAM_TIMEOUT_SECONDS")) {
    if (!reads(text, options.timeout_seconds) || !(options.timeout_seconds >= 0.0))
      throw UsageError("KADAM_TIMEOUT_SECONDS=" + std::string(text) +
                       ": expected a number of seconds, or 0 to wait for ever");
  }
  return options;
}

#ifdef KADAM_ENABLE_MPI

void start_transport(int& argc, char**& argv) {
  int provided = 0;
  // Background exchanges use a thread of their own; without this level the library reports it.
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
}

bool transport_runs() {
  int initialized = 0;
  int finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized != 0 && finalized == 0;
}

void end_transport() {
  MPI_Finalize();
}

/// Whether MPI_Finalize() returns if ranks have failed: an MPI that does not tolerate faults waits for them.
bool ends_without_ranks() {
  MpiOptions alone;
  alone.allow_alone = true;
  return make_mpi_communicator(MPI_COMM_SELF, alone)->survives_failures();
}

int ranks_per_node() {
  const char* text = std::getenv("KADAM_RANKS_PER_NODE");
  if (text == nullptr) return 1;
  if (std::string_view(text) == "auto") return 0;
  int ranks = 0;
  if (!reads(text, ranks) || ranks < 1) {
    throw UsageError("KADAM_RANKS_PER_NODE=" + std::string(text) +
                     ": expected auto (the ranks that share memory) or a number above 0");
  }
  return ranks;
}

/// A communicator of the same ranks over TCP if KADAM_WIRE is tcp, else `mpi`.
std::shared_ptr<Communicator> by_wanted_wire(std::shared_ptr<Communicator> mpi,
                                             const ExchangeOptions& exchange) {
  const char* const wire = std::getenv("KADAM_WIRE");
  if (wire == nullptr || std::string_view(wire) == "mpi") return mpi;
  if (std::string_view(wire) != "tcp")
    throw UsageError("KADAM_WIRE=" + std::string(wire) + ": expected mpi or tcp");
  SocketOptions options;
  options.exchange = exchange;
  return make_socket_communicator(*mpi, options);
}

std::shared_ptr<Communicator> world() {
  MpiOptions options;
  options.exchange = exchange_options();
  const int ranks = ranks_per_node();
  std::string variable;
  try {
    std::shared_ptr<Communicator> made =
        by_wanted_wire(make_mpi_communicator(MPI_COMM_WORLD, options), options.exchange);
    variable = "KADAM_RANKS_PER_NODE: ";
    made->form_levels(ranks);
    return made;
  } catch (const std::invalid_argument& error) {
    throw UsageError(variable + error.what());
  }
}

int ranks_on_this_node() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int ranks = 1;
  MPI_Comm_size(node, &ranks);
  MPI_Comm_free(&node);
  return ranks;
}

[[noreturn]] void end_job(int code) {
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();
}

#else

void start_transport(int& /*argc*/, char**& /*argv*/) {}
bool transport_runs() {
  return false;
}
void end_transport() {}
bool ends_without_ranks() {
  return true;
}
std::shared_ptr<Communicator> world() {
  return Communicator::self();
}
int ranks_on_this_node() {
  return 1;
}
[[noreturn]] void end_job(int code) {
  std::exit(code);
}

#endif

/// Ends the process without anything that would wait for other ranks.
[[noreturn]] void end_alone(int code) {
  std::fflush(nullptr);
  std::_Exit(code);
}

int threads_per_rank() {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, cores / ranks_on_this_node());
}

}  // namespace

Session::Session(std::string program, int& argc, char**& argv) : program_(std::move(program)) {
  start_transport(argc, argv);
  Kokkos::InitializationSettings settings;
  if (std::getenv("OMP_NUM_THREADS") == nullptr && std::getenv("KOKKOS_NUM_THREADS") == nullptr) {
    settings.set_num_threads(threads_per_rank());
  }
  settings.set_disable_warnings(true);  // OMP_PROC_BIND is the launcher's business
  Kokkos::initialize(settings);
  communicator_ = world();
}

Session::~Session() {
  try {
    // A launcher may end ranks that are not done yet.
    if (has_other_ranks_) (void)communicator_->all_gather_values({});
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): one more is gone, and all is done
  }
  communicator_.reset();
  const bool can_end = transport_runs() && (!has_lost_ranks_ || ends_without_ranks());
  if (Kokkos::is_initialized()) Kokkos::finalize();
  if (can_end) end_transport();
  std::fflush(nullptr);
}

void Session::go_on_with(std::shared_ptr<Communicator> ranks, bool has_lost_ranks) {
  has_other_ranks_ = has_other_ranks_ || ranks != communicator_;
  has_lost_ranks_ = has_lost_ranks_ || has_lost_ranks;
  communicator_ = std::move(ranks);
}

void Session::prepare(const std::function<void()>& preparation) const {
  std::string reason;
  double status = 0.0;  // 1: failed here, 2: failed because another rank did
  try {
    preparation();
  } catch (const PeerFailure&) {
    status = 2.0;
  } catch (const std::exception& error) {
    status = 1.0;
    reason = error.what();
  }
  const std::vector<double> all = communicator_->all_gather_values({&status, 1});
  if (std::find_if(all.begin(), all.end(), [](double of_rank) { return of_rank != 0.0; }) == all.end())
    return;
  const auto first = std::find(all.begin(), all.end(), 1.0);
  if (first - all.begin() == communicator_->rank()) {
    const int rank = communicator_->rank();
    const std::string where = rank == 0 ? "" : "rank " + std::to_string(rank) + ": ";
    std::fprintf(stderr, "%s: %s%s\n", program_.c_str(), where.c_str(), reason.c_str());
    std::fflush(stderr);
  }
  throw Refused();
}

int run_program(const char* name, int argc, char** argv,
                const std::function<int(Session&, int, char**)>& program) {
  try {
    Session session(name, argc, argv);
    try {
      return program(session, argc, argv);
    } catch (const Refused&) {
      return exit_usage;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: rank %d: %s\n", name, session.communicator()->rank(), error.what());
      if (session.ranks_may_fail()) end_alone(exit_failure);
      // Other ranks may wait in an exchange that this one will never join: the job has to end.
      end_job(exit_failure);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    if (transport_runs()) end_transport();
    return exit_usage;
  }
}

std::shared_ptr<Communicator> join_ranks(const std::vector<std::string>& addresses, const std::string& kind) {
  SocketOptions options;
  options.exchange = exchange_options();
  return join_socket_communicator(addresses, kind, options);
}

std::string title_line(const Communicator& program) {
  return fmt::format("Kadam {}: {}, {} each", KADAM_VERSION_STRING, program.description(), computes_with());
}

std::string computes_with() {
  if (!kernels_run_on_host) return fmt::format("a device of {}", ExecutionSpace::name());
  const int threads = ExecutionSpace().concurrency();
  return fmt::format("{} thread{} of {}", threads, threads == 1 ? "" : "s", ExecutionSpace::name());
}

}  // namespace kadam::launch
