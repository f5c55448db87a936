// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/segments.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <type_traits>

/// Loops over the elements of a few arrays, with a rule that may differ from segment to segment, in one
/// launch.
///
/// A CPU's thread walks 2048 elements with a plain loop, which the compiler vectorises. On a GPU a thread
/// takes four neighbours at a time, with one load and one store of 16 bytes per array of float32, where all
/// arrays are aligned for that; else one.
namespace kadam {

namespace detail {

/// Neighbours that a GPU's thread takes at a time.
inline constexpr std::int64_t pack_elements = 4;

}  // namespace detail

/// An array that for_each_element() walks. A const T is only read; a T is written, and read before if
/// `is_read`. Holds a pointer alone: the View it is made of must live until the kernel has ended.
template <class T, bool is_read>
struct ElementArray {
  static constexpr bool reads = is_read;
  static constexpr bool writes = !std::is_const_v<T>;

  /// Neighbours that one load or store moves.
  struct alignas(detail::pack_elements * sizeof(T)) Pack {
    std::remove_const_t<T> values[detail::pack_elements];
  };

  T* data;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool is_aligned() const {
    return reinterpret_cast<std::uintptr_t>(data) % alignof(Pack) == 0;
  }
};

/// Makes an array of `view` that the rule only reads: it gets an element as const T&.
template <class View>
[[nodiscard]] auto reads(const View& view) {
  return ElementArray<const typename View::non_const_value_type, true>{view.data()};
}
/// Makes an array of `view` that the rule reads and writes: it gets an element as T&.
template <class View>
[[nodiscard]] auto updates(const View& view) {
  return ElementArray<typename View::non_const_value_type, true>{view.data()};
}
/// Makes an array of `view` that the rule writes without reading it: it gets an element as T&.
template <class View>
[[nodiscard]] auto writes(const View& view) {
  return ElementArray<typename View::non_const_value_type, false>{view.data()};
}

namespace detail {

/// A list of arrays. at() and from() call a function with the elements that have the same number in each.
template <class... Arrays>
struct ElementArrays {
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool are_aligned() const { return true; }

  template <class Function, class... Elements>
  KOKKOS_FORCEINLINE_FUNCTION void at(const std::int64_t /*i*/, const Function& function,
                                      Elements&... elements) const {
    function(elements...);
  }
  template <class Function, class... Packs>
  KOKKOS_FORCEINLINE_FUNCTION void from(const std::int64_t /*i*/, const Function& function,
                                        Packs&... packs) const {
    KADAM_UNROLL
    for (int k = 0; k < pack_elements; ++k) function(packs.values[k]...);
  }
};

template <class First, class... Rest>
struct ElementArrays<First, Rest...> {
  First first;
  ElementArrays<Rest...> rest;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool are_aligned() const {
    return first.is_aligned() && rest.are_aligned();
  }

  /// Calls function(element i of each array).
  template <class Function, class... Elements>
  KOKKOS_FORCEINLINE_FUNCTION void at(const std::int64_t i, const Function& function,
                                      Elements&... elements) const {
    rest.at(i, function, elements..., first.data[i]);
  }
  /// Calls function(element of each array) for the pack of elements from i on. One load and one store moves
  /// the pack of an array. Shape: are_aligned(), and i is a multiple of pack_elements.
  template <class Function, class... Packs>
  KOKKOS_FORCEINLINE_FUNCTION void from(const std::int64_t i, const Function& function,
                                        Packs&... packs) const {
    using Pack = typename First::Pack;
    Pack pack;
    if constexpr (First::reads) pack = *reinterpret_cast<const Pack*>(first.data + i);
    rest.from(i, function, packs..., pack);
    if constexpr (First::writes) *reinterpret_cast<Pack*>(first.data + i) = pack;
  }
};

[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION ElementArrays<> element_arrays() {
  return {};
}
template <class First, class... Rest>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION ElementArrays<First, Rest...> element_arrays(const First& first,
                                                                                       const Rest&... rest) {
  return {first, element_arrays(rest...)};
}

/// Calls visit(rule, first element, end) for the parts of [begin, end) that have one rule each. A rule
/// without segments has one part.
template <class Rule, class Visit>
KOKKOS_FORCEINLINE_FUNCTION void for_each_rule(const Rule& rule, std::int64_t begin, std::int64_t end,
                                               const Visit& visit) {
  visit(rule, begin, end);
}
template <class MemorySpace, class RuleOf, class Visit>
KOKKOS_FORCEINLINE_FUNCTION void for_each_rule(const BySegment<MemorySpace, RuleOf>& rule, std::int64_t begin,
                                               std::int64_t end, const Visit& visit) {
  rule.for_each_in(begin, end, visit);
}

/// Calls pack(i) for the first element i of every whole pack in [first, last), and single(i) for every
/// element before and behind these packs. Without `are_aligned` it calls single(i) for all elements. The
/// threads of the team take turns.
template <class Team, class Pack, class Single>
KOKKOS_FORCEINLINE_FUNCTION void for_each_pack(const TeamBlockMember<Team>& member, std::int64_t first,
                                               std::int64_t last, bool are_aligned, const Pack& pack,
                                               const Single& single) {
  if (!are_aligned) {
    KADAM_DO_NOT_UNROLL
    for (std::int64_t i = first + member.rank(); i < last; i += member.threads()) single(i);
    return;
  }
  const std::int64_t from = Kokkos::min((first + pack_elements - 1) / pack_elements * pack_elements, last);
  const std::int64_t to = Kokkos::max(last / pack_elements * pack_elements, from);
  KADAM_DO_NOT_UNROLL
  for (std::int64_t i = from + pack_elements * member.rank(); i < to; i += pack_elements * member.threads()) {
    pack(i);
  }
  KADAM_DO_NOT_UNROLL
  for (std::int64_t i = first + member.rank(); i < from; i += member.threads()) single(i);
  KADAM_DO_NOT_UNROLL
  for (std::int64_t i = to + member.rank(); i < last; i += member.threads()) single(i);
}

/// Calls function(element of each array) for the elements [first, last) of the arrays, by the thread or team
/// of a block.
template <class Member, class Function, class... Arrays>
KOKKOS_FORCEINLINE_FUNCTION void for_each_element_of(const Member& member, std::int64_t first,
                                                     std::int64_t last, const Function& function,
                                                     const Arrays&... arrays) {
  if constexpr (Member::is_one_thread) {
    member.for_each(last - first, [&](const std::int64_t k) { function(arrays.data[first + k]...); });
  } else {
    const auto list = element_arrays(arrays...);
    for_each_pack(
        member, first, last, list.are_aligned(), [&](const std::int64_t i) { list.from(i, function); },
        [&](const std::int64_t i) { list.at(i, function); });
  }
}

template <class Rule, class Arrays>
struct ElementLoop {
  Rule rule;
  std::int64_t elements;
  Arrays arrays;
  bool are_aligned;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t block) const {
    const std::int64_t begin = block * segment_stride;
    const std::int64_t end = Kokkos::min(begin + std::int64_t{segment_stride}, elements);
    for_each_rule(
        rule, begin, end, [&](const auto& known, const std::int64_t first, const std::int64_t last) {
          const auto apply = [&](auto&... element) { known(element...); };
          if constexpr (Member::is_one_thread) {
            member.for_each(last - first, [&](const std::int64_t k) { arrays.at(first + k, apply); });
          } else {
            for_each_pack(
                member, first, last, are_aligned, [&](const std::int64_t i) { arrays.from(i, apply); },
                [&](const std::int64_t i) { arrays.at(i, apply); });
          }
        });
  }
};

}  // namespace detail

/// Calls rule(element of each array) for every element in [0, elements), in one launch. rule: a functor, or a
/// BySegment, which makes the functor of each segment. arrays: made by reads(), updates() or writes(). Shape:
/// each array has at least `elements` elements. The array of writes() may be one that reads() has, too;
/// otherwise arrays do not overlap.
template <class Exec, class Rule, class... Arrays>
void for_each_element(const std::string& label, const Exec& exec, std::int64_t elements, const Rule& rule,
                      const Arrays&... arrays) {
  const auto list = detail::element_arrays(arrays...);
  using Loop = detail::ElementLoop<Rule, std::remove_const_t<decltype(list)>>;
  detail::for_each_stride(label, exec, elements, Loop{rule, elements, list, list.are_aligned()});
}

}  // namespace kadam
