// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <plan/prediction.hpp>

#include <span>
#include <string>

namespace kadam::plan {

/// How much more a dense step must wait than a compressed one spends on compression before it pays.
inline constexpr double margin = 1.5;

/// A prediction of many, and what to call it: the same algorithm may be there with several options.
struct Candidate {
  std::string name;
  bool dense = false;  ///< a baseline: exchanges everything in every step
  Prediction prediction;
};

/// What to use.
struct Verdict {
  std::string best;         ///< name of a candidate
  bool compresses = false;  ///< it is no dense one
  double speedup = 1.0;     ///< over the fastest dense one, over the whole run
  std::string reason;       ///< one sentence
};

/// Whether compression pays against the fastest dense candidate: it does if the step is shorter and
///
///   exposed seconds of dense > 1.5 (kernels + exposed seconds of the compressed one)
///
/// over the whole run; never where all ranks share the memory of one node. All candidates are predictions
/// for the same ranks. Errors: std::invalid_argument without a dense candidate.
[[nodiscard]] Verdict judge(std::span<const Candidate> candidates, const Network& network);

}  // namespace kadam::plan
