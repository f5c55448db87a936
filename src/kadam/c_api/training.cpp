// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Functions of kadam.h for steps and whatever belongs to them, and for figures about them.
#include <kadam/c_api/guarded.hpp>
#include <kadam/c_api/optimizer.hpp>

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

using kadam::c_api::guarded;
using kadam::c_api::required;
using kadam::c_api::usable;

namespace {

double or_nan(const std::optional<double>& value) {
  return value.value_or(std::numeric_limits<double>::quiet_NaN());
}

kadam_statistics statistics_of(kadam::Optimizer& optimizer) {
  using kadam::Traffic;
  const kadam::MemoryUse memory = optimizer.memory();
  const kadam::ByteCounters& sent = optimizer.communicator().bytes_sent();
  const auto seconds = [&](kadam::Phase phase) {
    return optimizer.phases().seconds()[static_cast<std::size_t>(phase)];
  };
  return {optimizer.layout().elements(),   optimizer.steps_taken(),
          optimizer.steps_skipped(),       memory.state_bytes,
          memory.workspace_bytes,          sent.total(),
          sent.sent(Traffic::control),     sent.sent(Traffic::dense),
          sent.sent(Traffic::compressed),  sent.sent(Traffic::sparse),
          sent.sent(Traffic::background),  sent.sent(Traffic::node),
          seconds(kadam::Phase::check),    seconds(kadam::Phase::encode),
          seconds(kadam::Phase::exchange), seconds(kadam::Phase::decode)};
}

}  // namespace

kadam_status kadam_step(kadam_optimizer* optimizer, float* parameters, const void* gradient,
                        kadam_step_result* result, kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    const auto [own, g] =
        of.optimizer->prepare_step([&] { return std::pair(of.in(parameters), of.gradient_of(gradient)); });
    const kadam::StepResult step = of.optimizer->step(of.exec, own, g);
    if (!step.skipped) of.give_back(own, parameters);  // else a copy of the model holds nothing
    if (result == nullptr) return;
    *result = {step.step,           step.phase,           step.learning_rate,        step.gradient_norm,
               step.gradient_scale, step.skipped ? 1 : 0, step.synchronised ? 1 : 0, step.raised,
               step.skipped_alone};
  });
}

kadam_status kadam_give_up_step(kadam_optimizer* optimizer, kadam_error* error) {
  return guarded(__func__, error, [&] { usable(optimizer).optimizer->give_up_step(); });
}

kadam_status kadam_set(kadam_optimizer* optimizer, const char* option, double value, kadam_error* error) {
  return guarded(__func__, error, [&] {
    usable(optimizer).optimizer->set({{&required(option, "the name of an option"), value}});
  });
}

kadam_status kadam_set_group(kadam_optimizer* optimizer, const char* tensors, double lr_scale,
                             double weight_decay, kadam_error* error) {
  return guarded(__func__, error, [&] {
    usable(optimizer).optimizer->set_group(
        &required(tensors, "the pattern of a group"), lr_scale,
        std::isnan(weight_decay) ? std::nullopt : std::optional(weight_decay));
  });
}

kadam_status kadam_gradient_ready(kadam_optimizer* optimizer, const void* gradient, int64_t begin,
                                  int64_t end, kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    // A copy is only complete in kadam_step().
    if (!of.copies) of.optimizer->gradient_ready(of.exec, of.gradient_of(gradient), {begin, end});
  });
}

kadam_status kadam_progress(kadam_optimizer* optimizer, kadam_error* error) {
  return guarded(__func__, error, [&] { usable(optimizer).optimizer->progress(); });
}

kadam_status kadam_raise(kadam_optimizer* optimizer, uint32_t bits, kadam_error* error) {
  return guarded(__func__, error, [&] { usable(optimizer).optimizer->raise(bits); });
}

kadam_status kadam_flush(kadam_optimizer* optimizer, float* parameters, kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    const kadam::Parameters own = of.in(parameters);
    of.optimizer->flush(of.exec, own);
    of.give_back(own, parameters);
  });
}

kadam_status kadam_consensus(kadam_optimizer* optimizer, const float* parameters, float* out,
                             kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    const kadam::Vector<const float> own = of.read(parameters);
    const kadam::Parameters result = of.out(out);
    of.optimizer->write_consensus(of.exec, own, result);
    of.give_back(result, out);
  });
}

kadam_status kadam_wait(kadam_optimizer* optimizer, kadam_error* error) {
  return guarded(__func__, error, [&] {
    const kadam_optimizer& of = usable(optimizer);
    of.optimizer->communicator().settle();
    of.exec.fence("kadam_wait");
  });
}

kadam_status kadam_get_statistics(const kadam_optimizer* optimizer, kadam_statistics* statistics,
                                  kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam::Optimizer& of = *required(optimizer, "the optimizer").optimizer;
    required(statistics, "the place for statistics") = statistics_of(of);
  });
}

kadam_status kadam_measure_phases(kadam_optimizer* optimizer, int on, kadam_error* error) {
  return guarded(__func__, error, [&] { usable(optimizer).optimizer->phases().measure(on != 0); });
}

kadam_status kadam_get_health(kadam_optimizer* optimizer, kadam_health* health, kadam_error* error) {
  return guarded(__func__, error, [&] {
    kadam_optimizer& of = usable(optimizer);
    kadam_health& place = required(health, "the place for the figures");
    const kadam::Health figures = of.optimizer->health(of.exec);
    const auto& step = figures.largest_step;
    place = {or_nan(figures.error_ratio),
             or_nan(figures.variance_drift),
             or_nan(figures.variance_spread),
             or_nan(figures.support_overlap),
             or_nan(figures.background_hidden),
             figures.inactive_fraction,
             or_nan(step ? std::optional(step->over_learning_rate) : std::nullopt),
             step ? step->tensor : -1};
  });
}
