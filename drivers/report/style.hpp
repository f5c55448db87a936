// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace kadam::report {

/// The page's style sheet: dark on white, one column on a phone, two of figures on a screen, all of it
/// printed.
extern const char* const style_sheet;

}  // namespace kadam::report
