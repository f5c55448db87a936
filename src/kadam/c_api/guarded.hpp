// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/c_api/kadam.h>

#include <stdexcept>
#include <string>

namespace kadam::c_api {

/// An exception with a status of its own.
class Failure : public std::runtime_error {
 public:
  Failure(kadam_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
  [[nodiscard]] kadam_status status() const { return status_; }

 private:
  kadam_status status_;
};

/// A pointer that was needed: the report says of which call.
class NullPointer : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The status that the exception under way has in C, and its text. To be called where one was caught.
kadam_status report_exception(const char* call, kadam_error* error) noexcept;
kadam_status report_success(kadam_error* error) noexcept;

/// Runs what may throw: no exception gets to C. call: the name of the function of kadam.h, for its reports.
template <class Function>
kadam_status guarded(const char* call, kadam_error* error, const Function& function) noexcept {
  try {
    function();
  } catch (...) {
    return report_exception(call, error);
  }
  return report_success(error);
}

/// Errors: NullPointer, with its name.
template <class T>
T& required(T* pointer, const char* name) {
  if (pointer == nullptr) throw NullPointer(std::string(name) + " is NULL");
  return *pointer;
}

}  // namespace kadam::c_api
