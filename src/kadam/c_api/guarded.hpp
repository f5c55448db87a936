// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/c_api/kadam.h>

#include <stdexcept>
#include <string>

namespace kadam::c_api {

/// An exception that says which status a call returns.
class Failure : public std::runtime_error {
 public:
  Failure(kadam_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
  [[nodiscard]] kadam_status status() const { return status_; }

 private:
  kadam_status status_;
};

/// A pointer that must not be NULL is NULL. report_exception() puts the name of the call before its text.
class NullPointer : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Writes the status and the text of the current exception to *error, if error is not null, and returns the
/// status. Only to be called in a catch block.
kadam_status report_exception(const char* call, kadam_error* error) noexcept;
/// Writes KADAM_SUCCESS and an empty text to *error, if error is not null, and returns the status.
kadam_status report_success(kadam_error* error) noexcept;

/// Calls function() and reports success, or the exception that it throws: no exception gets to C.
/// call: the name of the function of kadam.h, for its reports.
template <class Function>
kadam_status guarded(const char* call, kadam_error* error, const Function& function) noexcept {
  try {
    function();
  } catch (...) {
    return report_exception(call, error);
  }
  return report_success(error);
}

/// *pointer. Errors: NullPointer with this name if it is NULL.
template <class T>
T& required(T* pointer, const char* name) {
  if (pointer == nullptr) throw NullPointer(std::string(name) + " is NULL");
  return *pointer;
}

}  // namespace kadam::c_api
