// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/detail/backend.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

/// Loops over one row of a matrix. On a CPU one thread takes a row, and the loops below are blocked so that
/// compilers vectorise them without being allowed to reorder sums. On a GPU the lanes of a thread of Kokkos
/// share a row, and a team takes several rows. Either way a row's result does not depend on how many threads
/// there are.
namespace kadam::workloads {

using RowPolicy = Kokkos::TeamPolicy<ExecutionSpace>;
using RowMember = RowPolicy::member_type;

/// Whether one thread takes a row, as on a CPU. With KADAM_ENABLE_HOST_TEAMS it is false on a CPU too: teams
/// of OpenMP's threads, with one lane each, run the code of GPUs for tests.
inline constexpr bool one_thread_per_row = detail::one_thread_per_block<ExecutionSpace>;

/// GPU: lanes that share a row: a warp, or half a wavefront of 64, because rows are often shorter than 64.
inline constexpr int row_lanes = 32;

/// GPU: rows of a team. With one row per team, a multiprocessor would reach its limit on teams before it is
/// full.
inline constexpr int team_rows = detail::team_threads / row_lanes;

template <class Function>
struct RowLoop {
  Function function;
  std::int64_t rows;
  KOKKOS_FUNCTION void operator()(const RowMember& member) const {
    if constexpr (one_thread_per_row) {
      function(member, static_cast<std::int64_t>(member.league_rank()));
    } else {
      const std::int64_t row =
          static_cast<std::int64_t>(member.league_rank()) * member.team_size() + member.team_rank();
      if (row < rows) {
        function(member, row);
      }
    }
  }
};

/// Calls function(member, row) for each row in [0, rows); on a GPU on all lanes of the row. Enqueued on exec.
/// Errors: std::invalid_argument for 2^31 rows or more.
template <class Function>
void for_each_row(const std::string& label, const ExecutionSpace& exec, std::int64_t rows,
                  const Function& function) {
  if (rows > std::numeric_limits<int>::max()) {
    throw std::invalid_argument(
        "kadam::workloads: a kernel takes at most 2^31 - 1 rows: make the batch smaller");
  }
  const RowLoop<Function> loop{function, rows};
  if constexpr (one_thread_per_row) {
    Kokkos::parallel_for(label, RowPolicy(exec, static_cast<int>(rows), 1), loop);
  } else if constexpr (kernels_run_on_host) {
    const int threads = std::min(detail::host_team_threads, exec.concurrency());
    Kokkos::parallel_for(label, RowPolicy(exec, static_cast<int>((rows + threads - 1) / threads), threads, 1),
                         loop);
  } else {
    const auto teams = static_cast<int>((rows + team_rows - 1) / team_rows);
    Kokkos::parallel_for(label, RowPolicy(exec, teams, team_rows, row_lanes), loop);
  }
}

/// A barrier of the lanes of a row: after it each can read what the others have written before. Rows do not
/// wait for each other, as they would at a team's barrier, which rows without work never reach.
KOKKOS_INLINE_FUNCTION void row_barrier() {
#if defined(__CUDA_ARCH__)
  __syncwarp();
#elif defined(__HIP_DEVICE_COMPILE__)
  // A wavefront runs in step; the compiler must not move loads and stores across. As HIP's own __syncwarp(),
  // which older ones lack.
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
#endif
}

/// Calls body(x) for x in [0, n), shared among the lanes of the row.
template <class Body>
KOKKOS_INLINE_FUNCTION void row_for(const RowMember& member, std::int64_t n, const Body& body) {
  if constexpr (one_thread_per_row) {
    for (std::int64_t x = 0; x < n; ++x) {
      body(x);
    }
  } else {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, n), body);
  }
}

namespace detail {

template <int lanes, class Term, class Join>
KOKKOS_INLINE_FUNCTION float fold_lanes(std::int64_t n, float neutral, const Term& term, const Join& join) {
  float partial[lanes];
  for (int lane = 0; lane < lanes; ++lane) {
    partial[lane] = neutral;
  }
  std::int64_t x = 0;
  for (; x + lanes <= n; x += lanes) {
    for (int lane = 0; lane < lanes; ++lane) {
      partial[lane] = join(partial[lane], term(x + lane));
    }
  }
  float result = neutral;
  for (; x < n; ++x) {
    result = join(result, term(x));
  }
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      partial[lane] = join(partial[lane], partial[lane + half]);
    }
  }
  return join(result, partial[0]);
}

template <int lanes, class Term, class Store>
KOKKOS_INLINE_FUNCTION std::int64_t combine_blocks(std::int64_t x, std::int64_t n, std::int64_t terms,
                                                   const Term& term, const Store& store) {
  for (; x + lanes <= n; x += lanes) {
    float sum[lanes] = {};
    for (std::int64_t t = 0; t < terms; ++t) {
      for (int lane = 0; lane < lanes; ++lane) {
        sum[lane] += term(t, x + lane);
      }
    }
    for (int lane = 0; lane < lanes; ++lane) {
      store(x + lane, sum[lane]);
    }
  }
  return x;
}

}  // namespace detail

/// Σ_x term(x), the same on every lane.
template <class Term>
[[nodiscard]] KOKKOS_INLINE_FUNCTION float row_sum(const RowMember& member, std::int64_t n,
                                                   const Term& term) {
  if constexpr (one_thread_per_row) {
    return detail::fold_lanes<16>(n, 0.0f, term, [](float a, float b) { return a + b; });
  } else {
    float sum = 0.0f;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(member, n), [&](std::int64_t x, float& part) { part += term(x); }, sum);
    return sum;
  }
}

/// max_x term(x), the same on every lane; NaN is passed over.
template <class Term>
[[nodiscard]] KOKKOS_INLINE_FUNCTION float row_max(const RowMember& member, std::int64_t n,
                                                   const Term& term) {
  if constexpr (one_thread_per_row) {
    return detail::fold_lanes<16>(n, -3.402823466e38f, term, [](float a, float b) { return b > a ? b : a; });
  } else {
    float maximum = 0.0f;
    Kokkos::parallel_reduce(
        Kokkos::ThreadVectorRange(member, n),
        [&](std::int64_t x, float& part) { part = term(x) > part ? term(x) : part; },
        Kokkos::Max<float>(maximum));
    return maximum;
  }
}

/// Calls store(x, Σ_{t < terms} term(t, x)) for x in [0, n): a small vector-matrix product, the sum kept in
/// registers.
template <class Term, class Store>
KOKKOS_INLINE_FUNCTION void row_combine(const RowMember& member, std::int64_t n, std::int64_t terms,
                                        const Term& term, const Store& store) {
  if constexpr (one_thread_per_row) {
    std::int64_t x = detail::combine_blocks<32>(0, n, terms, term, store);
    x = detail::combine_blocks<8>(x, n, terms, term, store);
    detail::combine_blocks<1>(x, n, terms, term, store);
  } else {
    Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, n), [&](std::int64_t x) {
      float sum = 0.0f;
      for (std::int64_t t = 0; t < terms; ++t) {
        sum += term(t, x);
      }
      store(x, sum);
    });
  }
}

}  // namespace kadam::workloads
