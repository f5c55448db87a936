// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctor/findings.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace kadam::doctor {
namespace {

struct Share {
  int ranks = 0;
  int threads = 0;
  int cores = 0;
};

/// Ranks of a node that may run on the same cores.
std::map<std::pair<int, std::uint32_t>, Share> shares_of(const Findings& findings) {
  std::map<std::pair<int, std::uint32_t>, Share> shares;
  for (const Seat& seat : findings.seats) {
    if (seat.cores == 0) continue;
    Share& share = shares[{seat.node, seat.cores_hash}];
    ++share.ranks;
    share.threads += seat.threads;
    share.cores = seat.cores;
  }
  return shares;
}

std::string crowded_text(const Share& share) {
  const int threads = share.cores / share.ranks;
  return fmt::format("{} rank{} with {} threads in all share {} core{}: they wait for each other. {}.",
                     share.ranks, share.ranks == 1 ? "" : "s", share.threads, share.cores,
                     share.cores == 1 ? "" : "s",
                     threads > 0 ? fmt::format("Set OMP_NUM_THREADS to {}, or start fewer ranks", threads)
                                 : "Start fewer ranks");
}

void advise_on_cores(const Findings& findings, std::vector<std::string>& all) {
  if (findings.device) return;
  bool crowded = false;
  bool loose = false;
  for (const auto& [key, share] : shares_of(findings)) {
    if (share.threads > share.cores && !crowded) {
      crowded = true;
      all.push_back(crowded_text(share));
    }
    if (share.ranks > 1 && share.threads <= share.cores) loose = true;
  }
  if (loose) {
    all.emplace_back(
        "Ranks are not bound to cores of their own and may move: start them with mpirun --bind-to core "
        "--map-by slot:PE=THREADS, or with srun --cpu-bind=cores --cpus-per-task=THREADS.");
  }
}

void advise_on_network(const Findings& findings, std::vector<std::string>& all) {
  if (findings.ranks() == 1) {
    all.emplace_back(findings.has_mpi ? "There is only one rank, so nothing is exchanged. To test an "
                                        "exchange, run mpirun -n RANKS kadam-doctor."
                                      : "Kadam was built without MPI, so there is only one rank. To use "
                                        "more, build with KADAM_ENABLE_MPI=ON.");
    return;
  }
  if (findings.nodes() == 1) {
    all.emplace_back(
        "All ranks are on one node: there is no slow network, and dense adam is probably the fastest. "
        "kadam-plan says on which networks compression pays.");
  } else if (findings.ranks() > findings.nodes() && !findings.two_levels) {
    all.emplace_back(
        "Several ranks share the link of their node: set KADAM_RANKS_PER_NODE=auto, so that only "
        "1/(ranks per node) of the bytes cross it (docs/two_levels.md).");
  }
  if (findings.device && findings.staged) {
    all.emplace_back(
        "Messages pass through host memory, because MPI does not say that it accepts device memory. If it "
        "does accept it, set KADAM_GPU_AWARE=on.");
  }
  if (!findings.threads_may_exchange) {
    all.emplace_back(
        "MPI lacks MPI_THREAD_MULTIPLE: background exchanges need the option progress = \"poll\", and "
        "kadam-train has no watchdog.");
  }
}

}  // namespace

std::vector<std::string> advice(const Findings& findings) {
  std::vector<std::string> all;
  if (!findings.optimised)
    all.emplace_back(
        "This is a debug build, about ten times slower than a release build: build with "
        "CMAKE_BUILD_TYPE=Release.");
  if (!findings.parallel && findings.cores_on_node > findings.ranks() / std::max(1, findings.nodes())) {
    all.emplace_back(
        "Kokkos was built without a parallel backend: each rank uses one core. To use more, build Kokkos "
        "with Kokkos_ENABLE_OPENMP=ON.");
  }
  if (findings.blas_competes) {
    all.emplace_back(
        "OpenBLAS has threads of its own, and OpenMP's wait busily on the same cores: matrix products, as of "
        "muon and of transformers, take about ten times as long. Set OMP_WAIT_POLICY=passive, or install an "
        "OpenBLAS that uses OpenMP (Debian: libopenblas0-openmp).");
  }
  if (findings.lacks_huge_pages) {
    all.emplace_back(
        "/sys/kernel/mm/transparent_hugepage/enabled says never: vectors have pages of 4 KiB, and steps "
        "take up to a sixth longer. Ask your administrator for madvise.");
  }
  advise_on_cores(findings, all);
  advise_on_network(findings, all);
  return all;
}

}  // namespace kadam::doctor
