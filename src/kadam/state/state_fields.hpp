// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace kadam {

/// How a vector of an optimizer's state lies on the ranks: there are `copies` vectors of `elements` elements
/// each, and this rank holds elements `range` of number `copy`.
///
/// One copy: all ranks hold the same vector, or each of them a part. More: each rank, or each node, has one
/// of its own, and what counts of them is their mean over the copies: errors that are still owed, residuals,
/// moments of a rank's own gradients. On another number of ranks each copy starts as that mean.
///
/// Several ranks may hold the same elements of the same copy: each of them saves a part of these.
///
/// Worked number: 4 ranks, d = 1000: a worker error of rank 2 is {1000, {0, 1000}, 4, 2}; its part of what
/// the ranks share out is {1000, {512, 768}, 1, 0}; what all hold is {1000, {0, 1000}, 1, 0, 4, 2}.
struct Placement {
  std::int64_t elements = 0;
  ElementRange range;
  int copies = 1;
  int copy = 0;
  int holders = 1;  ///< ranks that hold the same as this one
  int holder = 0;   ///< which of them this is

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// A number of the state, where it lives.
struct StateNumber {
  using Place = std::variant<bool*, std::int64_t*, double*, std::optional<double>*, std::vector<double>*>;
  std::string name;
  Place place;
  bool is_needed = true;  ///< else a state without it leaves it as it is
};

/// A vector of the state, where it lives.
struct StateVector {
  /// What becomes of it when the state that is loaded has none of that name.
  enum class IfMissing : std::uint8_t {
    refuse,  ///< the state is not of this algorithm
    zero,    ///< then nothing is owed
    add      ///< it is never saved: what is loaded is added to what is there
  };
  std::string name;
  Vector<float> values;  ///< [placement.range]
  Placement placement;
  IfMissing if_missing = IfMissing::refuse;
};

/// Bytes of the state that mean nothing on other ranks: a code in the layout of their messages. What they say
/// is among the vectors as well; they are there for a continuation to the last bit.
struct StateBytes {
  std::string name;
  Vector<std::byte> bytes;
  Placement placement;  ///< in bytes; each of several copies has a length of its own
};

/// All that a checkpoint holds of an optimizer, by name and in place: written down once, by the optimizer,
/// for saving and for loading.
class StateFields {
 public:
  enum class Purpose : std::uint8_t { save, load };

  StateFields(const Communicator& communicator, Purpose purpose)
      : ranks_(communicator.size()), rank_(communicator.rank()), purpose_(purpose) {}

  /// Whether what is described has to be up to date; else it is going to be overwritten.
  [[nodiscard]] bool saves() const { return purpose_ == Purpose::save; }

  template <class T>
  void number(std::string name, T& value) {
    numbers_.push_back({std::move(name), &value});
  }
  /// One that older states lack.
  template <class T>
  void number_if_there(std::string name, T& value) {
    numbers_.push_back({std::move(name), &value, false});
  }

  using IfMissing = StateVector::IfMissing;
  void vector(std::string name, const Vector<float>& values, const Placement& placement,
              IfMissing if_missing = IfMissing::refuse) {
    vectors_.push_back({std::move(name), values, placement, if_missing});
  }
  /// The same on all ranks.
  void equal(std::string name, const Vector<float>& values, IfMissing if_missing = IfMissing::refuse) {
    const auto elements = static_cast<std::int64_t>(values.extent(0));
    vector(std::move(name), values, {elements, {0, elements}, 1, 0, ranks_, rank_}, if_missing);
  }
  /// Each rank has its own, whose mean counts.
  void of_each_rank(std::string name, const Vector<float>& values, IfMissing if_missing = IfMissing::refuse) {
    const auto elements = static_cast<std::int64_t>(values.extent(0));
    vector(std::move(name), values, {elements, {0, elements}, ranks_, rank_}, if_missing);
  }
  /// The parameters that all ranks have in common, where each works at a point of its own, or in a format of
  /// fewer bits. A state without them: the parameters.
  void common_parameters(const Vector<float>& values, const Placement& placement) {
    common_parameters_ = StateVector{"x", values, placement, IfMissing::refuse};
  }
  void common_parameters(const Vector<float>& values) {
    const auto elements = static_cast<std::int64_t>(values.extent(0));
    common_parameters(values, {elements, {0, elements}, 1, 0, ranks_, rank_});
  }
  /// The same on all ranks, as a code in their layout.
  template <class T>
  void equal_bytes(std::string name, const Vector<T>& values) {
    add_bytes(std::move(name), values, 1, 0, ranks_, rank_);
  }
  template <class T>
  void bytes_of_each_rank(std::string name, const Vector<T>& values) {
    add_bytes(std::move(name), values, ranks_, rank_, 1, 0);
  }

  /// A vector that a state may hold, and that says nothing here.
  void not_needed(std::string name) { not_needed_.push_back(std::move(name)); }

  [[nodiscard]] const std::vector<StateNumber>& numbers() const { return numbers_; }
  [[nodiscard]] const std::vector<StateVector>& vectors() const { return vectors_; }
  [[nodiscard]] const std::optional<StateVector>& common_parameters() const { return common_parameters_; }
  [[nodiscard]] const std::vector<StateBytes>& bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<std::string>& not_needed() const { return not_needed_; }
  /// Errors: std::out_of_range if there is none.
  [[nodiscard]] const Vector<float>& vector(const std::string& name) const {
    const auto found = std::find_if(vectors_.begin(), vectors_.end(),
                                    [&](const StateVector& field) { return field.name == name; });
    if (found == vectors_.end()) throw std::out_of_range("kadam::StateFields: no vector '" + name + "'");
    return found->values;
  }

 private:
  template <class T>
  void add_bytes(std::string name, const Vector<T>& values, int copies, int copy, int holders, int holder) {
    const std::size_t length = values.size() * sizeof(T);
    const auto bytes = static_cast<std::int64_t>(length);
    bytes_.push_back({std::move(name),
                      Vector<std::byte>(reinterpret_cast<std::byte*>(values.data()), length),
                      {bytes, {0, bytes}, copies, copy, holders, holder}});
  }

  int ranks_;
  int rank_;
  Purpose purpose_;
  std::vector<StateNumber> numbers_;
  std::vector<StateVector> vectors_;
  std::optional<StateVector> common_parameters_;
  std::vector<StateBytes> bytes_;
  std::vector<std::string> not_needed_;
};

/// A state that was saved, and can be read on any number of ranks.
class StateSource {
 public:
  StateSource() = default;
  StateSource(const StateSource&) = delete;
  StateSource& operator=(const StateSource&) = delete;
  virtual ~StateSource() = default;

  /// Of which optimizer it is.
  [[nodiscard]] virtual const std::string& algorithm() const = 0;
  /// Whether bytes() can be read: as many ranks in the same levels, and the same options.
  [[nodiscard]] virtual bool has_same_arrangement() const = 0;
  [[nodiscard]] virtual bool holds(const std::string& vector) const = 0;

  /// These read into place what is there under that name, and say whether something is. Vectors: the mean of
  /// the copies where there are as many others. Errors: std::runtime_error for another type or length.
  virtual bool read(const StateNumber& number) = 0;
  virtual bool read(const ExecutionSpace& exec, const StateVector& vector) = 0;
  virtual bool read(const ExecutionSpace& exec, const StateBytes& bytes) = 0;
  /// Says that nobody is going to read this vector.
  virtual void pass_over(const std::string& vector) = 0;
};

}  // namespace kadam
