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
/// One copy: all ranks hold the same vector, or each of them a part of it. Several copies: each rank, or each
/// node, has another vector, and what has to be conserved is their mean over the copies: errors that are
/// still owed, residuals, moments of a rank's own gradients. On another number of ranks each copy starts as
/// that mean.
///
/// Several ranks may hold the same elements of the same copy: then each of them saves a part of these.
///
/// Worked number: 4 ranks, d = 1000: a worker error of rank 2 is {1000, {0, 1000}, 4, 2}; its chunk of a
/// vector that is divided among the ranks is {1000, {512, 768}, 1, 0}; a vector that all ranks hold is {1000,
/// {0, 1000}, 1, 0, 4, 2}.
struct Placement {
  std::int64_t elements = 0;
  ElementRange range;
  int copies = 1;
  int copy = 0;
  int holders = 1;  ///< the number of ranks that hold the same as this one
  int holder = 0;   ///< this rank's number among them, from 0

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// A number of the state: its name, and its place in the optimizer.
struct StateNumber {
  using Place = std::variant<bool*, std::int64_t*, double*, std::optional<double>*, std::vector<double>*>;
  std::string name;
  Place place;
  bool is_needed = true;  ///< false: a saved state may lack it, and it stays as it is
};

/// A vector of the state: its name, the memory from which it is saved or into which it is loaded, and how it
/// lies on the ranks.
struct StateVector {
  /// What happens if the saved state has no vector of that name.
  enum class IfMissing : std::uint8_t {
    refuse,  ///< the state cannot be loaded; of another algorithm's only "parameters", "m" and "v" are needed
    zero,    ///< the vector becomes 0: nothing is owed
    add      ///< it stays as it is. It is never saved; a vector that a state has is added to it
  };
  std::string name;
  Vector<float> values;  ///< [placement.range]
  Placement placement;
  IfMissing if_missing = IfMissing::refuse;
};

/// Bytes of the state that have a meaning only on the same ranks: codes in the layout of their messages.
/// Their values are among the vectors as well, but not always to the last bit; with the bytes, the same ranks
/// continue to the last bit.
struct StateBytes {
  std::string name;
  Vector<std::byte> bytes;
  Placement placement;  ///< in bytes; copies may differ in length
};

/// The list of all that a checkpoint holds of an optimizer, each by its name and its place in memory. The
/// optimizer describes it once, for saving and for loading.
class StateFields {
 public:
  enum class Purpose : std::uint8_t { save, load };

  StateFields(const Communicator& communicator, Purpose purpose)
      : ranks_(communicator.size()), rank_(communicator.rank()), purpose_(purpose) {}

  /// Whether the fields are going to be saved, so that their values have to be up to date; else they are
  /// going to be overwritten.
  [[nodiscard]] bool saves() const { return purpose_ == Purpose::save; }

  template <class T>
  void number(std::string name, T& value) {
    numbers_.push_back({std::move(name), &value});
  }
  /// Adds a number that older states lack.
  template <class T>
  void number_if_there(std::string name, T& value) {
    numbers_.push_back({std::move(name), &value, false});
  }

  using IfMissing = StateVector::IfMissing;
  void vector(std::string name, const Vector<float>& values, const Placement& placement,
              IfMissing if_missing = IfMissing::refuse) {
    vectors_.push_back({std::move(name), values, placement, if_missing});
  }
  /// Adds a vector that is the same on all ranks.
  void equal(std::string name, const Vector<float>& values, IfMissing if_missing = IfMissing::refuse) {
    const auto elements = static_cast<std::int64_t>(values.extent(0));
    vector(std::move(name), values, {elements, {0, elements}, 1, 0, ranks_, rank_}, if_missing);
  }
  /// Adds a vector that each rank has for itself; what has to be conserved is the mean over ranks.
  void of_each_rank(std::string name, const Vector<float>& values, IfMissing if_missing = IfMissing::refuse) {
    const auto elements = static_cast<std::int64_t>(values.extent(0));
    vector(std::move(name), values, {elements, {0, elements}, ranks_, rank_}, if_missing);
  }
  /// Describes the parameters that all ranks have in common, if each rank's "parameters" differ from them:
  /// because ranks work at different points, or in a format of fewer bits. Its name in a state is "x". When a
  /// state without it is loaded, it becomes a copy of the parameters.
  void common_parameters(const Vector<float>& values, const Placement& placement) {
    common_parameters_ = StateVector{"x", values, placement, IfMissing::refuse};
  }
  void common_parameters(const Vector<float>& values) {
    const auto elements = static_cast<std::int64_t>(values.extent(0));
    common_parameters(values, {elements, {0, elements}, 1, 0, ranks_, rank_});
  }
  /// Adds bytes that are the same on all ranks: codes in the layout of their messages. `values` has to live
  /// as long as the list.
  template <class T>
  void equal_bytes(std::string name, const Vector<T>& values) {
    add_bytes(std::move(name), values, 1, 0, ranks_, rank_);
  }
  /// Adds bytes that each rank has for itself, also of different lengths. `values`: as for equal_bytes().
  template <class T>
  void bytes_of_each_rank(std::string name, const Vector<T>& values) {
    add_bytes(std::move(name), values, ranks_, rank_, 1, 0);
  }

  /// Names a vector that a saved state may hold and that is not needed here: it is passed over.
  void not_needed(std::string name) { not_needed_.push_back(std::move(name)); }

  [[nodiscard]] const std::vector<StateNumber>& numbers() const { return numbers_; }
  [[nodiscard]] const std::vector<StateVector>& vectors() const { return vectors_; }
  [[nodiscard]] const std::optional<StateVector>& common_parameters() const { return common_parameters_; }
  [[nodiscard]] const std::vector<StateBytes>& bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<std::string>& not_needed() const { return not_needed_; }
  /// The vector of that name. Errors: std::out_of_range if there is none.
  [[nodiscard]] const Vector<float>& vector(const std::string& name) const {
    const auto found = std::find_if(vectors_.begin(), vectors_.end(),
                                    [&](const StateVector& field) { return field.name == name; });
    if (found == vectors_.end())
      throw std::out_of_range("kadam::StateFields: there is no vector '" + name + "'");
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

/// A saved state, which can be read on any number of ranks.
class StateSource {
 public:
  StateSource() = default;
  StateSource(const StateSource&) = delete;
  StateSource& operator=(const StateSource&) = delete;
  virtual ~StateSource() = default;

  /// The name of the optimizer that saved it.
  [[nodiscard]] virtual const std::string& algorithm() const = 0;
  /// Whether StateBytes can be read: the state was saved by as many ranks in the same levels, with the same
  /// options.
  [[nodiscard]] virtual bool has_same_arrangement() const = 0;
  /// Whether it has a vector of this name.
  [[nodiscard]] virtual bool holds(const std::string& vector) const = 0;

  /// Each reads the field of that name into its place, and returns whether the state has it. A vector is the
  /// mean of the saved copies if their number is another than here. Collective: all ranks read the same
  /// fields in the same order. Errors: std::runtime_error if it has another type or length.
  virtual bool read(const StateNumber& number) = 0;
  virtual bool read(const ExecutionSpace& exec, const StateVector& vector) = 0;
  virtual bool read(const ExecutionSpace& exec, const StateBytes& bytes) = 0;
  /// Tells the state that this vector is not going to be read.
  virtual void pass_over(const std::string& vector) = 0;
};

}  // namespace kadam
