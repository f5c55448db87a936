// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/notices.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/kernels/content_hash.hpp>
#include <kadam/kernels/half_copy.hpp>
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/optim/optimizer.hpp>
#include <kadam/text_hash.hpp>
#include <kadam/wire/block_message.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

std::string text_of(const TensorLayout& layout) {
  std::string text;
  for (const Tensor& tensor : layout.tensors()) {
    text += tensor.name + ":" + std::to_string(tensor.end) + ";";
  }
  return text;
}

[[noreturn]] void refuse_state(const StateSource& source, const std::string& why) {
  throw std::runtime_error("the state of " + source.algorithm() + " " + why);
}

/// Throws std::invalid_argument that names the first difference between texts, which are not all equal.
/// texts: one of each rank, in which lines are by turns a name and its value.
[[noreturn]] void refuse_different_setups(const std::vector<std::string>& texts) {
  for (std::size_t rank = 1; rank < texts.size(); ++rank) {
    std::istringstream first(texts.front());
    std::istringstream other(texts[rank]);
    std::string what;
    std::string value;
    std::string other_what;
    std::string other_value;
    while (std::getline(first, what) && std::getline(first, value)) {
      const bool is_there = std::getline(other, other_what) && std::getline(other, other_value);
      if (is_there && what == other_what && value == other_value) continue;
      const std::string of_other = !is_there || what != other_what ? "nothing" : other_value;
      throw std::invalid_argument("kadam::Optimizer: rank 0 and rank " + std::to_string(rank) +
                                  " disagree on " + what + " (" + value + " and " + of_other +
                                  "): start all ranks with the same configuration");
    }
  }
  throw std::invalid_argument(
      "kadam::Optimizer: ranks disagree on the tensors of the model (some have more than rank 0): "
      "start all ranks with the same configuration");
}

/// Adds a transfer to the plan; those of one class that come at the same steps are added up in one row.
void add_traffic(const StepPhase& phase, const PlannedExchange& exchange, const Transfer& transfer,
                 std::vector<PlannedTraffic>& plan) {
  const auto is_same = [&](const PlannedTraffic& other) {
    return other.phase == phase.name && other.traffic == transfer.traffic && other.every == exchange.every &&
           other.after == exchange.after;
  };
  const auto found = std::find_if(plan.begin(), plan.end(), is_same);
  if (found != plan.end()) {
    found->bytes += transfer.bytes;
  } else {
    plan.push_back({phase.name, transfer.traffic, transfer.bytes, exchange.every, exchange.after});
  }
}

}  // namespace

std::uint64_t hash_of(const TensorLayout& layout) {
  return hash_of(text_of(layout));
}

Optimizer::Optimizer(Setup setup, const std::function<AlgorithmCost(const Problem&)>& cost_of,
                     const std::function<std::unique_ptr<Algorithm>(Workplace&)>& make)
    : name_(std::move(setup.name)),
      options_(std::move(setup.options)),
      made_with_(setup.common),
      validate_(std::move(setup.validate)),
      at_(std::make_unique<Workplace>()) {
  at_->communicator = std::move(setup.communicator);
  at_->common = std::move(setup.common);
  Problem& problem = at_->problem;
  problem.layout = std::move(setup.layout);
  problem.groups =
      resolve_groups(problem.layout, at_->common.groups, at_->common.weight_decay, at_->common.dense_below);
  // One rank compresses nothing, so no tensor has to be kept out of compression.
  if (communicator().size() == 1) problem.groups.dense.clear();
  problem.ranks = communicator().arrangement();
  problem.threads = host_threads(ExecutionSpace());
  at_->sum_space = SumSpace<MemorySpace>(elements());
  at_->segments = segment_table(problem.groups.segments);
  at_->cost = cost_of(problem);
  at_->cost.memory.workspace_bytes += communicator().staging_bytes();
  communicator().reserve_staging();
  algorithm_ = make(*at_);
}

std::string Optimizer::groups_text() const {
  std::string text;
  for (const ParameterGroup& group : made_with_.groups) {
    text += group.tensors + ":" + to_text(OptionValue(group.lr_scale)) + ":" +
            (group.weight_decay ? to_text(OptionValue(*group.weight_decay)) : std::string("-")) +
            (group.dense ? ":dense;" : ";");
  }
  return text;
}

ResolvedGroups Optimizer::groups_with(const Settings& settings) const {
  const CommonOptions common = settings.applied_to(made_with_);
  if (validate_) validate_(common);
  ResolvedGroups groups = resolve_groups(layout(), common.groups, common.weight_decay, common.dense_below);
  groups.dense = at_->problem.groups.dense;
  for (std::size_t k = 0; k < groups.tensors.size(); ++k) {
    const bool moves = groups.tensors[k].lr_scale > 0.0;
    require_option(moves == (at_->problem.groups.tensors[k].lr_scale > 0.0), name_,
                   "the tensor '" + layout().tensors()[k].name + "' would " + (moves ? "start" : "stop") +
                       " moving, and that needs a new optimizer: keep its lr_scale " +
                       (moves ? "at 0" : "above 0"));
  }
  return groups;
}

Settings Optimizer::that_may_hold(Settings settings) const {
  if (algorithm_->may_set_groups()) return settings;
  settings.weight_decay = at_->settings.weight_decay;
  settings.of_groups = at_->settings.of_groups;
  return settings;
}

void Optimizer::want(const Settings& settings) {
  (void)groups_with(settings);
  (void)groups_with(that_may_hold(settings));
  wanted_ = settings;
}

void Optimizer::set(const OptionMap& values) {
  Settings settings = wanted_;
  settings.set(name_, values);
  want(settings);
}

void Optimizer::set_group(std::string_view tensors, double lr_scale,
                          const std::optional<double>& weight_decay) {
  Settings settings = wanted_;
  settings.set_group(name_, made_with_.groups, tensors, lr_scale, weight_decay);
  want(settings);
}

void Optimizer::apply_settings() {
  if (at_->settings == wanted_) return;
  const Settings next = that_may_hold(wanted_);
  if (!(at_->settings == next)) hold(next);
}

void Optimizer::hold(const Settings& next) {
  ResolvedGroups groups = groups_with(next);
  at_->settings = next;
  at_->common = next.applied_to(made_with_);
  if (groups.tensors == at_->problem.groups.tensors) return;
  at_->problem.groups = std::move(groups);
  at_->segments = segment_table(at_->problem.groups.segments);
  algorithm_->groups_were_set();
}

void Optimizer::forget_settings() {
  for (Settings* settings : {&wanted_, &at_->settings}) {
    *settings = {};
    settings->of_groups.resize(made_with_.groups.size());
  }
}

void Optimizer::adopt_settings(const StateSource& source, const Restoration& restoration) {
  if (restoration.of_other_algorithm) forget_settings();
  for (Settings* settings : {&wanted_, &at_->settings}) {
    std::vector<Settings::OfGroup>& of_groups = settings->of_groups;
    if (std::count(of_groups.begin(), of_groups.end(), Settings::OfGroup{}) == std::ssize(of_groups))
      of_groups.clear();
  }
  try {
    want(wanted_);
    hold(at_->settings);
  } catch (const std::invalid_argument& error) {
    refuse_state(source, std::string("has settings that do not fit these options: ") + error.what());
  }
}

void Optimizer::refuse_different_settings(const Settings& settings) {
  settings.require_equal(communicator(), name_, made_with_.groups);
  throw std::invalid_argument(
      name_ + ": ranks have set different values before this step: set the same values on all ranks");
}

std::vector<std::pair<std::string, std::string>> Optimizer::made_with() const {
  std::vector<std::pair<std::string, std::string>> all = {
      {"the algorithm", name_}, {"d, the number of parameters", std::to_string(elements())}};
  for (const auto& [name, value] : options_) all.emplace_back("option '" + name + "'", to_text(value));
  all.emplace_back("the parameter groups", groups_text());
  std::string before;
  for (const Tensor& tensor : layout().tensors()) {
    std::string value = tensor.name + ", " + std::to_string(tensor.elements()) + " elements";
    if (tensor.is_matrix()) {
      value += " in " + std::to_string(tensor.rows()) + " rows";
      if (!tensor.spectral) value += ", not spectral";
    }
    all.emplace_back("the tensor after '" + before + "'", value);
    before = tensor.name;
  }
  return all;
}

void Optimizer::require_agreement() {
  std::string own =
      "the length of exchanged pieces in bytes\n" + std::to_string(at_->communicator->piece_bytes()) + "\n";
  for (const auto& [what, value] : made_with())
    own.append(what).append(1, '\n').append(value).append(1, '\n');
  const std::array<std::uint64_t, 2> values = {wire_format_version, kadam::hash_of(own)};
  const std::optional<Difference> found = communicator().first_difference(values);
  if (!found) return;
  if (found->value == 0) {
    throw std::invalid_argument(
        "kadam::Optimizer: ranks disagree on the version of the message layout: use the same build of Kadam "
        "on all ranks");
  }
  refuse_different_setups(at_->communicator->all_gather_texts(own));
}

double Optimizer::next_learning_rate() const {
  return wanted_.lr ? *wanted_.lr : at_->common.learning_rate.at(at_->steps + 1);
}

StepResult Optimizer::step(const ExecutionSpace& exec, const Parameters& parameters,
                           const Gradient& gradient) {
  prepare_step([&] {
    require_extents(parameters);
    require_gradient(gradient);
    require_announced(gradient);
    require_apart(parameters, gradient);
    apply_settings();
  });
  // Must be the same on all ranks in this step.
  Settings common = wanted_;
  if (at_->steps == 0) common.start = content_hash(exec, Vector<const float>(parameters.master()));
  phases().start_step();
  StepResult result;
  result.step = at_->steps;
  if (elements() == 0) return result;
  const bool is_alone = algorithm_->agrees_in_rounds();
  if (is_alone) look_at_own_gradient(exec, gradient, result);
  const bool is_finite = std::isfinite(result.gradient_norm);
  const Agreement agreement = is_alone ? Agreement{} : agree_on_gradient(exec, gradient, common, result);
  if (agreement.is_under_way && (result.skipped || !agreement.settings_are_equal)) {
    // Messages that have left must not meet those of a later exchange.
    (void)algorithm_->next_gradient_mean()->of_gradient(exec, phases(), gradient);
  }
  if (!agreement.settings_are_equal) refuse_different_settings(common);
  if (result.skipped) {
    result.synchronised = synchronised_;
    result.learning_rate = next_learning_rate();
    ++skipped_;
    at_->absent.end_step();
    return result;
  }
  if (agreement.all_leave_out) at_->absent.agree(communicator());
  result.learning_rate = next_learning_rate();
  Step next{exec,          parameters,     gradient, at_->steps + 1, result, at_->common, at_->problem.groups,
            at_->segments, communicator(), phases(), raised_,        common, is_finite};
  algorithm_->advance(next);
  skipped_ += result.skipped_alone;
  if (!algorithm_->writes_model()) write_model(exec, parameters);
  synchronised_ = result.synchronised;
  at_->absent.end_step();
  result.step = ++at_->steps;
  return result;
}

void Optimizer::give_up_step() noexcept {
  if (elements() == 0) return;
  try {
    at_->communicator->settle();
    exchange_notices(communicator(), {.gives_up = true});
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): what is wrong here is said already
  }
}

void Optimizer::gradient_ready(const ExecutionSpace& exec, const Gradient& gradient,
                               const ElementRange& range) {
  require_gradient(gradient);
  if (range.begin < 0 || range.begin > range.end || range.end > elements()) {
    throw std::invalid_argument("kadam::Optimizer::gradient_ready (" + name_ + "): the range [" +
                                std::to_string(range.begin) + ", " + std::to_string(range.end) +
                                ") does not lie within the " + std::to_string(elements()) + " elements");
  }
  require_announced(gradient);
  DenseMean* const mean = algorithm_->next_gradient_mean();
  if (mean == nullptr || range.elements() == 0) return;
  mean->gradient_ready(exec, phases(), gradient, range);
}

void Optimizer::leave_out(std::span<const std::size_t> tensors) {
  const std::size_t count = layout().tensors().size();
  for (const std::size_t tensor : tensors) {
    if (tensor < count) continue;
    throw std::invalid_argument("kadam::Optimizer::leave_out (" + name_ + "): there is no tensor " +
                                std::to_string(tensor) + ": the model has " + std::to_string(count) +
                                " tensors, counted from 0");
  }
  if (algorithm_->leaves_out_tensors()) at_->absent.name(tensors, count);
}

void Optimizer::progress() {
  DenseMean* const mean = algorithm_->next_gradient_mean();
  if (mean != nullptr) mean->poll();
  algorithm_->poll_background();
}

void Optimizer::flush(const ExecutionSpace& exec, const Parameters& parameters) {
  require_extents(parameters);
  if (at_->steps > 0 && elements() > 0) algorithm_->deliver_all(exec, parameters.master());
  synchronised_ = true;
  write_model(exec, parameters);
}

void Optimizer::write_consensus(const ExecutionSpace& exec, const Vector<const float>& parameters,
                                const Parameters& out) {
  require_extent("parameters", parameters.extent(0), parameters.label());
  require_extents(out);
  if (at_->steps > 0 && elements() > 0) {
    algorithm_->consensus(exec, parameters, out.master());
  } else {
    Kokkos::deep_copy(exec, out.master(), parameters);
  }
  write_model(exec, out);
}

void Optimizer::describe_numbers(StateFields& fields) {
  fields.number("step", at_->steps);
  fields.number("skipped", skipped_);
  fields.number("synchronised", synchronised_);
  fields.number("dense", state_is_dense_);
  wanted_.describe_state(fields, "set_", made_with_.groups);
  at_->settings.describe_state(fields, "held_", made_with_.groups);
  at_->absent.describe_state(fields);
}

StateFields Optimizer::describe(const ExecutionSpace& exec, const Vector<float>& parameters,
                                StateFields::Purpose purpose) {
  StateFields fields(*at_->communicator, purpose);
  describe_numbers(fields);
  if (synchronised_) {
    fields.equal("parameters", parameters);
  } else {
    fields.of_each_rank("parameters", parameters);
  }
  algorithm_->describe_state(exec, fields);
  return fields;
}

StateFields Optimizer::state_to_save(const ExecutionSpace& exec, const Vector<float>& parameters) {
  require_extents(parameters);
  state_is_dense_ = algorithm_->has_dense_state();
  return describe(exec, parameters, StateFields::Purpose::save);
}

void Optimizer::restore(const ExecutionSpace& exec, const Parameters& parameters, StateSource& source) {
  require_extents(parameters);
  Restoration restoration;
  restoration.of_other_algorithm = source.algorithm() != name_;
  StateFields numbers(*at_->communicator, StateFields::Purpose::load);
  forget_settings();
  at_->absent.forget(layout().tensors().size());
  describe_numbers(numbers);
  if (!restoration.of_other_algorithm) algorithm_->describe_state(exec, numbers);
  for (const StateNumber& number : numbers.numbers()) {
    if (!source.read(number) && number.is_needed) refuse_state(source, "has no '" + number.name + "'");
  }
  adopt_settings(source, restoration);
  at_->absent.adopt_state();
  if (restoration.of_other_algorithm && !state_is_dense_) {
    refuse_state(
        source,
        "is not dense: its ranks have moments of their own, or owe each other updates that only the same "
        "algorithm can deliver. Go on with the same algorithm, or use a checkpoint of adam, lamb or a dense "
        "warm-up");
  }
  const StateFields fields = describe(exec, parameters.master(), StateFields::Purpose::load);
  restore_vectors(exec, parameters.master(), source, fields, restoration.of_other_algorithm);
  restoration.to_the_last_bit = !restoration.of_other_algorithm && source.has_same_arrangement();
  for (const StateBytes& bytes : fields.bytes()) {
    if (restoration.to_the_last_bit && !source.read(exec, bytes))
      refuse_state(source, "has no '" + bytes.name + "'");
  }
  algorithm_->adopt_state(exec, fields, restoration);
  write_model(exec, parameters);
  exec.fence("kadam::Optimizer::restore");
}

void Optimizer::restore_vectors(const ExecutionSpace& exec, const Vector<float>& parameters,
                                StateSource& source, const StateFields& fields, bool takes_over) {
  for (const StateVector& field : fields.vectors()) {
    using IfMissing = StateVector::IfMissing;
    if (field.if_missing == IfMissing::zero) Kokkos::deep_copy(exec, field.values, 0.0F);
    const bool found = source.read(exec, field);
    // Another algorithm has no more than parameters and moments; what else there is starts as in the first
    // step.
    const bool is_needed =
        !takes_over || field.name == "parameters" || field.name == "m" || field.name == "v";
    if (!found && is_needed && field.if_missing == IfMissing::refuse)
      refuse_state(source, "has no '" + field.name + "'");
  }
  for (const std::string& name : fields.not_needed()) source.pass_over(name);
  const std::optional<StateVector>& common = fields.common_parameters();
  if (common) {
    if (source.read(exec, *common)) return;
    const ElementRange& range = common->placement.range;
    Kokkos::deep_copy(exec, common->values,
                      Kokkos::subview(parameters, Kokkos::make_pair(range.begin, range.end)));
  } else if (source.holds("x")) {
    (void)source.read(exec, StateVector{"x", parameters, {elements(), {0, elements()}, 1, 0}});
  }
}

Health Optimizer::health(const ExecutionSpace& exec) {
  Health health;
  health.skipped_steps = skipped_;
  health.inactive_fraction =
      elements() == 0 ? 0.0 : static_cast<double>(inactive_elements()) / static_cast<double>(elements());
  at_->communicator->settle();
  if (at_->steps > 0 && elements() > 0) algorithm_->add_health(exec, health);
  return health;
}

std::size_t Optimizer::bytes_sent_in(std::int64_t step, std::string_view phase) const {
  std::size_t bytes = 0;
  for (const PlannedTraffic& planned : traffic_plan()) {
    if (planned.phase == phase && (step - planned.after) % planned.every == 0) bytes += planned.bytes;
  }
  return bytes;
}

std::vector<PlannedTraffic> Optimizer::traffic_plan() const {
  std::vector<PlannedTraffic> plan;
  for (const StepPhase& phase : at_->cost.phases) {
    for (const PlannedExchange& exchange : phase.exchanges) {
      for (const Transfer& transfer : exchange.transfers) add_traffic(phase, exchange, transfer, plan);
    }
    if (phase.exchanges.empty()) plan.push_back({phase.name, Traffic::compressed, 0});
  }
  return plan;
}

void Optimizer::require_extent(const char* what, std::size_t got, const std::string& label) const {
  if (static_cast<std::int64_t>(got) == elements()) return;
  throw std::invalid_argument("kadam::Optimizer (" + name_ + "): the " + what + " View '" + label + "' has " +
                              std::to_string(got) + " elements, the tensors have " +
                              std::to_string(elements()) + ": pass one flat View over all tensors");
}

void Optimizer::require_extents(const Parameters& parameters) const {
  require_extent("parameters", parameters.master().extent(0), parameters.master().label());
  if (parameters.has_model()) require_extent("model", parameters.model_extent(), parameters.model_label());
}

void Optimizer::require_format(const Gradient& gradient) const {
  if (gradient.format() == at_->common.gradients) return;
  std::string text = "kadam::Optimizer (";
  text.append(name_).append("): the gradient View '").append(gradient.label()).append("' is ");
  text.append(name_of(gradient.format())).append(", the option 'gradients' says ");
  text.append(name_of(at_->common.gradients))
      .append(": set the option to \"")
      .append(name_of(gradient.format()));
  throw std::invalid_argument(text.append("\", or pass a gradient in the format that it says"));
}

void Optimizer::require_gradient(const Gradient& gradient) const {
  require_extent("gradient", static_cast<std::size_t>(gradient.elements()), gradient.label());
  require_format(gradient);
}

void Optimizer::require_announced(const Gradient& gradient) {
  const DenseMean* const mean = algorithm_->next_gradient_mean();
  if (mean == nullptr || !mean->is_under_way() || mean->is_under_way_for(gradient)) return;
  throw std::invalid_argument(
      "kadam::Optimizer (" + name_ + "): the gradient View '" + gradient.label() +
      "' is not the View that gradient_ready() got for this step: pass the same View");
}

void Optimizer::require_apart(const Parameters& parameters, const Gradient& gradient) const {
  const auto first = reinterpret_cast<std::uintptr_t>(parameters.master().data());
  const auto last = reinterpret_cast<std::uintptr_t>(parameters.master().data() + elements());
  std::uintptr_t of_gradient = 0;
  gradient.visit([&](const auto& values) { of_gradient = reinterpret_cast<std::uintptr_t>(values.data()); });
  const auto end_of_gradient =
      of_gradient + static_cast<std::uintptr_t>(elements()) * bytes_per_number(gradient.format());
  if (elements() == 0 || end_of_gradient <= first || last <= of_gradient) return;
  throw std::invalid_argument(
      "kadam::Optimizer (" + name_ + "): the gradient View '" + gradient.label() +
      "' overlaps the memory of the parameters, which the step writes: pass a View of other memory");
}

void Optimizer::write_model(const ExecutionSpace& exec, const Parameters& parameters) {
  if (!parameters.copy().exists()) return;
  const auto scope = phases().enter(exec, Phase::decode);
  write_copy<ExecutionSpace, MemorySpace>(exec, parameters.master(), parameters.copy());
}

void Optimizer::look_at_own_gradient(const ExecutionSpace& exec, const Gradient& gradient,
                                     StepResult& result) {
  const auto scope = phases().enter(exec, Phase::check);
  result.gradient_norm = std::sqrt(at_->squared_norm(exec, gradient));
}

Optimizer::Agreement Optimizer::agree_on_gradient(const ExecutionSpace& exec, const Gradient& gradient,
                                                  const Settings& settings, StepResult& result) {
  const auto scope = phases().enter(exec, Phase::check);
  const DenseMean* const mean = algorithm_->next_gradient_mean();
  // A squared norm is not negative, so its sign is free to say something, even that of a NaN.
  at_->communicator->settle();
  const double sign = mean != nullptr && mean->is_under_way() ? -1.0 : 1.0;
  const Notice own{std::copysign(at_->squared_norm(exec, gradient), sign), std::exchange(raised_, 0),
                   settings.fingerprint(), false, at_->absent.names_any()};
  const Notices all = exchange_notices(communicator(), own);
  result.raised |= all.raised;
  Agreement agreement{false, all.settings_are_equal, all.all_leave_out};
  // A refused step has no result: bits that were raised wait for the next one.
  if (!agreement.settings_are_equal) raised_ |= own.raised;
  double sum = 0.0;
  for (const double of_rank : all.numbers) {
    sum += std::fabs(of_rank);
    if (std::signbit(of_rank)) agreement.is_under_way = true;
  }
  result.skipped = !std::isfinite(sum);
  result.gradient_norm = std::sqrt(sum / at_->communicator->size());
  return agreement;
}

}  // namespace kadam
