// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/safetensors.hpp>
#include <launch/files.hpp>
#include <launch/quantities.hpp>
#include <train/trainer.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <vector>

/// What a run prints and writes into its folder.
namespace kadam::train {

void Trainer::open_folder(const std::filesystem::path& folder, bool goes_on) {
  std::filesystem::create_directories(folder);
  launch::write_configuration(folder, to_toml(configuration_, optimizer_->name(), optimizer_->options()));
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

void Trainer::log(const StepResult& result, std::int64_t step) {
  const StepWindow window = statistics_.take_window();
  const double loss = mean_loss(window);
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
  progress_->update(step, fmt::format("loss {:.4f}  {:<10}  {:>9}/step", loss, statistics_.phase(),
                                      launch::bytes_text(window.mean_bytes())));
}

/// The optimizer's health as metrics; what is wrong is said once of its kind.
io::Metrics Trainer::health() {
  const Health health = optimizer_->health(exec_);
  io::Metrics figures;
  for (const NamedFigure& figure : named_figures(health)) {
    if (figure.value) figures.emplace_back(figure.name, *figure.value);
  }
  for (const Warning& warning : warnings(health)) {
    figures.emplace_back("warning_" + warning.kind, warning.text);
    if (is_root() && warned_.insert(warning.kind).second) {
      fmt::print(stderr, "warning: {}: {}\n", optimizer_->name(), warning.text);
    }
  }
  return figures;
}

double Trainer::mean_loss(const StepWindow& window) {
  const std::array<double, 2> own = {window.loss, static_cast<double>(window.losses)};
  const std::vector<double> all = communicator_->all_gather_values(own);
  StepWindow of_all_ranks;
  for (std::size_t k = 0; k < all.size(); k += own.size()) {
    of_all_ranks.loss += all[k];
    of_all_ranks.losses += static_cast<std::int64_t>(all[k + 1]);
  }
  return of_all_ranks.mean_loss();
}

void Trainer::summarise() {
  const StepWindow& last = statistics_.last_phase();
  summary_.steps = step_;
  summary_.training_loss = mean_loss(statistics_.late());
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
