// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/with_format.hpp>
#include <kadam/kernels/on_device.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kadam {

/// The factors of a segment: consecutive elements of tensors in one parameter group.
struct SegmentFactors {
  double lr_scale = 1.0;      ///< factor on the learning rate
  double weight_decay = 0.0;  ///< lambda
};

/// Elements of a block whose segments a kernel looks up at once: this costs little beside its elements.
inline constexpr std::int64_t segment_stride = 2048;

/// The segments of a vector, in the memory of kernels: one launch works on all of them.
///
/// A kernel looks up the segments of a few thousand neighbouring elements and computes the rule of each
/// segment once. Hundreds of alternating groups (decay for matrices, none for biases) cost a kernel no more
/// than one. Memory: 24 B per segment, 4 B per 2048 elements.
template <class MemorySpace>
struct SegmentTable {
  Kokkos::View<const std::int64_t*, MemorySpace> ends;  ///< of each segment; the first one begins at 0
  Kokkos::View<const SegmentFactors*, MemorySpace> factors;
  /// The segment of element 0, segment_stride, 2 segment_stride, ...: two neighbours bound the bisection for
  /// an element. A block of a kernel begins at an entry.
  Kokkos::View<const std::int32_t*, MemorySpace> nearest;

  /// Shape: one of ends for each of factors; ends ascend to d. A segment may be empty. Waits for its copies.
  [[nodiscard]] static SegmentTable make(const std::vector<std::int64_t>& ends,
                                         const std::vector<SegmentFactors>& factors) {
    std::vector<std::int32_t> nearest;
    const std::int64_t elements = ends.empty() ? 0 : ends.back();
    for (std::size_t k = 0; k < strides(elements); ++k) {
      std::int32_t segment = nearest.empty() ? 0 : nearest.back();
      while (static_cast<std::size_t>(segment) + 1 < ends.size() &&
             ends[static_cast<std::size_t>(segment)] <= static_cast<std::int64_t>(k) * segment_stride) {
        ++segment;
      }
      nearest.push_back(segment);
    }
    return {on_device<MemorySpace>("kadam::SegmentTable::ends", ends),
            on_device<MemorySpace>("kadam::SegmentTable::factors", factors),
            on_device<MemorySpace>("kadam::SegmentTable::nearest", nearest)};
  }
  [[nodiscard]] static std::size_t memory_bytes(std::size_t segments, std::int64_t elements) {
    return segments * (sizeof(std::int64_t) + sizeof(SegmentFactors)) +
           strides(elements) * sizeof(std::int32_t);
  }

  /// Returns the segment of element i.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t segment_of(std::int64_t i) const {
    std::int64_t low = nearest(i / segment_stride);
    std::int64_t high = nearest(i / segment_stride + 1);
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (ends(middle) <= i) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /// Calls visit(segment, first, last) for the elements [first, last) of [begin, end) in each segment, in
  /// order.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_in(std::int64_t begin, std::int64_t end,
                                               const Visit& visit) const {
    if (begin >= end) return;
    std::int64_t segment = segment_of(begin);
    for (std::int64_t first = begin; first < end; ++segment) {
      const std::int64_t last = Kokkos::min(ends(segment), end);
      if (first < last) visit(segment, first, last);  // a segment may be empty
      first = last;
    }
  }

 private:
  /// Entries of `nearest`: one more than strides begin, for the end of a bisection.
  [[nodiscard]] static std::size_t strides(std::int64_t elements) {
    return static_cast<std::size_t>((elements + segment_stride - 1) / segment_stride) + 1;
  }
};

/// A rule for each segment: rule_of(segment, factors of the segment) returns it, in a kernel.
template <class MemorySpace, class RuleOf>
struct BySegment {
  SegmentTable<MemorySpace> segments;
  RuleOf rule_of;
  std::int64_t offset = 0;  ///< element of the table where the vector of the kernel begins

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION auto rule_at(std::int64_t segment) const {
    return rule_of(segment, segments.factors(segment));
  }
  /// Calls visit(rule, first, last) for the elements [first, last) of [begin, end) in each segment, in order.
  template <class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_in(std::int64_t begin, std::int64_t end,
                                               const Visit& visit) const {
    segments.for_each_in(begin + offset, end + offset,
                         [&](const std::int64_t segment, const std::int64_t first, const std::int64_t last) {
                           visit(rule_at(segment), first - offset, last - offset);
                         });
  }
};

/// The update update(i, value, rule of the segment of element i), for decode_and_apply(). Optional, as there:
/// update.inactive(i, rule), update.with_format(f), update.load(i) with update.store(i, value, rule, loaded).
/// A LoadBySegment has this form as well; its `update` is the load.
template <class MemorySpace, class RuleOf, class Update>
struct UpdateBySegment {
  BySegment<MemorySpace, RuleOf> rules;
  Update update;

  KOKKOS_FORCEINLINE_FUNCTION auto operator()(const std::int64_t i, const float value) const {
    return update(i, value, rules.rule_at(rules.segments.segment_of(i + rules.offset)));
  }
  KOKKOS_FORCEINLINE_FUNCTION void prefetch(std::int64_t first, std::int64_t count) const requires
      requires(const Update& known) {
    known.prefetch(std::int64_t{}, std::int64_t{});
  }
  { update.prefetch(first, count); }
};

/// The input load(i, value, rule of the segment of element i), for encode_continued().
template <class MemorySpace, class RuleOf, class Load>
using LoadBySegment = UpdateBySegment<MemorySpace, RuleOf, Load>;

namespace detail {

/// An update, or a load, with the rule of one segment.
template <class Update, class Rule>
struct UpdateByRule {
  const Update& update;
  Rule rule;

  KOKKOS_FORCEINLINE_FUNCTION auto operator()(const std::int64_t i, const float value) const {
    return update(i, value, rule);
  }
  KOKKOS_FORCEINLINE_FUNCTION void inactive(const std::int64_t i) const requires
      requires(const Update& known, const Rule& its) {
    known.inactive(std::int64_t{}, its);
  }
  { update.inactive(i, rule); }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION auto load(const std::int64_t i) const requires
      requires(const Update& known) {
    known.load(std::int64_t{});
  }
  { return update.load(i); }
  template <class Loaded>
  KOKKOS_FORCEINLINE_FUNCTION void store(const std::int64_t i, const float value,
                                         const Loaded& loaded) const {
    update.store(i, value, rule, loaded);
  }
};

// A function in place of a deduction guide, which clang up to 14 takes for one of the host in code for HIP.
template <class Update, class Rule>
KOKKOS_FORCEINLINE_FUNCTION UpdateByRule<Update, Rule> with_rule(const Update& update, const Rule& rule) {
  return {update, rule};
}

/// Calls function(apply for one format and one rule, first, last) for the elements [first, last) of
/// [begin, end) in each segment. An apply without segments is called once for all of them.
template <class Apply, class Function>
KOKKOS_FORCEINLINE_FUNCTION void for_each_apply(const Apply& apply, std::int64_t begin, std::int64_t end,
                                                const Function& function) {
  with_format(apply, [&](const auto& typed_apply) { function(typed_apply, begin, end); });
}
template <class MemorySpace, class RuleOf, class Update, class Function>
KOKKOS_FORCEINLINE_FUNCTION void for_each_apply(const UpdateBySegment<MemorySpace, RuleOf, Update>& apply,
                                                std::int64_t begin, std::int64_t end,
                                                const Function& function) {
  with_format(apply.update, [&](const auto& typed_update) {
    apply.rules.for_each_in(begin, end,
                            [&](const auto& rule, const std::int64_t first, const std::int64_t last) {
                              function(with_rule(typed_update, rule), first, last);
                            });
  });
}

/// Calls function(member, block) for all blocks of segment_stride of so many elements, in one launch.
template <class Exec, class Function>
void for_each_stride(const std::string& label, const Exec& exec, std::int64_t elements,
                     const Function& function) {
  for_each_block(label, exec, 0, (elements + segment_stride - 1) / segment_stride, function);
}

/// Calls function(apply for one format and one rule, i) for each element i of such a block.
/// elements: those of all blocks.
template <class Member, class Apply, class Function>
KOKKOS_FORCEINLINE_FUNCTION void for_each_in_block(const Member& member, std::int64_t block,
                                                   std::int64_t elements, const Apply& apply,
                                                   const Function& function) {
  const std::int64_t begin = block * segment_stride;
  const std::int64_t end = Kokkos::min(begin + std::int64_t{segment_stride}, elements);
  for_each_apply(apply, begin, end,
                 [&](const auto& known, const std::int64_t first, const std::int64_t last) {
                   member.for_each(last - first, [&](const std::int64_t k) { function(known, first + k); });
                 });
}

template <class Apply>
inline constexpr bool differs_by_segment = false;
template <class MemorySpace, class RuleOf, class Update>
inline constexpr bool differs_by_segment<UpdateBySegment<MemorySpace, RuleOf, Update>> = true;

}  // namespace detail
}  // namespace kadam
