// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/codec/block_codec.hpp>
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/byte_moments.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/kernels/words.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace kadam::bench {

/// The reference kernel that a kernel is compared with, byte for byte. On a device it is a deep copy, for
/// `update` and for `read`.
enum class Limit : std::uint8_t {
  none,    ///< no reference: memory does not limit the kernel
  update,  ///< reads and writes: an in-place scale
  read,    ///< reads alone: a sum
};

/// A kernel, or several, to time.
struct KernelCase {
  std::string kernel;
  double bytes_per_element = 0.0;  ///< bytes read and written if passes share no cache
  std::int64_t elements = 0;
  Limit limit = Limit::update;
  std::function<void(const ExecutionSpace&)> run;
  std::function<void(const ExecutionSpace&)> prepare = {};  ///< before each run, not timed
};

/// Names of the reference kernels: in-place scale, sum, copies.
inline constexpr const char* update_limit_kernel = "limit: in-place scale";
inline constexpr const char* read_limit_kernel = "limit: sum";
inline constexpr const char* device_limit_kernel = "limit: deep_copy";
inline constexpr const char* copy_kernel = "copy";

/// Name of the case that orthogonalises the momentum of a matrix.
[[nodiscard]] std::string orthogonalise_kernel(std::int64_t rows, std::int64_t columns);

/// The vectors that all cases share, so that large sizes fit in memory. Memory: 32 B per element.
struct Vectors {
  explicit Vectors(std::int64_t size);

  std::int64_t elements;
  Vector<float> x;
  Vector<float> m;
  Vector<float> v;
  Vector<float> gradient;
  Vector<Bfloat16> bfloat16_gradient;  ///< the same gradient, rounded
  Vector<Float16> float16_gradient;
  Vector<Bfloat16> model;  ///< a rounded copy of x
  Vector<float> error;
  ByteMoments<MemorySpace> byte_moments;  ///< of one tensor
  Vector<std::uint32_t> words;            ///< room for a message of `elements` words
};

/// Ranks of the exchanges that cases take part in.
inline constexpr int ranks_of_step = 4;

/// The codec of a vector in one chunk per rank, in blocks of 2048, and a message of it; shared by the cases
/// of a code. No other code writes to the message: words of another code would be read as scales, many of
/// them subnormal numbers, for which some processors take a hundred times as long.
struct Code {
  Code(const std::string& code_name, const Vectors& vectors, int ranks_of_code);

  static constexpr std::int64_t block = 2048;
  std::string name;
  int ranks;
  BlockCodec codec;
  std::int64_t chunk_elements;
  double bytes;                ///< of a message, per element
  Words<MemorySpace> message;  ///< of all chunks, one behind the other
  Words<MemorySpace> reply;    ///< room for the message of one chunk
};

/// Fills `values` with numbers of both signs around `size` whose magnitudes spread over some decades, as
/// those of gradients do. Element i has the same value in every run with the same seed.
void fill(const ExecutionSpace& exec, const Vector<float>& values, float size, std::uint32_t seed);

/// The reference kernels; the deep copy only on a device.
[[nodiscard]] std::vector<KernelCase> limit_cases(const Vectors& vectors);
[[nodiscard]] std::vector<KernelCase> dense_cases(const Vectors& vectors);
[[nodiscard]] std::vector<KernelCase> lamb_cases(const Vectors& vectors);
[[nodiscard]] std::vector<KernelCase> codec_cases(const Vectors& vectors);
[[nodiscard]] std::vector<KernelCase> loco_cases(const Vectors& vectors);
[[nodiscard]] std::vector<KernelCase> low_rank_cases(const Vectors& vectors);
/// Muon's products. KernelCase::elements is their number of multiplications.
[[nodiscard]] std::vector<KernelCase> spectral_cases(const Vectors& vectors);
[[nodiscard]] std::vector<KernelCase> sparse_cases(const Vectors& vectors);
/// Kernels that run once, at the end of a warm-up.
[[nodiscard]] std::vector<KernelCase> freeze_cases(const Vectors& vectors);
/// Whole steps of a small problem on one rank.
[[nodiscard]] std::vector<KernelCase> small_step_cases();

}  // namespace kadam::bench
