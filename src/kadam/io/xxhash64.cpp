// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/xxhash64.hpp>

#include <algorithm>
#include <bit>
#include <cstring>

namespace kadam::io {
namespace {

static_assert(std::endian::native == std::endian::little, "kadam::io reads words as they lie in memory");

constexpr std::uint64_t prime_1 = 0x9E3779B185EBCA87U;
constexpr std::uint64_t prime_2 = 0xC2B2AE3D27D4EB4FU;
constexpr std::uint64_t prime_3 = 0x165667B19E3779F9U;
constexpr std::uint64_t prime_4 = 0x85EBCA77C2B2AE63U;
constexpr std::uint64_t prime_5 = 0x27D4EB2F165667C5U;

template <class Word>
Word word_at(const std::byte* bytes) {
  Word word = 0;
  std::memcpy(&word, bytes, sizeof(Word));
  return word;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) {
  return std::rotl(lane + input * prime_2, 31) * prime_1;
}

}  // namespace

void XxHash64::add_stripe(const std::byte* stripe) {
  for (std::size_t k = 0; k < lanes_.size(); ++k) {
    lanes_[k] = round(lanes_[k], word_at<std::uint64_t>(stripe + 8 * k));
  }
}

void XxHash64::add(std::span<const std::byte> bytes) {
  total_bytes_ += bytes.size();
  if (rest_bytes_ > 0) {
    const std::size_t missing = std::min(stripe_bytes - rest_bytes_, bytes.size());
    std::copy_n(bytes.begin(), missing, rest_.begin() + static_cast<std::ptrdiff_t>(rest_bytes_));
    rest_bytes_ += missing;
    bytes = bytes.subspan(missing);
    if (rest_bytes_ < stripe_bytes) return;
    add_stripe(rest_.data());
    rest_bytes_ = 0;
  }
  for (; bytes.size() >= stripe_bytes; bytes = bytes.subspan(stripe_bytes)) add_stripe(bytes.data());
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
  rest_bytes_ = bytes.size();
}

std::uint64_t XxHash64::value() const {
  std::uint64_t hash = prime_5;
  if (total_bytes_ >= stripe_bytes) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const std::uint64_t lane : lanes_) hash = (hash ^ round(0, lane)) * prime_1 + prime_4;
  }
  hash += total_bytes_;
  std::size_t at = 0;
  for (; at + 8 <= rest_bytes_; at += 8) {
    hash = std::rotl(hash ^ round(0, word_at<std::uint64_t>(&rest_[at])), 27) * prime_1 + prime_4;
  }
  if (at + 4 <= rest_bytes_) {
    hash = std::rotl(hash ^ (word_at<std::uint32_t>(&rest_[at]) * prime_1), 23) * prime_2 + prime_3;
    at += 4;
  }
  for (; at < rest_bytes_; ++at) {
    hash = std::rotl(hash ^ (std::to_integer<std::uint64_t>(rest_[at]) * prime_5), 11) * prime_1;
  }
  hash = (hash ^ (hash >> 33U)) * prime_2;
  hash = (hash ^ (hash >> 29U)) * prime_3;
  return hash ^ (hash >> 32U);
}

}  // namespace kadam::io
