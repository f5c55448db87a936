// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <plan/prediction.hpp>

#include <algorithm>
#include <stdexcept>

namespace kadam::plan {
namespace {

/// Part of a step that nobody would wait to save.
constexpr double negligible = 0.01;

double total(const Candidate& candidate) {
  return candidate.prediction.step.total();
}

const Candidate* fastest(std::span<const Candidate> candidates, bool dense, bool has_to_fit) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.dense != dense || (has_to_fit && !candidate.fits)) continue;
    if (best == nullptr || total(candidate) < total(*best)) best = &candidate;
  }
  return best;
}

bool pays(const Candidate& candidate, const Candidate& dense) {
  const StepSeconds& spent = candidate.prediction.step;
  return total(candidate) < total(dense) &&
         dense.prediction.step.exposed > margin * (spent.kernels + spent.exposed);
}

}  // namespace

Verdict judge(std::span<const Candidate> candidates, const Network& network) {
  const bool any_fits = std::any_of(candidates.begin(), candidates.end(),
                                    [](const Candidate& candidate) { return candidate.fits; });
  const Candidate* dense = fastest(candidates, true, any_fits);
  const bool alone_fits = dense == nullptr;
  if (alone_fits) dense = fastest(candidates, true, false);
  if (dense == nullptr) throw std::invalid_argument("kadam::plan::judge: expected a dense candidate");
  if (alone_fits) {
    const Candidate& best = *fastest(candidates, false, true);
    return {best.name, true, total(*dense) / total(best), true, "no dense optimizer fits a rank's memory",
            {}};
  }
  Verdict verdict{dense->name, false, 1.0, false, "", {}};
  if (network.nodes(dense->prediction.ranks) == 1) {
    verdict.reason = "all ranks share the memory of one node: there is no network to save";
    return verdict;
  }
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.dense || (any_fits && !candidate.fits) || !pays(candidate, *dense)) continue;
    if (best == nullptr || total(candidate) < total(*best)) best = &candidate;
    if (!candidate.suits.empty()) {
      verdict.leads.push_back({candidate.suits, candidate.name, total(*dense) / total(candidate)});
    }
  }
  if (best != nullptr) {
    verdict.best = best->name;
    verdict.compresses = true;
    verdict.speedup = total(*dense) / total(*best);
    verdict.reason = dense->name + " waits for the network more than 1.5 times as long as compression takes";
    return verdict;
  }
  verdict.reason = dense->prediction.step.exposed < negligible * total(*dense)
                       ? "its exchange hides behind the backward pass: nothing is left to save"
                       : "it waits for the network less than 1.5 times as long as compression takes";
  return verdict;
}

}  // namespace kadam::plan
