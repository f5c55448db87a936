// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/grouped_block.hpp>
#include <kadam/kernels/detail/magnitude_digit.hpp>
#include <kadam/kernels/top_k.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// LargeTopK by the threads of a CPU, each with a part of the vector. They list the elements that may be
/// among the k largest: finding these again for each digit would cost more than reading all elements.
namespace kadam::detail {

/// Finds one more digit of the k-th largest: found(next) <- found(previous) and this digit. A kernel of
/// parallel_scan over the bins of the digit, from the largest down.
template <class MemorySpace>
struct FindDigit {
  Histograms<MemorySpace> histograms;
  Kokkos::View<FoundDigits*, MemorySpace> found;
  FoundDigits start;  ///< takes the place of found(previous) for the first digit
  int previous;       ///< -1: start
  int next;
  int bits;  ///< of the digit

  KOKKOS_FUNCTION void operator()(const std::int64_t i, std::int64_t& before, const bool is_final) const {
    const std::int64_t bin = (std::int64_t{1} << bits) - 1 - i;
    std::int64_t own = 0;
    for (std::int64_t part = 0; part < histograms.extent_int(0); ++part) own += histograms(part, bin);
    if (is_final) {
      const FoundDigits so_far = previous < 0 ? start : found(previous);
      if (before < so_far.wanted && before + own >= so_far.wanted) {
        found(next) = {(so_far.prefix << bits) | static_cast<std::int32_t>(bin), so_far.wanted - before};
      }
    }
    before += own;
  }
};

/// marks(part) <- the sum of MagnitudeCut::mark() over all elements of the parts before it, from the
/// histograms of the last digit. A kernel of parallel_scan over the parts.
template <class MemorySpace>
struct SumMarks {
  Histograms<MemorySpace> histograms;
  Kokkos::View<const FoundDigits*, MemorySpace> found;
  Kokkos::View<std::int64_t*, MemorySpace> marks;

  KOKKOS_FUNCTION void operator()(const std::int64_t part, std::int64_t& before, const bool is_final) const {
    constexpr std::int64_t bins = MagnitudeDigit<2>::bins;
    const std::int64_t threshold = found(4).prefix & (bins - 1);
    std::int64_t above = 0;
    for (std::int64_t bin = threshold + 1; bin <= bins; ++bin) above += histograms(part, bin);
    if (is_final) marks(part) = before;
    before += (above << 32) + histograms(part, threshold);
  }
};

/// Counts this digit in each part, of the elements whose higher digits are those of the k-th largest. Shape:
/// histograms are 0 before.
template <class MemorySpace, int Digit>
struct TallyDigit {
  GroupedBlock<MemorySpace> block;
  Histograms<MemorySpace> histograms;

  KOKKOS_FUNCTION void operator()(const HostBlockMember& /*member*/, const std::int64_t part) const {
    const auto bins = Kokkos::subview(histograms, part, Kokkos::ALL);
    const std::int32_t prefix = Digit == 0 ? 0 : block.found(Digit + 1).prefix;
    block.for_each_candidate(part, [&](const std::int64_t, const float value) {
      const std::int32_t bin = MagnitudeDigit<Digit>::bin(magnitude_of(value), prefix);
      if (bin >= 0) ++bins(bin);
    });
  }
};

/// Merges bits into the message words of one part's indices: without an atomic operation, but for the first
/// and the last word, which other parts may share. An atomic operation per entry would wait for all cache
/// misses before it.
struct MergeInPart {
  const std::uint32_t* first;
  const std::uint32_t* last;

  KOKKOS_FORCEINLINE_FUNCTION void merge(std::uint32_t& word, std::uint32_t bits) const {
    if (&word > first && &word < last) {
      word |= bits;
    } else {
      Kokkos::atomic_or(&word, bits);
    }
  }
};

/// Writes the selected elements of each part into the message, in ascending order of their index. Shape:
/// marks are those of SumMarks, and the index words of the message are 0 before.
template <class MemorySpace>
struct SelectPart {
  GroupedBlock<MemorySpace> block;
  SparseMap::Block place;
  EntryWriter<MemorySpace> writer;
  Kokkos::View<const std::int64_t*, MemorySpace> marks;

  KOKKOS_FUNCTION void operator()(const HostBlockMember& /*member*/, const std::int64_t part) const {
    const MagnitudeCut cut{block.found(4).prefix, block.found(4).wanted};
    const MergeInPart words = words_of(part, cut);
    std::int64_t before = marks(part);  // the sum of the marks of all elements before
    block.for_each_candidate(part, [&](const std::int64_t i, const float value) {
      const std::int64_t mark = cut.mark(magnitude_of(value));
      if (mark == 0) return;
      if (cut.selects(magnitude_of(value), before))
        writer.write(words, place, cut.selected(before), i, value);
      before += mark;
    });
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION MergeInPart words_of(std::int64_t part, const MagnitudeCut& cut) const {
    const bool is_last = part + 1 == static_cast<std::int64_t>(marks.extent(0));
    const std::int64_t begin = cut.selected(marks(part));
    const std::int64_t end = is_last ? place.shape.entries : cut.selected(marks(part + 1));
    const std::uint32_t* indices = writer.message.data() + place.first_index_word();
    return {indices + begin * place.shape.index_bits / 32, indices + end * place.shape.index_bits / 32};
  }
};

/// The kernels of LargeTopK for a CPU, and their memory.
template <class Exec>
class HostLargeTopK {
 public:
  using MemorySpace = typename Exec::memory_space;

  HostLargeTopK() = default;
  /// For blocks of up to `elements` elements, and the threads that exec has now.
  HostLargeTopK(const Exec& exec, std::int64_t elements)
      : parts_(exec.concurrency()),
        largest_(uninitialised(exec, "kadam::LargeTopK::largest"),
                 static_cast<std::size_t>(top_k_groups(elements))),
        listed_(uninitialised(exec, "kadam::LargeTopK::listed"), static_cast<std::size_t>(parts_)),
        list_(uninitialised(exec, "kadam::LargeTopK::list"),
              static_cast<std::size_t>(top_k_groups(elements))),
        histograms_(uninitialised(exec, "kadam::LargeTopK::histograms"), static_cast<std::size_t>(parts_),
                    static_cast<std::size_t>(MagnitudeDigit<0>::bins)),
        found_(uninitialised(exec, "kadam::LargeTopK::found"), 5),
        marks_(uninitialised(exec, "kadam::LargeTopK::marks"), static_cast<std::size_t>(parts_)) {}

  /// Writes the place.shape.entries largest elements of block `place` of writer.values into writer.message.
  /// Does not wait. Calls share this object's memory, so they belong to one instance of exec.
  void select(const Exec& exec, const SparseMap::Block& place, const EntryWriter<MemorySpace>& writer) const {
    const std::int64_t k = place.shape.entries;
    const GroupedBlock<MemorySpace> block =
        grouped(writer.values, place, 2 * k <= top_k_groups(place.elements));
    if (block.largest.extent(0) > 0) {
      tally(exec, TallyGroups<MemorySpace>{block, histograms_});
      find<0>(exec, k, -1, 0);
      tally(exec, TallyGroupsAgain<MemorySpace>{block, histograms_});
      find<1>(exec, k, 0, 1);
      Kokkos::parallel_for("kadam::LargeTopK::list", Policy(exec, 0, parts_),
                           ListCandidates<MemorySpace>{block});
    }
    tally(exec, TallyDigit<MemorySpace, 0>{block, histograms_});
    find<0>(exec, k, -1, 2);
    tally(exec, TallyDigit<MemorySpace, 1>{block, histograms_});
    find<1>(exec, k, 2, 3);
    tally(exec, TallyDigit<MemorySpace, 2>{block, histograms_});
    find<2>(exec, k, 3, 4);
    Kokkos::parallel_scan("kadam::LargeTopK::sum_marks", Policy(exec, 0, parts_),
                          SumMarks<MemorySpace>{histograms_, found_, marks_});
    const auto index_words =
        Kokkos::make_pair(place.first_index_word(), place.first_index_word() + place.shape.index_words());
    Kokkos::deep_copy(exec, Kokkos::subview(writer.message, index_words), 0U);
    for_each_block("kadam::LargeTopK::select", exec, 0, parts_,
                   SelectPart<MemorySpace>{block, place, writer, marks_});
  }

 private:
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;

  static auto uninitialised(const Exec& exec, const std::string& label) {
    return Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label);
  }

  [[nodiscard]] GroupedBlock<MemorySpace> grouped(const Kokkos::View<float*, MemorySpace>& values,
                                                  const SparseMap::Block& place, bool by_groups) const {
    const std::int64_t groups = top_k_groups(place.elements);
    const std::int64_t end = place.first_element + place.elements;
    GroupedBlock<MemorySpace> block{
        .values = Kokkos::subview(values, Kokkos::make_pair(place.first_element, end)),
        .largest = {},
        .found = found_,
        .part_elements = (groups + parts_ - 1) / parts_ * top_k_group,
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
    for_each_block("kadam::LargeTopK::tally", exec, 0, parts_, functor);
  }

  template <int Digit>
  void find(const Exec& exec, std::int64_t k, int previous, int next) const {
    using Its = MagnitudeDigit<Digit>;
    Kokkos::parallel_scan("kadam::LargeTopK::find_digit", Policy(exec, 0, Its::bins),
                          FindDigit<MemorySpace>{histograms_, found_, {0, k}, previous, next, Its::bits});
  }

  std::int64_t parts_ = 0;
  Kokkos::View<std::int32_t*, MemorySpace> largest_;
  Kokkos::View<std::int64_t*, MemorySpace> listed_;
  Kokkos::View<Candidate*, MemorySpace> list_;
  Histograms<MemorySpace> histograms_;
  Kokkos::View<FoundDigits*, MemorySpace> found_;
  Kokkos::View<std::int64_t*, MemorySpace> marks_;
};

/// Bytes that a HostLargeTopK holds for blocks of up to `elements` elements, with `threads` threads.
[[nodiscard]] inline std::size_t host_large_top_k_bytes(std::int64_t threads, std::int64_t elements) {
  const auto groups = static_cast<std::size_t>(top_k_groups(elements));
  constexpr auto bins = static_cast<std::size_t>(MagnitudeDigit<0>::bins);
  return groups * (sizeof(std::int32_t) + sizeof(Candidate)) +
         static_cast<std::size_t>(threads) * (bins * sizeof(std::uint32_t) + 2 * sizeof(std::int64_t)) +
         5 * sizeof(FoundDigits);
}

}  // namespace kadam::detail
