// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/any_quantiser.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/block_coder.hpp>
#include <kadam/kernels/large_top_k.hpp>
#include <kadam/kernels/ordered_sum.hpp>
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/wire/block_message.hpp>
#include <kadam/wire/sparse_message.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <sys/mman.h>
#include <vector>

/// Elements beyond 2^31 and 2^32. Vectors are promised by the system and given page by page to who writes:
/// one of 32 GiB takes what a test touches of it.
namespace kadam::huge_vectors_test {
namespace {

/// d, and the elements around which something happens: beyond 31, 32 and nearly 33 bits.
constexpr std::int64_t huge = (std::int64_t{1} << 33) + 12345;
constexpr std::int64_t places[] = {std::int64_t{1} << 31, std::int64_t{1} << 32, huge};

/// Zeros, so many of them.
template <class T>
class Promised {
 public:
  explicit Promised(std::int64_t elements) : bytes_(static_cast<std::size_t>(elements) * sizeof(T)) {
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ != MAP_FAILED)
      view_ = Kokkos::View<T*, MemorySpace>(static_cast<T*>(data_), bytes_ / sizeof(T));
  }
  ~Promised() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  Promised(const Promised&) = delete;
  Promised& operator=(const Promised&) = delete;

  [[nodiscard]] bool is_there() const { return data_ != MAP_FAILED; }
  [[nodiscard]] const Kokkos::View<T*, MemorySpace>& view() const { return view_; }
  T& operator[](std::int64_t i) const { return view_(static_cast<std::size_t>(i)); }

 private:
  std::size_t bytes_;
  void* data_;
  Kokkos::View<T*, MemorySpace> view_;
};

class HugeVectors : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernels_run_on_host) GTEST_SKIP() << "a device has no memory that is only promised";
    if (!Promised<float>(huge).is_there()) GTEST_SKIP() << "this system promises no 32 GiB";
  }
  const ExecutionSpace exec_;
  const ActiveMask<MemorySpace> all_;
};

/// The value of an element, with another sign and size than its neighbours and than elements 2^31 or 2^32
/// before it.
KOKKOS_INLINE_FUNCTION float value_of(std::int64_t i) {
  const auto mixed = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15U;
  return static_cast<float>(static_cast<std::int64_t>(mixed >> 44U) - (1 << 19));
}

struct Load {
  KOKKOS_FUNCTION float operator()(const std::int64_t i) const { return value_of(i); }
};

/// out(i - first) <- value
struct Store {
  Vector<float> out;
  std::int64_t first;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const float value) const { out(i - first) = value; }
};

/// Of every code, blocks around each of the places, in the chunks of 5 ranks: what is decoded and what stays
/// in the error are the value.
TEST_F(HugeVectors, AreEncodedAndDecoded) {
  constexpr std::int64_t block = 2048;
  const ChunkLayout chunks(huge, 5);
  const Promised<float> error(huge);
  for_each_code([&](const auto& code) {
    using Code = std::decay_t<decltype(code)>;
    const BlockMessage message(chunks, block, Code::bits, Code::has_scale);
    const Promised<std::uint32_t> words(static_cast<std::int64_t>(message.total_bytes() / 4));
    ASSERT_TRUE(words.is_there());
    for (const std::int64_t place : places) {
      const BlockMap& map = message.map();
      const BlockRange blocks = {map, map.block_of(place - 1) - 1, map.block_of(place - 1) + 1};
      const std::int64_t begin = map.block(blocks.first).first_element;
      const BlockMap::Block last = map.block(blocks.last - 1);
      const std::int64_t end = last.first_element + last.elements;
      ASSERT_TRUE(begin < place && place <= end + block);
      encode_with_error_feedback(exec_, code, blocks, Load{}, all_, error.view(), words.view());
      const Vector<float> out("out", static_cast<std::size_t>(end - begin));
      decode_and_apply(exec_, code, map, ConstWords<MemorySpace>(words.view()), all_, begin, end,
                       Store{out, begin});
      exec_.fence("huge_vectors_test");
      std::int64_t not_zero = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        const float said = out(static_cast<std::size_t>(i - begin));
        not_zero += said != 0.0F ? 1 : 0;
        ASSERT_NEAR(said + error[i], value_of(i), 0.25F) << code.name << ", element " << i;
        error[i] = 0.0F;
      }
      EXPECT_GT(3 * not_zero, end - begin) << code.name;
    }
  });
}

/// The owner of a chunk of more than 2^32 elements, with messages of 3 ranks that are zeros but for the scale
/// of one block: sign codes of 0 bits are the scale with a minus.
TEST_F(HugeVectors, AreReduced) {
  const SignQuantiser code;
  const BlockMessage message(ChunkLayout(huge, 1), 2048, SignQuantiser::bits, true);
  const BlockMap& map = message.map();
  const auto stride = static_cast<std::int64_t>(message.total_bytes() / 4);
  const Promised<std::uint32_t> received(3 * stride);
  const Promised<std::uint32_t> reply(stride);
  const Promised<float> error(huge);
  const std::int64_t number = map.block_of(places[1] + 5000);
  const BlockMap::Block block = map.block(number);
  ASSERT_EQ(block.first_element, (places[1] + 5000) / 2048 * 2048);
  ASSERT_EQ(block.scale_word, (places[1] + 5000) / 2048 * 65);
  for (int rank = 0; rank < 3; ++rank) {
    received[rank * stride + block.scale_word] =
        Kokkos::bit_cast<std::uint32_t>(3.0F * static_cast<float>(rank));
  }
  reduce_and_encode(exec_, code, {map, number, number + 1}, ConstWords<MemorySpace>(received.view()), 3,
                    stride, all_, error.view(), reply.view());
  exec_.fence("huge_vectors_test");
  EXPECT_EQ(Kokkos::bit_cast<float>(reply[block.scale_word]), 3.0F);
  EXPECT_EQ(reply[block.first_word], received[block.first_word]);
  EXPECT_EQ(error[block.first_element], 0.0F);
}

struct Planted {
  std::int64_t element;
  float value;
};

/// The largest of one block of more than 2^31 elements, with indices of 32 bits.
TEST_F(HugeVectors, AreSelectedFrom) {
  constexpr std::int64_t elements = (std::int64_t{1} << 31) + 4321;
  const Promised<float> values(elements);
  const std::vector<Planted> planted = {
      {7, 1.0F}, {places[0] - 1, -8.0F}, {places[0], 2.0F}, {elements - 1, 4.0F}};
  for (const Planted& plant : planted) values[plant.element] = plant.value;
  const SparseMessage message(elements, 0,
                              static_cast<double>(planted.size()) / static_cast<double>(elements));
  ASSERT_EQ(message.map().full.index_bits, 32);
  ASSERT_EQ(message.map().entries(), 4);
  const Words<MemorySpace> words("words", message.total_bytes() / 4);
  const LargeTopK<ExecutionSpace> top_k(exec_, elements);
  top_k(exec_, message.map(), 0, values.view(), Selected::becomes_zero, words);
  exec_.fence("huge_vectors_test");
  for (std::size_t k = 0; k < planted.size(); ++k) {
    const auto entry = SparseMap::entry(message.map().block(0), words, 0, static_cast<std::int64_t>(k));
    EXPECT_EQ(entry.element, planted[k].element);
    EXPECT_EQ(entry.value, planted[k].value);
    EXPECT_EQ(values[planted[k].element], 0.0F);
  }
}

/// Entries of many blocks, of which the message is longer than 2^31 bytes: those of the last blocks alone are
/// there, with index and value in both formats.
TEST_F(HugeVectors, TakeSparseEntries) {
  const Promised<float> x(huge);
  for (const SparseValues values : {SparseValues::exact, SparseValues::two_levels}) {
    const SparseMessage message(huge, 4096, 0.5, values);
    const SparseMap& map = message.map();
    ASSERT_GT(message.total_bytes(), std::size_t{1} << 32);
    const SparseMap::Block block = map.block(map.blocks - 2);
    ASSERT_GT(block.first_byte, std::int64_t{1} << 32);
    const Promised<std::uint32_t> words(static_cast<std::int64_t>(message.total_bytes() / 4 + 1));
    ASSERT_TRUE(words.is_there());
    auto* const bytes = reinterpret_cast<unsigned char*>(words.view().data()) + block.first_byte;
    float expected = 0.0F;
    std::int64_t index = 0;
    if (values == SparseValues::exact) {
      words[block.first_word() + 3] = Kokkos::bit_cast<std::uint32_t>(5.0F);  // of entry 3
      const std::int64_t bit = 3 * block.shape.index_bits;
      words[block.first_index_word() + bit / 32] = std::uint32_t{9} << static_cast<unsigned>(bit % 32);
      index = 9;
      expected = 5.0F;
    } else {
      bytes[3] = 0x40;  // the lower magnitude is 2
      bytes[8 + 3 * 14 / 8] = 9U << (3U * 14U % 8U);
      index = 9;
      expected = 2.0F;
    }
    const auto entry = SparseMap::entry(block, words.view(), 0, 3);
    EXPECT_EQ(entry.element, block.first_element + index);
    EXPECT_EQ(entry.value, expected);
    // A message of the last two blocks alone, seen from the region of their owner.
    const ElementRange region{block.first_element, huge};
    const Piece piece = message.piece(region);
    EXPECT_EQ(piece.offset_bytes, static_cast<std::size_t>(block.first_byte));
    SparseMessages<MemorySpace> last{message.map_of(region), words.view(), 1, 0, block.first_byte};
    const auto part = Kokkos::subview(x.view(), Kokkos::make_pair(region.begin, region.end));
    detail::for_each_entry("huge_vectors_test", exec_, last, 0, detail::SubtractEntry<MemorySpace>{part});
    exec_.fence("huge_vectors_test");
    EXPECT_EQ(x[block.first_element + index], -expected);
    x[block.first_element + index] = 0.0F;
  }
}

/// A norm that does not forget the last elements.
TEST_F(HugeVectors, AreAddedUp) {
  constexpr std::int64_t elements = (std::int64_t{1} << 31) + 4321;
  const Promised<float> values(elements);
  values[elements - 1] = 3.0F;
  values[places[0]] = 2.0F;
  const SumSpace<MemorySpace> space(elements);
  EXPECT_EQ(ordered_sum(exec_, elements, SquareOf<MemorySpace, float>{values.view()}, space), 13.0);
}

}  // namespace
}  // namespace kadam::huge_vectors_test
