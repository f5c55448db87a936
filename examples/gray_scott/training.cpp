// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training.hpp"

#include "random.hpp"
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/kernels/content_hash.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

namespace gray_scott {
namespace {

constexpr std::int64_t cells_at_once = 2048;

std::vector<std::int64_t> widths_of(const SurrogateOptions& options) {
  std::vector<std::int64_t> widths = options.hidden;
  widths.push_back(species);
  return widths;
}

/// Fails before the first step if `lr` is a list that is too short, not at the first step without a rate.
void require_learning_rates(const kadam::OptionMap& options, std::int64_t steps) {
  const auto lr = options.find("lr");
  const auto* list = lr == options.end() ? nullptr : std::get_if<std::vector<double>>(&lr->second);
  if (list == nullptr || static_cast<std::int64_t>(list->size()) >= steps) return;
  throw std::invalid_argument(fmt::format(
      "'lr' is a list of {} entries for a run of {} steps: give one per step", list->size(), steps));
}

}  // namespace

std::shared_ptr<kadam::Communicator> make_training_communicator(MPI_Comm program, bool is_staged) {
  kadam::MpiOptions options;
  options.exchange.staging = is_staged ? kadam::Staging::always : kadam::Staging::never;
  int rank = 0;
  MPI_Comm_rank(program, &rank);
  MPI_Comm training = MPI_COMM_NULL;
  const int trains = 0;  // all ranks train; MPI_UNDEFINED for those that do not
  MPI_Comm_split(program, trains, rank, &training);
  auto communicator = kadam::make_mpi_communicator(training, options);
  MPI_Comm_free(&training);  // the library works on a duplicate
  return communicator;
}

Training::Training(const ExecutionSpace& exec, const Settings& settings, const Slab& slab,
                   const std::shared_ptr<kadam::Communicator>& communicator)
    : options_(settings.training),
      slab_(slab),
      surrogate_(exec, species * (2 * slab.halo() + 1) * (2 * slab.halo() + 1), widths_of(settings.surrogate),
                 std::max(cells_at_once, options_.batch)),
      optimizer_(kadam::make_optimizer(settings.optimizer.name, settings.optimizer.options,
                                       surrogate_.tensors(), communicator, settings.optimizer.groups)),
      parameters_(kadam::allocate<float>(exec, "gray_scott::parameters", tensors().elements())),
      consensus_(kadam::allocate<float>(exec, "gray_scott::consensus", tensors().elements())),
      gradient_(kadam::allocate<float>(exec, "gray_scott::gradient", tensors().elements())),
      seed_(random_bits(static_cast<std::uint64_t>(options_.seed),
                        static_cast<std::uint64_t>(communicator->rank()))) {
  require_learning_rates(optimizer_->options(), options_.steps());
  const auto host = Kokkos::create_mirror_view(parameters_);
  surrogate_.initialise(host, static_cast<std::uint64_t>(options_.seed));
  Kokkos::deep_copy(exec, parameters_, host);
  exec.fence("gray_scott: initial parameters");
}

TrainingStep Training::step(const ExecutionSpace& exec, const History& history) {
  const kadam::ByteCounters before = optimizer_->communicator().bytes_sent();
  const std::int64_t batch = options_.batch;
  gather_examples(exec, slab_, history, RandomSites(seed_, drawn_, history, slab_), scaling_,
                  surrogate_.inputs(batch), surrogate_.targets(batch));
  drawn_ += static_cast<std::uint64_t>(batch);
  TrainingStep step;
  const auto announce = [&](const kadam::ElementRange& range) {  // dense gradients leave at once
    optimizer_->gradient_ready(exec, gradient_, range);
  };
  step.loss = surrogate_.loss_and_gradient(exec, parameters_, gradient_, batch, announce);
  step.result = optimizer_->step(exec, parameters_, gradient_);
  const kadam::ByteCounters after = optimizer_->communicator().bytes_sent();
  step.control_bytes = after.sent(kadam::Traffic::control) - before.sent(kadam::Traffic::control);
  step.bytes = after.total() - before.total() - step.control_bytes;
  if (!step.result.skipped) {
    step.planned_bytes = optimizer_->bytes_sent_in(step.result.step, step.result.phase);
  }
  return step;
}

std::uint64_t Training::update_consensus(const ExecutionSpace& exec) {
  optimizer_->write_consensus(exec, parameters_, consensus_);
  const std::array<std::string, 1> names = {"the parameters (hash)"};
  const std::array<std::uint64_t, 1> hashes = {
      kadam::content_hash(exec, kadam::Vector<const float>(consensus_))};
  optimizer_->communicator().require_equal(names, hashes);
  return hashes.front();
}

void Training::predict(const ExecutionSpace& exec, const Field& before, const Field& after) const {
  const std::int64_t all = slab_.rows() * slab_.width();
  for (std::int64_t first = 0; first < all; first += cells_at_once) {
    const std::int64_t cells = std::min(cells_at_once, all - first);
    gather_inputs(exec, slab_, before, first, scaling_, surrogate_.inputs(cells));
    const Matrix changes = surrogate_.predict(exec, consensus_, cells);
    apply_changes(exec, slab_, before, first, scaling_, changes, after);
  }
}

}  // namespace gray_scott
