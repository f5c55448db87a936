// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/memory_state.hpp>
#include <kadam/checkpoint/number_text.hpp>
#include <kadam/checkpoint/state_file.hpp>

#include <exception>
#include <stdexcept>

namespace kadam::checkpoint {
namespace {

template <class T>
std::vector<std::byte> copy_of(const ExecutionSpace& exec, const Vector<T>& values) {
  std::vector<std::byte> copy(values.size() * sizeof(T));
  Kokkos::deep_copy(exec, HostVector<T>(reinterpret_cast<T*>(copy.data()), values.size()), values);
  exec.fence("kadam::checkpoint::save_in_memory");
  return copy;
}

class MemorySource final : public StateSource {
 public:
  MemorySource(const MemoryState& state, const Optimizer& optimizer)
      : state_(state), algorithm_(word("optimizer")) {
    const io::Metadata here = identity_of(optimizer);
    for (const auto& [name, text] : here) {
      if (name == "options" || word(name) == text) continue;
      refuse("it has " + name + " '" + word(name) + "', this optimizer has '" + text +
             "': restore it into an optimizer that is made the same way, or use a checkpoint in files");
    }
    same_options_ = word("options") == here.at("options");
  }

  [[nodiscard]] const std::string& algorithm() const override { return algorithm_; }
  [[nodiscard]] bool has_same_arrangement() const override { return same_options_; }
  [[nodiscard]] bool holds(const std::string& vector) const override {
    return state_.vectors.contains(vector);
  }
  bool read(const StateNumber& number) override {
    const auto found = state_.words.find(number_prefix + number.name);
    if (found == state_.words.end()) return false;
    if (!from_text(found->second, number.place))
      refuse("its number '" + number.name + "' has another length");
    return true;
  }
  bool read(const ExecutionSpace& exec, const StateVector& vector) override {
    // Vectors that are added are never saved.
    return vector.if_missing != StateVector::IfMissing::add &&
           read(exec, vector.name, vector.values, vector.placement);
  }
  bool read(const ExecutionSpace& exec, const StateBytes& bytes) override {
    return read(exec, bytes.name, bytes.bytes, bytes.placement);
  }
  void pass_over(const std::string& /*vector*/) override {}

 private:
  template <class T>
  bool read(const ExecutionSpace& exec, const std::string& name, const Vector<T>& values,
            const Placement& placement) const {
    const auto found = state_.vectors.find(name);
    if (found == state_.vectors.end()) return false;
    if (word(place_prefix + name) != to_text(placement) || found->second.size() != values.size() * sizeof(T))
      refuse("its vector '" + name + "' has another place among the ranks, or another length");
    Kokkos::deep_copy(exec, values,
                      HostVector<const T>(reinterpret_cast<const T*>(found->second.data()), values.size()));
    exec.fence("kadam::checkpoint::MemorySource::read");
    return true;
  }
  [[nodiscard]] std::string word(const std::string& name) const {
    const auto found = state_.words.find(name);
    if (found == state_.words.end()) refuse("it lacks the word '" + name + "'");
    return found->second;
  }
  [[noreturn]] static void refuse(const std::string& why) {
    throw std::runtime_error("the state in memory does not fit this optimizer: " + why);
  }

  const MemoryState& state_;
  std::string algorithm_;
  bool same_options_ = false;
};

}  // namespace

MemoryState save_in_memory(const ExecutionSpace& exec, Optimizer& optimizer,
                           const Vector<float>& parameters) {
  const StateFields fields = optimizer.state_to_save(exec, parameters);
  MemoryState state{identity_of(optimizer), {}};
  for (const StateNumber& number : fields.numbers())
    state.words[number_prefix + number.name] = to_text(number.place);
  const auto keep = [&](const std::string& name, const auto& values, const Placement& placement) {
    state.words[place_prefix + name] = to_text(placement);
    state.vectors[name] = copy_of(exec, values);
  };
  for (const StateVector& field : saved_vectors(fields)) keep(field.name, field.values, field.placement);
  for (const StateBytes& field : fields.bytes()) keep(field.name, field.bytes, field.placement);
  return state;
}

void restore_from_memory(const ExecutionSpace& exec, Optimizer& optimizer, const Parameters& parameters,
                         const MemoryState& state) {
  std::exception_ptr failure;
  try {
    MemorySource source(state, optimizer);
    optimizer.restore(exec, parameters, source);
  } catch (...) {
    failure = std::current_exception();
  }
  optimizer.communicator().require_success(failure);
}

}  // namespace kadam::checkpoint
