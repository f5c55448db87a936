// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/content_hash.hpp>
#include <kernels/execution_spaces.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <cstring>
#include <set>
#include <vector>

namespace kadam {
namespace {

/// The same sum, one element after the other.
std::uint64_t serial_hash(const std::vector<float>& values) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, &values[i], sizeof(word));
    std::uint64_t z = word + (i + 1) * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    sum += z ^ (z >> 31U);
  }
  return sum;
}

template <class Exec>
std::uint64_t hash(const std::vector<float>& values) {
  using Space = typename Exec::memory_space;
  return content_hash(Exec{}, Kokkos::View<const float*, Space>(test::to_device<Space>(values)));
}

template <class Exec>
class ContentHashTest : public testing::Test {};
TYPED_TEST_SUITE(ContentHashTest, test::ExecutionSpaces);

TYPED_TEST(ContentHashTest, IsEquivalentToReference) {
  for (const std::int64_t n : test::sizes)
    EXPECT_EQ(hash<TypeParam>(test::random_vector(n, 3)), serial_hash(test::random_vector(n, 3))) << n;
}

TYPED_TEST(ContentHashTest, TellsApartWhatIsNotTheSame) {
  std::vector<float> values(100, 1.0F);
  std::set<std::uint64_t> hashes = {hash<TypeParam>(values)};
  values[7] = -0.0F;
  hashes.insert(hash<TypeParam>(values));
  values[7] = 0.0F;
  hashes.insert(hash<TypeParam>(values));
  std::swap(values[7], values[8]);
  hashes.insert(hash<TypeParam>(values));
  values.push_back(0.0F);
  hashes.insert(hash<TypeParam>(values));
  EXPECT_EQ(hashes.size(), 5U) << "a bit, a place or a length makes no difference";
}

}  // namespace
}  // namespace kadam
