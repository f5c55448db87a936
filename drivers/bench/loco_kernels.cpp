// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_cases.hpp>
#include <kadam/codec/block_codec.hpp>
#include <kadam/kernels/half_copy.hpp>
#include <kadam/kernels/numbers.hpp>

#include <fmt/format.h>

/// LoCo: gradients with a moving-average error, and parameters as bfloat16.
namespace kadam::bench {
namespace {

constexpr std::int64_t gradient_block = 256;
constexpr int ranks = 4;

BlockCodec codec_of(const Vectors& vectors, const std::string& code) {
  return {make_quantiser(code), ChunkLayout(vectors.elements, ranks), gradient_block};
}

/// Of a message, per element.
double bytes_of(const std::string& code) {
  return code_bits(code) / 8.0 + 4.0 / gradient_block;
}

/// Reads g, the error and its steps, writes both.
KernelCase encode_moving_average(const Vectors& vectors, const std::string& code) {
  const BlockCodec codec = codec_of(vectors, code);
  const ByteError<MemorySpace> error{
      allocate_zeros<std::uint8_t>({}, "kadam-bench::error_codes", vectors.elements),
      allocate_zeros<float>({}, "kadam-bench::error_steps", codec.message().map().blocks)};
  return {fmt::format("encode {}, moving average", code), 6.0 + 8.0 / gradient_block + bytes_of(code),
          vectors.elements, Limit::update, [&vectors, codec, error](const auto& exec) {
            codec.encode(exec, codec.message().map(), vectors.gradient, 1.0F, {}, error, Ema::make(0.8),
                         vectors.words);
          }};
}

/// Of the messages that the owner of a chunk of d/4 elements receives.
KernelCase mean(const Vectors& vectors, const std::string& code) {
  const BlockCodec codec = codec_of(vectors, code);
  const auto received =
      allocate<std::uint32_t>({}, "kadam-bench::received", ranks * words_of(codec.message().piece(0).bytes));
  Kokkos::deep_copy(received, 0x3a83126fU);  // 1e-3 where it is a scale, any code elsewhere
  return {fmt::format("decode_mean of {}, {}", ranks, code), ranks * bytes_of(code) + 4.0,
          ChunkLayout(vectors.elements, ranks).chunk(0).elements(), Limit::update,
          [&vectors, codec, received](const auto& exec) {
            codec.mean(exec, 0, codec.message().chunk_map(0), ranks, received, vectors.error);
          }};
}

std::vector<KernelCase> conversions(const Vectors& vectors) {
  const auto halves = allocate_zeros<std::uint16_t>({}, "kadam-bench::halves", vectors.elements);
  return {{"write_copy, bf16", 6.0, vectors.elements, Limit::update,
           [&vectors](const auto& exec) {
             write_copy<ExecutionSpace, MemorySpace>(exec, vectors.x, HalfCopy<MemorySpace>(vectors.model));
           }},
          {"scale_numbers, bf16", 6.0, vectors.elements, Limit::update, [&vectors](const auto& exec) {
             scale_numbers<ExecutionSpace, MemorySpace>(exec, 1.0F, vectors.model, vectors.error);
           }}};
}

}  // namespace

std::vector<KernelCase> loco_cases(const Vectors& vectors) {
  std::vector<KernelCase> cases;
  for (const std::string& code : code_names<UniformCode>())
    cases.push_back(encode_moving_average(vectors, code));
  for (const char* code : {"uniform4", "uniform8"}) cases.push_back(mean(vectors, code));
  for (KernelCase& one : conversions(vectors)) cases.push_back(std::move(one));
  return cases;
}

}  // namespace kadam::bench
