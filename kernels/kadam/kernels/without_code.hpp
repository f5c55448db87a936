// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/segments.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// The inputs of an encoder and the updates of a decoder where float32 takes the place of codes.
namespace kadam {
namespace detail {

template <class MemorySpace, class Load>
struct ContinueValues {
  Load load;
  Kokkos::View<float*, MemorySpace> values;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t block) const {
    for_each_in_block(member, block, static_cast<std::int64_t>(values.extent(0)), load,
                      [&](const auto& known, const std::int64_t i) { values(i) = known(i, values(i)); });
  }
};

template <class MemorySpace, class Update>
struct UpdateByMean {
  Update update;
  float sign;
  Kokkos::View<const float*, MemorySpace> mean;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t block) const {
    const float known_sign = sign;
    for_each_in_block(member, block, static_cast<std::int64_t>(mean.extent(0)), update,
                      [&](const auto& known, const std::int64_t i) { known(i, known_sign * mean(i)); });
  }
};

}  // namespace detail

/// values(i) <- load(i, values(i)): makes the input of an exchange from the result of the last one, in place.
///
/// load: as encode_continued() takes it. Memory: reads and writes values, 8 B per element, and the bytes that
/// load reads.
template <class Exec, class Load, class MemorySpace>
void continue_values(const Exec& exec, const Load& load, const Kokkos::View<float*, MemorySpace>& values) {
  detail::for_each_stride("kadam::continue_values", exec, static_cast<std::int64_t>(values.extent(0)),
                          detail::ContinueValues<MemorySpace, Load>{load, values});
}

/// Calls update(i, sign mean(i)) for all elements; sign: 1, or -1 if `mean` holds the negative mean. update:
/// as decode_and_apply() takes it, such as an UpdateBySegment. Memory: 4 B per element and the bytes that the
/// update moves.
template <class Exec, class MemorySpace, class Update>
void update_by_mean(const Exec& exec, const Update& update, float sign,
                    const Kokkos::View<const float*, MemorySpace>& mean) {
  detail::for_each_stride("kadam::update_by_mean", exec, static_cast<std::int64_t>(mean.extent(0)),
                          detail::UpdateByMean<MemorySpace, Update>{update, sign, mean});
}

}  // namespace kadam
