// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/adam.hpp>
#include <reference/divisible_adam.hpp>
#include <reference/efficient_adam.hpp>
#include <reference/frozen_variance_adam.hpp>
#include <reference/lamb.hpp>
#include <reference/locally_accumulated_adam.hpp>
#include <reference/loco.hpp>
#include <reference/onebit_lamb.hpp>
#include <reference/zero_one_adam.hpp>

/// The optimizers in one loop per formula over simulated ranks. Nothing of Kadam is used here.
