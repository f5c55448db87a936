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

/// The status that the exception under way has in C, and its text. To be called where one was caught.
kadam_status report_exception(kadam_error* error) noexcept;
kadam_status report_success(kadam_error* error) noexcept;

/// Runs what may throw: no exception gets to C.
template <class Function>
kadam_status guarded(kadam_error* error, const Function& function) noexcept {
  try {
    function();
  } catch (...) {
    return report_exception(error);
  }
  return report_success(error);
}

/// Errors: std::invalid_argument for a null pointer, with its name.
template <class T>
T& required(T* pointer, const char* name) {
  if (pointer == nullptr) throw std::invalid_argument(std::string(name) + " is NULL");
  return *pointer;
}

}  // namespace kadam::c_api
