// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ranks.hpp"

#include <kadam/comm/communicator.hpp>
#include <kadam/comm/mpi_communicator.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace gray_scott {
namespace {

Kokkos::InitializationSettings kokkos_settings() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int ranks = 1;
  MPI_Comm_size(node, &ranks);
  MPI_Comm_free(&node);
  Kokkos::InitializationSettings settings;
  if (std::getenv("OMP_NUM_THREADS") == nullptr && std::getenv("KOKKOS_NUM_THREADS") == nullptr) {
    settings.set_num_threads(std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / ranks));
  }
  settings.set_disable_warnings(true);  // OMP_PROC_BIND is the launcher's business
  return settings;
}

/// KADAM_GPU_AWARE=auto, on or off: whether MPI takes device memory.
std::shared_ptr<kadam::Communicator> world() {
  kadam::MpiOptions options;
  if (const char* const word = std::getenv("KADAM_GPU_AWARE")) {
    const auto staging = kadam::staging_from(word);
    if (!staging) {
      throw std::invalid_argument("KADAM_GPU_AWARE=" + std::string(word) + ": expected auto, on or off");
    }
    options.exchange.staging = *staging;
  }
  return kadam::make_mpi_communicator(MPI_COMM_WORLD, options);
}

}  // namespace

void together(kadam::Communicator& ranks, const std::function<void()>& preparation) {
  double failed = 0.0;  // 1: here, 2: because another rank did
  std::string reason;
  try {
    preparation();
  } catch (const kadam::PeerFailure&) {
    failed = 2.0;
  } catch (const std::exception& error) {
    failed = 1.0;
    reason = error.what();
  }
  const std::vector<double> all = ranks.all_gather_values({&failed, 1});
  if (std::count(all.begin(), all.end(), 0.0) == ranks.size()) return;
  if (std::find(all.begin(), all.end(), 1.0) - all.begin() == ranks.rank()) {
    std::fprintf(stderr, "kadam-insitu: %s\n", reason.c_str());
  }
  throw Refused();
}

int run_on_all_ranks(int argc, char** argv,
                     const std::function<int(std::shared_ptr<kadam::Communicator>)>& body) {
  int provided = 0;  // MPI_THREAD_MULTIPLE is for optimizers that exchange in the background
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int code = exit_usage;
  try {
    const Kokkos::ScopeGuard kokkos(kokkos_settings());
    code = body(world());
  } catch (const Refused&) {
    // together() has printed the reason, and all ranks are here.
  } catch (const std::exception& error) {
    // Other ranks may wait in an exchange that this one will never join: the job has to end.
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "kadam-insitu: rank %d: %s\n", rank, error.what());
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, exit_failure);
  }
  MPI_Finalize();
  return code;
}

}  // namespace gray_scott
