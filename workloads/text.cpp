// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/batch_fill.hpp>
#include <workloads/byte_file.hpp>
#include <workloads/dataset.hpp>
#include <workloads/random.hpp>
#include <workloads/text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace kadam::workloads {
namespace {

/// The token that the model sees in place of a chosen byte.
std::int32_t disguise(std::uint8_t byte, std::uint64_t stream, std::uint64_t& counter,
                      std::span<const std::uint8_t> text) {
  const std::uint64_t tenth = random_below(stream, counter, 10);
  if (tenth < 8) {
    return TokenMask::token;
  }
  return tenth == 8 ? text[random_below(stream, counter, text.size())] : byte;
}

}  // namespace

void TextOptions::validate() const {
  if (context < 1) {
    throw std::invalid_argument("kadam::workloads::TextOptions: context is " + std::to_string(context) +
                                ", expected at least 1 byte");
  }
  if (!(held_out_fraction >= 0.0 && held_out_fraction < 1.0)) {
    throw std::invalid_argument("kadam::workloads::TextOptions: held_out_fraction is " +
                                std::to_string(held_out_fraction) + ", expected 0 or more and less than 1");
  }
  if (objective != "causal" && objective != "masked") {
    throw std::invalid_argument("kadam::workloads::TextOptions: objective '" + objective +
                                "' is not known: use causal or masked");
  }
  if (!(mask_fraction > 0.0 && mask_fraction <= 1.0)) {
    throw std::invalid_argument("kadam::workloads::TextOptions: mask_fraction is " +
                                std::to_string(mask_fraction) + ", expected above 0 and at most 1");
  }
}

TextDataset::TextDataset(const std::filesystem::path& path, const TextOptions& options)
    : name_(path.string()),
      options_((options.validate(), options)),
      mask_(options.context, options.mask_fraction) {
  bytes_ = ByteFile(path).read_rest();
  const auto size = static_cast<std::int64_t>(bytes_.size());
  const auto held_out = static_cast<std::int64_t>(options.held_out_fraction * static_cast<double>(size));
  training_bytes_ = size - held_out;
  if (training_examples() < 1 || (options.held_out_fraction > 0.0 && held_out_examples() < 1)) {
    throw std::runtime_error(name_ + ": at byte " + std::to_string(size) +
                             ": expected at least context + 1 = " + std::to_string(options.context + 1) +
                             " bytes to train on and as many held out, found the end of the file");
  }
}

std::string TextDataset::description() const {
  return name_ + ": " + std::to_string(bytes_.size()) + " bytes, " + std::to_string(training_examples()) +
         " training and " + std::to_string(held_out_examples()) + " held-out windows of " +
         std::to_string(options_.context) +
         (is_masked() ? ", " + std::to_string(mask_.chosen()) + " of them masked" : "");
}

DataShape TextDataset::shape() const {
  DataShape shape;
  shape.context = options_.context;
  shape.classes = 256;
  shape.masked = is_masked() ? mask_.chosen() : 0;
  return shape;
}

void TextDataset::gather(const ExecutionSpace& exec, const std::uint8_t* part,
                         std::span<const std::int64_t> indices, Batch& batch) const {
  const BatchFill fill(exec, batch, indices.size());
  batch.images = {};
  batch.positions = {};
  const std::int64_t context = options_.context;
  const auto copy_windows = [&](std::int64_t shift) {
    return [=](std::int32_t* out) {
      for (const std::int64_t index : indices) {
        for (std::int64_t i = 0; i < context; ++i) {
          *out++ = part[index * context + i + shift];
        }
      }
    };
  };
  const std::size_t elements = indices.size() * static_cast<std::size_t>(context);
  fill.tokens(elements, copy_windows(0));
  fill.targets(elements, copy_windows(1));
}

void TextDataset::gather_masked(const ExecutionSpace& exec, const std::uint8_t* part,
                                std::span<const std::int64_t> indices, std::uint64_t stream,
                                Batch& batch) const {
  const auto context = static_cast<std::size_t>(options_.context);
  MaskedWindows windows;
  windows.tokens.reserve(indices.size() * context);
  for (const std::int64_t index : indices) {
    const auto example = static_cast<std::size_t>(index);
    mask_.append(random_bits(stream, example), {part + example * context, context}, training_bytes(),
                 windows);
  }
  const BatchFill fill(exec, batch, indices.size());
  batch.images = {};
  const auto copy_of = [](const std::vector<std::int32_t>& from) {
    return [&](std::int32_t* out) { std::copy(from.begin(), from.end(), out); };
  };
  fill.tokens(windows.tokens.size(), copy_of(windows.tokens));
  fill.positions(windows.positions.size(), copy_of(windows.positions));
  fill.targets(windows.targets.size(), copy_of(windows.targets));
}

void TextDataset::training_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                                 std::int64_t epoch, Batch& batch) const {
  require_indices("training", indices, training_examples());
  if (!is_masked()) {
    gather(exec, bytes_.data(), indices, batch);
    return;
  }
  const std::uint64_t stream = random_bits(options_.mask_seed, static_cast<std::uint64_t>(epoch));
  gather_masked(exec, bytes_.data(), indices, stream, batch);
}

void TextDataset::held_out_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                                 Batch& batch) const {
  require_indices("held-out", indices, held_out_examples());
  const std::uint8_t* const part = bytes_.data() + training_bytes_;
  if (!is_masked()) {
    gather(exec, part, indices, batch);
    return;
  }
  constexpr std::uint64_t always = 0x68656c64206f7574;  // "held out"
  gather_masked(exec, part, indices, always, batch);
}

TokenMask::TokenMask(std::int64_t context, double fraction)
    : chosen_(std::clamp<std::int64_t>(std::llround(fraction * static_cast<double>(context)), 1, context)) {}

/// Goes through the window once and takes each token with the probability that makes all sets of that size
/// equally likely (Knuth's algorithm S).
void TokenMask::append(std::uint64_t stream, std::span<const std::uint8_t> window,
                       std::span<const std::uint8_t> text, MaskedWindows& windows) const {
  std::uint64_t counter = 0;
  auto wanted = static_cast<std::uint64_t>(chosen_);
  for (std::size_t i = 0; i < window.size(); ++i) {
    const std::uint8_t byte = window[i];
    if (random_below(stream, counter, window.size() - i) >= wanted) {
      windows.tokens.push_back(byte);
      continue;
    }
    --wanted;
    windows.positions.push_back(static_cast<std::int32_t>(windows.tokens.size()));
    windows.targets.push_back(byte);
    windows.tokens.push_back(disguise(byte, stream, counter, text));
  }
}

}  // namespace kadam::workloads
