// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/grouped_block.hpp>
#include <kadam/kernels/detail/magnitude_digit.hpp>
#include <kadam/kernels/top_k.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace kadam {

namespace detail {

/// How often each digit occurs in each part, among the elements whose higher digits are those found.
template <class MemorySpace, int Digit>
struct TallyDigit {
  GroupedBlock<MemorySpace> block;
  Histograms<MemorySpace> histograms;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t part) const {
    const auto bins = Kokkos::subview(histograms, part, Kokkos::ALL);
    const std::int32_t prefix = Digit == 0 ? 0 : block.found(Digit + 1).prefix;
    if constexpr (Member::is_one_thread) {
      block.for_each_candidate(part, [&](const std::int64_t, const float value) {
        const std::int32_t bin = MagnitudeDigit<Digit>::bin(magnitude_of(value), prefix);
        if (bin >= 0) ++bins(bin);
      });
    } else {
      constexpr std::int64_t size = top_k_group;
      const std::int64_t first = block.begin(part);
      const std::int32_t bound = block.bound();
      member.tally(block.end(part) - first, bins, [&](const std::int64_t k) {
        if (!block.reaches((first + k) / size, bound)) return std::int32_t{-1};
        return MagnitudeDigit<Digit>::bin(block.magnitude(first + k), prefix);
      });
    }
  }
};

/// Merges bits into the words of one part: the first and the last may be shared with other parts. On a CPU an
/// atomic operation for each entry would wait for each cache miss before it.
struct MergeInPart {
  const std::uint32_t* first;
  const std::uint32_t* last;
  bool is_one_thread;

  KOKKOS_FORCEINLINE_FUNCTION void merge(std::uint32_t& word, std::uint32_t bits) const {
    if (is_one_thread && &word > first && &word < last) {
      word |= bits;
    } else {
      Kokkos::atomic_or(&word, bits);
    }
  }
};

/// Writes the selected elements of each part, in order.
template <class MemorySpace>
struct SelectPart {
  GroupedBlock<MemorySpace> block;
  SparseMap::Block place;
  EntryWriter<MemorySpace> writer;
  Kokkos::View<const std::int64_t*, MemorySpace> marks;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t part) const {
    const MagnitudeCut cut{block.found(4).prefix, block.found(4).wanted};
    const MergeInPart words = words_of(part, cut, Member::is_one_thread);
    std::int64_t before = marks(part);  // those of the parts before
    if constexpr (Member::is_one_thread) {
      block.for_each_candidate(part, [&](const std::int64_t i, const float value) {
        const std::int64_t mark = cut.mark(magnitude_of(value));
        if (mark == 0) return;
        if (cut.selects(magnitude_of(value), before))
          writer.write(words, place, cut.selected(before), i, value);
        before += mark;
      });
    } else {
      constexpr std::int64_t size = top_k_group;
      const std::int64_t first = block.begin(part);
      const std::int32_t bound = block.bound();
      member.for_each_marked(
          block.end(part) - first,
          [&](const std::int64_t k) {
            const bool reaches = block.reaches((first + k) / size, bound);
            return reaches ? cut.mark(block.magnitude(first + k)) : std::int64_t{0};
          },
          [&](const std::int64_t k, const std::int64_t in_part) {
            const std::int64_t marks_before = before + in_part;
            if (cut.selects(block.magnitude(first + k), marks_before))
              writer.write(words, place, cut.selected(marks_before), first + k);
          });
    }
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION MergeInPart words_of(std::int64_t part, const MagnitudeCut& cut,
                                                     bool is_one_thread) const {
    const bool is_last = part + 1 == static_cast<std::int64_t>(marks.extent(0));
    const std::int64_t begin = cut.selected(marks(part));
    const std::int64_t end = is_last ? place.shape.entries : cut.selected(marks(part + 1));
    const std::uint32_t* indices = writer.message.data() + place.first_index_word;
    return {indices + begin * place.shape.index_bits / 32, indices + end * place.shape.index_bits / 32,
            is_one_thread};
  }
};

}  // namespace detail

/// select_top_k() for one block of up to 2^32 - 1 elements, by all threads: the k largest |values| of a whole
/// vector.
///
/// A radix select: the largest magnitude of every 32 elements gives a bound that few elements reach, of these
/// three digits of the k-th largest are found, then they are copied in order. Nothing waits for the host.
/// Memory: reads all elements once, 4 B each. What may be among the k largest, up to 32 k elements, is read
/// again: once on a CPU, which lists it, four times on a GPU. Where most elements are equal, all are read
/// five times; where 2 k exceeds a 32nd of the elements, four times. Keeps 12 B (GPU: 4 B) per 32 elements
/// and 16 KiB per thread of a CPU or for each of 512 teams of a GPU. Deterministic: what threads share are
/// sums of integers and bits of words.
template <class Exec>
class LargeTopK {
 public:
  using MemorySpace = typename Exec::memory_space;

  LargeTopK() = default;
  /// For blocks of so many elements or fewer.
  LargeTopK(const Exec& exec, std::int64_t elements)
      : parts_(lists ? exec.concurrency() : detail::top_k_parts),
        largest_(uninitialised(exec, "kadam::LargeTopK::largest"),
                 static_cast<std::size_t>(groups_of(elements))),
        listed_(uninitialised(exec, "kadam::LargeTopK::listed"),
                static_cast<std::size_t>(lists ? parts_ : 0)),
        list_(uninitialised(exec, "kadam::LargeTopK::list"),
              static_cast<std::size_t>(lists ? groups_of(elements) : 0)),
        histograms_(uninitialised(exec, "kadam::LargeTopK::histograms"), static_cast<std::size_t>(parts_),
                    static_cast<std::size_t>(detail::MagnitudeDigit<0>::bins)),
        found_(uninitialised(exec, "kadam::LargeTopK::found"), 5),
        marks_(uninitialised(exec, "kadam::LargeTopK::marks"), static_cast<std::size_t>(parts_)) {}

  /// Selects in block `index` of the map.
  void operator()(const Exec& exec, const SparseMap& map, std::int64_t index,
                  const Kokkos::View<float*, MemorySpace>& values, Selected selected,
                  const Words<MemorySpace>& message) const {
    const SparseMap::Block place = map.block(index);
    const std::int64_t k = place.shape.entries;
    const detail::GroupedBlock<MemorySpace> block =
        grouped(values, place, 2 * k <= groups_of(place.elements));
    if (block.largest.extent(0) > 0) {
      tally(exec, detail::TallyGroups<MemorySpace>{block, histograms_});
      find<0>(exec, k, -1, 0);
      tally(exec, detail::TallyGroupsAgain<MemorySpace>{block, histograms_});
      find<1>(exec, k, 0, 1);
      if constexpr (lists) {
        Kokkos::parallel_for("kadam::LargeTopK::list", Policy(exec, 0, parts_),
                             detail::ListCandidates<MemorySpace>{block});
      }
    }
    tally(exec, detail::TallyDigit<MemorySpace, 0>{block, histograms_});
    find<0>(exec, k, -1, 2);
    tally(exec, detail::TallyDigit<MemorySpace, 1>{block, histograms_});
    find<1>(exec, k, 2, 3);
    tally(exec, detail::TallyDigit<MemorySpace, 2>{block, histograms_});
    find<2>(exec, k, 3, 4);
    Kokkos::parallel_scan("kadam::LargeTopK::sum_marks", Policy(exec, 0, parts_),
                          detail::SumMarks<MemorySpace>{histograms_, found_, marks_});
    Kokkos::deep_copy(exec, Kokkos::subview(message, index_words(place)), 0U);
    detail::for_each_block(
        "kadam::LargeTopK::select", exec, 0, parts_,
        detail::SelectPart<MemorySpace>{block, place, {values, message, selected}, marks_});
  }

  /// Bytes that one for blocks of so many elements holds, on a CPU with so many threads or, with 0, on a GPU.
  [[nodiscard]] static std::size_t workspace_bytes(std::int64_t threads, std::int64_t elements) {
    const bool is_host = threads > 0;
    const auto groups = static_cast<std::size_t>(groups_of(elements));
    const auto parts = static_cast<std::size_t>(is_host ? threads : detail::top_k_parts);
    constexpr auto bins = static_cast<std::size_t>(detail::MagnitudeDigit<0>::bins);
    return groups * (sizeof(std::int32_t) + (is_host ? sizeof(detail::Candidate) : 0)) +
           parts * (bins * sizeof(std::uint32_t) + sizeof(std::int64_t) * (is_host ? 2 : 1)) +
           5 * sizeof(detail::FoundDigits);
  }

 private:
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;

  static constexpr bool lists = detail::one_thread_per_block<Exec>;

  static auto uninitialised(const Exec& exec, const std::string& label) {
    return Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label);
  }
  static std::int64_t groups_of(std::int64_t elements) {
    return (elements + detail::top_k_group - 1) / detail::top_k_group;
  }
  static Kokkos::pair<std::int64_t, std::int64_t> index_words(const SparseMap::Block& place) {
    return {place.first_index_word, place.first_index_word + place.shape.index_words()};
  }

  [[nodiscard]] detail::GroupedBlock<MemorySpace> grouped(const Kokkos::View<float*, MemorySpace>& values,
                                                          const SparseMap::Block& place,
                                                          bool by_groups) const {
    const std::int64_t groups = groups_of(place.elements);
    const std::int64_t end = place.first_element + place.elements;
    detail::GroupedBlock<MemorySpace> block{
        .values = Kokkos::subview(values, Kokkos::make_pair(place.first_element, end)),
        .largest = {},
        .found = found_,
        .part_elements = (groups + parts_ - 1) / parts_ * detail::top_k_group,
        .listed = {},
        .list = {}};
    if (by_groups) {
      block.largest = largest_;
      block.listed = listed_;
      block.list = list_;
    }
    return block;
  }

  template <class Tally>
  void tally(const Exec& exec, const Tally& functor) const {
    Kokkos::deep_copy(exec, histograms_, 0U);
    detail::for_each_block("kadam::LargeTopK::tally", exec, 0, parts_, functor);
  }

  template <int Digit>
  void find(const Exec& exec, std::int64_t k, int previous, int next) const {
    using Its = detail::MagnitudeDigit<Digit>;
    Kokkos::parallel_scan(
        "kadam::LargeTopK::find_digit", Policy(exec, 0, Its::bins),
        detail::FindDigit<MemorySpace>{histograms_, found_, {0, k}, previous, next, Its::bits});
  }

  std::int64_t parts_ = 0;
  Kokkos::View<std::int32_t*, MemorySpace> largest_;
  Kokkos::View<std::int64_t*, MemorySpace> listed_;
  Kokkos::View<detail::Candidate*, MemorySpace> list_;
  detail::Histograms<MemorySpace> histograms_;
  Kokkos::View<detail::FoundDigits*, MemorySpace> found_;
  Kokkos::View<std::int64_t*, MemorySpace> marks_;
};

}  // namespace kadam
