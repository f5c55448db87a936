// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/io/safetensors.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <launch/equal_replicas.hpp>
#include <launch/learning_rates.hpp>
#include <limits>
#include <stdexcept>
#include <train/held_out.hpp>
#include <train/run_folder.hpp>
#include <train/run_record.hpp>
#include <train/trainer.hpp>
#include <utility>
#include <workloads/make_sampler.hpp>

namespace kadam::train {
namespace {

workloads::SamplerOptions sampler_options(const Configuration& configuration, const workloads::Dataset& data,
                                          const Communicator& communicator) {
  return {data.training_examples(), configuration.training.batch, communicator.size(), communicator.rank()};
}

void scale(const ExecutionSpace& exec, float factor, const Vector<float>& x) {
  Kokkos::parallel_for(
      "kadam-train::scale", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, x.extent(0)),
      KOKKOS_LAMBDA(const std::size_t i) { x(i) *= factor; });
}

void add(const ExecutionSpace& exec, const Vector<float>& to, const Vector<const float>& x) {
  Kokkos::parallel_for(
      "kadam-train::add", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, x.extent(0)),
      KOKKOS_LAMBDA(const std::size_t i) { to(i) += x(i); });
}

std::vector<CurvePoint> curve_from(const std::string& text) {
  std::vector<CurvePoint> curve;
  long long step = 0;
  double loss = 0.0;
  int length = 0;
  for (const char* at = text.c_str(); std::sscanf(at, "%lld %la%n", &step, &loss, &length) == 2;
       at += length) {
    curve.push_back({step, loss});
  }
  return curve;
}

}  // namespace

Trainer::Trainer(const Configuration& configuration, const std::string& algorithm,
                 const workloads::Dataset& data, std::shared_ptr<Communicator> communicator)
    : configuration_(configuration),
      data_(data),
      communicator_(std::move(communicator)),
      model_(workloads::make_model(configuration.model, data.shape())),
      optimizer_(make_optimizer(algorithm, configuration.options_for(algorithm), model_->tensors(),
                                communicator_, configuration.groups)),
      sampler_(workloads::make_sampler(data, configuration.data.dirichlet_alpha,
                                       sampler_options(configuration, data, *communicator_),
                                       static_cast<std::uint64_t>(configuration.training.seed))),
      progress_(algorithm, configuration.training.steps, is_root()),
      statistics_(configuration.training.steps) {
  const std::int64_t d = model_->tensors().elements();
  parameters_ = allocate<float>(exec_, "kadam-train::parameters", d);
  consensus_ = allocate<float>(exec_, "kadam-train::consensus", d);
  gradient_ = allocate<float>(exec_, "kadam-train::gradient", d);
  rounded_gradient_ = launch::RoundedGradient(exec_, optimizer_->gradient_format(), d);
  if (configuration.training.accumulate > 1) {
    micro_gradient_ = allocate<float>(exec_, "kadam-train::micro_gradient", d);
  }
  const auto host = Kokkos::create_mirror_view(parameters_);
  model_->initialise(host, static_cast<std::uint64_t>(configuration.training.seed));
  Kokkos::deep_copy(exec_, parameters_, host);
  exec_.fence("kadam-train: initial parameters");
  launch::require_learning_rates(*optimizer_, configuration.training.steps);
  optimizer_->phases().measure(true);
  summary_.algorithm = algorithm;
  summary_.dense_bytes_per_step = static_cast<double>(DenseMean::bytes_sent(*communicator_, d));
}

RunSummary Trainer::run(const std::filesystem::path& folder, const CheckpointOptions& checkpoints) {
  if (!checkpoints.resume.empty()) resume(checkpoints);
  if (is_root()) open_folder(folder, !checkpoints.resume.empty());
  timer_.reset();
  SaveTimes times(checkpoints, is_root());
  const TrainingOptions& training = configuration_.training;
  while (step_ < training.steps && !summary_.was_stopped) {
    const std::int64_t step = ++step_;
    if (timeline_ != nullptr) timeline_->at_step(step);
    const std::uint32_t raised = take_step(step, times.wishes());
    const bool is_last = step == training.steps;
    if (is_last) optimizer_->flush(exec_, parameters_);
    const bool asked = training.evaluate_every > 0 && step % training.evaluate_every == 0;
    if (asked || is_last) evaluate(step);
    if (times.is_due(step, raised) || (is_last && !checkpoints.folder.empty())) {
      save(checkpoints);
      times.saved();
    }
    summary_.was_stopped = SaveTimes::ends(raised) && !is_last;
    if (watchdog_ != nullptr) watchdog_->saw_step(step);
  }
  summary_.wall_seconds = wall_seconds();
  progress_.finish();
  summarise();
  if (is_root() && !summary_.was_stopped) {
    write_parameters(folder);
    close_run_record(folder / "run.json", summary_);
  }
  return summary_;
}

void Trainer::open_folder(const std::filesystem::path& folder, bool goes_on) {
  std::filesystem::create_directories(folder);
  write_configuration(folder, to_toml(configuration_, optimizer_->name(), optimizer_->options()));
  open_run_record(folder / "run.json", facts(), *communicator_);
  const std::filesystem::path metrics = folder / "metrics.jsonl";
  metrics_ = goes_on ? std::make_unique<io::JsonLinesWriter>(metrics, step_)
                     : std::make_unique<io::JsonLinesWriter>(metrics);
}

RunFacts Trainer::facts() const {
  const TrainingOptions& training = configuration_.training;
  return {summary_.algorithm,
          configuration_.model.kind,
          data_.description(),
          model_->tensors().elements(),
          training.steps,
          training.batch * training.accumulate * communicator_->size(),
          summary_.dense_bytes_per_step,
          step_,
          commands_};
}

void Trainer::resume(const CheckpointOptions& options) {
  if (options.resume != "auto") {
    adopt(checkpoint::restore(exec_, *optimizer_, parameters_, options.resume));
    return;
  }
  const auto passed_over = [](const std::filesystem::path& path, const std::string& why) {
    fmt::print(stderr, "warning: {} is passed over: {}\n", path.string(), why);
  };
  const auto restored =
      checkpoint::restore_newest(exec_, *optimizer_, parameters_, options.folder, passed_over);
  if (restored) {
    adopt(*restored);
  } else if (is_root()) {
    fmt::print("{}: no checkpoint in {} yet: starts at step 1\n", optimizer_->name(),
               options.folder.string());
  }
}

void Trainer::save(const CheckpointOptions& options) {
  const Kokkos::Profiling::ScopedRegion region("kadam-train::save");
  try {
    (void)checkpoint::save(exec_, *optimizer_, parameters_, options.folder, program_state(), options.keep);
  } catch (const std::exception& error) {
    // All ranks come here together.
    if (!options.goes_on_unsaved) throw;
    if (is_root()) fmt::print(stderr, "warning: step {} is not saved: {}\n", step_, error.what());
  }
}

/// Where the data are, and what summary and curve need to be those of the whole run.
checkpoint::ProgramState Trainer::program_state() const {
  const workloads::SamplerState sampler = sampler_.state();
  checkpoint::ProgramState state = statistics_.to_texts();
  state["step"] = std::to_string(step_);
  state["sampler"] = fmt::format("{} {} {}", sampler.seed, sampler.epoch, sampler.position);
  state["wall_seconds"] = fmt::format("{:a}", wall_seconds());
  state["held_out"] = fmt::format("{:a} {:a}", summary_.held_out_loss, summary_.accuracy);
  std::string& curve = state["curve"];
  for (const CurvePoint& point : summary_.curve) curve += fmt::format("{} {:a} ", point.step, point.loss);
  return state;
}

void Trainer::adopt(const checkpoint::Restored& restored) {
  const auto text = [&](const char* name) {
    const auto found = restored.program.find(name);
    return found == restored.program.end() ? std::string() : found->second;
  };
  long long epoch = 0;
  long long position = 0;
  unsigned long long seed = 0;
  long long step = 0;
  const bool is_whole =
      std::sscanf(text("sampler").c_str(), "%llu %lld %lld", &seed, &epoch, &position) == 3 &&
      std::sscanf(text("step").c_str(), "%lld", &step) == 1 &&
      std::sscanf(text("wall_seconds").c_str(), "%la", &seconds_of_former_) == 1 &&
      std::sscanf(text("held_out").c_str(), "%la %la", &summary_.held_out_loss, &summary_.accuracy) == 2 &&
      statistics_.from_texts(restored.program);
  if (!is_whole) {
    throw std::runtime_error(restored.path.string() +
                             ": it was not written by kadam-train: where the run stood is missing");
  }
  sampler_.restore({seed, epoch, position});
  step_ = step;
  summary_.curve = curve_from(text("curve"));
  progress_.start_after(step_);
  if (is_root())
    fmt::print("{}: goes on after step {} from {}\n", optimizer_->name(), step_, restored.path.string());
}

/// The mean gradient of `accumulate` batches; returns their mean loss.
double Trainer::accumulate_gradient() {
  const Kokkos::Profiling::ScopedRegion region("kadam-train::gradient");
  const std::int64_t batches = configuration_.training.accumulate;
  double loss = 0.0;
  for (std::int64_t k = 0; k < batches; ++k) {
    const auto examples = sampler_.next();
    data_.training_batch(exec_, examples, sampler_.epoch(), batch_);
    const Vector<float>& target = k == 0 ? gradient_ : micro_gradient_;
    loss += model_->loss_and_gradient(exec_, parameters_, batch_, target,
                                      [&](const ElementRange& range) { use_while_computing(range); });
    if (k > 0) add(exec_, gradient_, micro_gradient_);
  }
  if (batches > 1) scale(exec_, static_cast<float>(1.0 / static_cast<double>(batches)), gradient_);
  exec_.fence("kadam-train: gradient");
  return loss / static_cast<double>(batches);
}

/// These elements of the gradient of a batch are final.
void Trainer::use_while_computing(const ElementRange& range) {
  if (overlaps()) {
    rounded_gradient_.round(exec_, gradient_, range);
    optimizer_->gradient_ready(exec_, rounded_gradient_.view(gradient_), range);
  }
  optimizer_->progress();
}

/// Returns what any rank wishes.
std::uint32_t Trainer::take_step(std::int64_t step, std::uint32_t wishes) {
  const Kokkos::Profiling::ScopedRegion region("kadam-train::step");
  Kokkos::Timer timer;
  optimizer_->raise(wishes);
  const ByteCounters before = communicator_->bytes_sent();
  const double loss = accumulate_gradient();
  const double compute_seconds = timer.seconds();
  const StepResult result =
      optimizer_->step(exec_, parameters_,
                       overlaps() ? rounded_gradient_.view(gradient_) : rounded_gradient_(exec_, gradient_));
  statistics_.add({step, result.phase, result.skipped, loss, compute_seconds, optimizer_->phases().seconds(),
                   communicator_->bytes_sent().between_nodes() - before.between_nodes(),
                   communicator_->bytes_sent().sent(Traffic::background) - before.sent(Traffic::background),
                   timer.seconds()});
  if (step % configuration_.training.log_every == 0 || step == configuration_.training.steps)
    log(result, step);
  return result.raised;
}

void Trainer::log(const StepResult& result, std::int64_t step) {
  const StepWindow window = statistics_.take_window();
  const double loss = mean_over_ranks(window.mean_loss());
  summary_.curve.push_back({step, loss});
  const io::Metrics figures = health();
  if (is_root()) {
    const StepSeconds seconds = window.mean_seconds();
    io::Metrics line = {{"step", step},
                        {"seconds", wall_seconds()},
                        {"loss", loss},
                        {"learning_rate", result.learning_rate},
                        {"phase", statistics_.phase()},
                        {"gradient_norm", result.gradient_norm},
                        {"gradient_scale", result.gradient_scale},
                        {"bytes_per_step", window.mean_bytes()},
                        {"bytes_sent", static_cast<std::int64_t>(statistics_.bytes_sent())},
                        {"compute_seconds", seconds.compute},
                        {"encode_seconds", seconds.encode},
                        {"exchange_seconds", seconds.exchange},
                        {"decode_seconds", seconds.decode},
                        {"rest_seconds", seconds.rest},
                        {"wait_seconds", seconds.wait},
                        {"inactive_elements", optimizer_->inactive_elements()},
                        {"skipped_steps", optimizer_->steps_skipped()}};
    line.insert(line.end(), figures.begin(), figures.end());
    metrics_->write(line);
  }
  progress_.update(step, fmt::format("loss {:.4f}  {:<10}  {:>9}/step", loss, statistics_.phase(),
                                     bytes_text(window.mean_bytes())));
}

/// The optimizer's health as metrics; what is wrong is said once of its kind.
io::Metrics Trainer::health() {
  const Health health = optimizer_->health(exec_);
  io::Metrics figures;
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value) figures.emplace_back(name, *value);
  };
  add("error_ratio", health.error_ratio);
  add("variance_drift", health.variance_drift);
  add("variance_spread", health.variance_spread);
  add("support_overlap", health.support_overlap);
  add("background_hidden", health.background_hidden);
  for (const Warning& warning : warnings(health)) {
    figures.emplace_back("warning_" + warning.kind, warning.text);
    if (is_root() && warned_.insert(warning.kind).second) {
      fmt::print(stderr, "warning: {}: {}\n", optimizer_->name(), warning.text);
    }
  }
  return figures;
}

void Trainer::evaluate(std::int64_t step) {
  const Kokkos::Profiling::ScopedRegion region("kadam-train::evaluate");
  optimizer_->write_consensus(exec_, parameters_, consensus_);
  const std::uint64_t hash = launch::require_equal_replicas(*communicator_, exec_, consensus_);
  const TrainingOptions& training = configuration_.training;
  const workloads::Evaluation held_out = evaluate_held_out(exec_, *model_, consensus_, data_, *communicator_,
                                                           training.batch, training.held_out_examples);
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(held_out.count);
  summary_.held_out_loss = held_out.count == 0 ? none : held_out.loss_sum / count;
  summary_.accuracy = held_out.count == 0 ? none : static_cast<double>(held_out.correct) / count;
  if (is_root()) {
    metrics_->write({{"step", step},
                     {"held_out_loss", summary_.held_out_loss},
                     {"held_out_accuracy", summary_.accuracy},
                     {"held_out_predictions", held_out.count},
                     {"replica_hash", fmt::format("{:016x}", hash)}});
  }
}

double Trainer::mean_over_ranks(double value) {
  double sum = 0.0;
  for (const double of_rank : communicator_->all_gather_values({&value, 1})) sum += of_rank;
  return sum / communicator_->size();
}

void Trainer::summarise() {
  const StepWindow& last = statistics_.last_phase();
  summary_.steps = step_;
  summary_.training_loss = mean_over_ranks(statistics_.late().mean_loss());
  summary_.bytes_per_step = last.mean_bytes();
  summary_.background_bytes_per_step = last.mean_background_bytes();
  summary_.mean_bytes_per_step = statistics_.whole_run().mean_bytes();
  summary_.seconds = last.mean_seconds();
  summary_.skipped_steps = optimizer_->steps_skipped();
}

void Trainer::write_parameters(const std::filesystem::path& folder) const {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, parameters_);
  io::write_safetensors(
      folder / "parameters.safetensors", model_->tensors(), {host.data(), host.size()},
      {{"optimizer", optimizer_->name()}, {"steps", std::to_string(optimizer_->steps_taken())}});
}

}  // namespace kadam::train
