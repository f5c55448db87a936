// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>

/// Loops over one row of a matrix. A kernel launches one team of one thread per row; on a GPU its vector
/// lanes (one warp) share the row, on a CPU the loops below are blocked so that compilers vectorise them
/// without being allowed to reorder sums. Either way a row's result does not depend on how many threads there
/// are.
namespace kadam::workloads {

using RowPolicy = Kokkos::TeamPolicy<ExecutionSpace>;
using RowMember = RowPolicy::member_type;

inline constexpr bool rows_on_host = std::is_same_v<MemorySpace, Kokkos::HostSpace>;

[[nodiscard]] inline RowPolicy row_policy(const ExecutionSpace& exec, std::int64_t rows) {
  if (rows > std::numeric_limits<int>::max()) {
    throw std::invalid_argument(
        "kadam::workloads: a kernel takes at most 2^31 - 1 rows: make the batch smaller");
  }
  if constexpr (rows_on_host) {
    return RowPolicy(exec, static_cast<int>(rows), 1);
  } else {
    return RowPolicy(exec, static_cast<int>(rows), 1, RowPolicy::vector_length_max());
  }
}

/// body(x) for x in [0, n).
template <class Body>
KOKKOS_INLINE_FUNCTION void row_for(const RowMember& member, std::int64_t n, const Body& body) {
  if constexpr (rows_on_host) {
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
  if constexpr (rows_on_host) {
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
  if constexpr (rows_on_host) {
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

/// store(x, Σ_{t < terms} term(t, x)) for x in [0, n): a small vector-matrix product, the sum kept in
/// registers.
template <class Term, class Store>
KOKKOS_INLINE_FUNCTION void row_combine(const RowMember& member, std::int64_t n, std::int64_t terms,
                                        const Term& term, const Store& store) {
  if constexpr (rows_on_host) {
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
