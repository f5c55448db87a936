// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctor/findings.hpp>
#include <kadam/config.hpp>
#include <kadam/execution.hpp>
#include <kadam/options/option_fields.hpp>
#include <kadam/text_hash.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>

#ifdef __linux__
#include <dlfcn.h>
#include <sched.h>
#include <strings.h>
#endif

namespace kadam::doctor {
namespace {

/// The number of cores that this rank may run on, and a hash of which; zeros where that is not to be had.
Seat own_seat() {
  Seat seat;
  seat.threads = Kokkos::DefaultHostExecutionSpace().concurrency();
#ifdef __linux__
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof cores, &cores) != 0) return seat;
  std::string numbers;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &cores)) continue;
    ++seat.cores;
    numbers += std::to_string(core) + ' ';
  }
  seat.cores_hash = hash_of(numbers) >> 11U;
#endif
  return seat;
}

std::string environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

/// Whether matrix products use threads of OpenBLAS' own, while those of OpenMP wait busily on the same cores.
bool blas_competes(int openmp_threads) {
#ifdef __linux__
  if (openmp_threads == 1 || strcasecmp(environment("OMP_WAIT_POLICY").c_str(), "passive") == 0) return false;
  const auto ask = [](const char* name, int otherwise) {
    const auto query = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, name));
    return query == nullptr ? otherwise : query();
  };
  constexpr int none = 0;
  constexpr int own_threads = 1;  // OpenBLAS: 0 sequential, 1 threads of its own, 2 OpenMP
  return ask("openblas_get_parallel", none) == own_threads && ask("openblas_get_num_threads", 1) > 1;
#else
  (void)openmp_threads;
  return false;
#endif
}

/// Whether Linux refuses huge pages to memory that asks for them.
bool lacks_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  const std::string words{std::istreambuf_iterator<char>(file), {}};
  return words.find("[never]") != std::string::npos;
}

/// The lowest rank that shares this one's memory.
double first_of_node(Communicator& communicator) {
  const double own = communicator.rank();
  return communicator.split_by_node()->all_gather_values({&own, 1}).front();
}

}  // namespace

int Findings::nodes() const {
  int last = -1;
  for (const Seat& seat : seats) last = std::max(last, seat.node);
  return last + 1;
}

Findings look_around(Communicator& communicator) {
  const Seat own = own_seat();
  const std::vector<double> told = {first_of_node(communicator), static_cast<double>(own.cores),
                                    static_cast<double>(own.cores_hash), static_cast<double>(own.threads)};
  const std::vector<double> all = communicator.all_gather_values(told);
  Findings findings;
  std::vector<double> firsts;
  for (std::size_t k = 0; k < all.size(); k += told.size()) {
    auto place = std::find(firsts.begin(), firsts.end(), all[k]);
    if (place == firsts.end()) place = firsts.insert(place, all[k]);
    findings.seats.push_back({static_cast<int>(place - firsts.begin()), static_cast<int>(all[k + 1]),
                              static_cast<std::uint64_t>(all[k + 2]), static_cast<int>(all[k + 3])});
  }
  findings.cores_on_node = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  findings.device = !kernels_run_on_host;
  findings.parallel = findings.device || std::string_view(ExecutionSpace::name()) != "Serial";
  findings.blas_competes = !findings.device && findings.parallel && blas_competes(own.threads);
  findings.lacks_huge_pages = !findings.device && lacks_huge_pages();
  findings.staged = communicator.stages_through_host();
  findings.two_levels = communicator.has_two_levels();
  findings.threads_may_exchange = communicator.allows_threads();
  findings.survives_failures = communicator.survives_failures();
#ifndef KADAM_ENABLE_MPI
  findings.has_mpi = false;
#endif
  findings.optimised = std::string_view(KADAM_BUILD_TYPE) != "Debug";
  findings.slurm_job = environment("SLURM_JOB_ID");
  findings.slurm_partition = environment("SLURM_JOB_PARTITION");
  return findings;
}

}  // namespace kadam::doctor
