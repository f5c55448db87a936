// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/c_api/guarded.hpp>
#include <kadam/c_api/optimizer.hpp>
#include <kadam/comm/communicator.hpp>

#include <cmath>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

using kadam::c_api::required;

namespace {

/// Changes a setup by apply(setup); if that throws, keeps its text as the setup's mistake, unless there is
/// one already. Does nothing to NULL.
template <class Change>
void change(const char* call, kadam_setup* setup, const Change& apply) noexcept {
  if (setup == nullptr) return;
  kadam_error error;
  const kadam_status status = kadam::c_api::guarded(call, &error, [&] { apply(*setup); });
  if (status == KADAM_SUCCESS || !setup->mistake.empty()) return;
  (void)kadam::c_api::guarded(call, nullptr, [&] { setup->mistake = error.text; });
}

void set_option(const char* call, kadam_setup* setup, const char* option,
                const kadam::OptionValue& value) noexcept {
  change(call, setup,
         [&](kadam_setup& of) { of.options[&required(option, "the name of an option")] = value; });
}

kadam::Staging staging_of(std::string_view word) {
  if (const auto staging = kadam::staging_from(word)) return *staging;
  throw std::invalid_argument("kadam_setup_gpu_aware: expected \"auto\", \"on\" or \"off\", got \"" +
                              std::string(word) + '"');
}

}  // namespace

std::unique_ptr<kadam::Optimizer> kadam_setup::make(
    const std::shared_ptr<kadam::Communicator>& communicator) const {
  kadam::TensorLayout layout;
  std::exception_ptr own;
  try {
    if (!mistake.empty()) throw std::invalid_argument(mistake);
    layout = tensors.build();
  } catch (...) {
    own = std::current_exception();
  }
  communicator->require_success(own);
  return kadam::make_optimizer(optimizer, options, std::move(layout), communicator, groups);
}

kadam_setup* kadam_setup_create(const char* optimizer) {
  auto* setup = new (std::nothrow) kadam_setup;
  change(__func__, setup,
         [&](kadam_setup& of) { of.optimizer = &required(optimizer, "the optimizer's name"); });
  return setup;
}

void kadam_setup_destroy(kadam_setup* setup) {
  delete setup;
}

void kadam_setup_real(kadam_setup* setup, const char* option, double value) {
  set_option(__func__, setup, option, value);
}

void kadam_setup_integer(kadam_setup* setup, const char* option, int64_t value) {
  set_option(__func__, setup, option, std::int64_t{value});
}

void kadam_setup_flag(kadam_setup* setup, const char* option, int value) {
  set_option(__func__, setup, option, value != 0);
}

void kadam_setup_text(kadam_setup* setup, const char* option, const char* value) {
  change(__func__, setup, [&](kadam_setup& of) {
    of.options[&required(option, "the name of an option")] =
        std::string(&required(value, "the text of an option"));
  });
}

void kadam_setup_reals(kadam_setup* setup, const char* option, int count, const double* values) {
  change(__func__, setup, [&](kadam_setup& of) {
    if (count < 0) {
      throw std::invalid_argument("kadam_setup_reals: expected a count of 0 or more, got " +
                                  std::to_string(count));
    }
    if (count > 0) (void)required(values, "the values of an option");
    of.options[&required(option, "the name of an option")] = std::vector<double>(values, values + count);
  });
}

void kadam_setup_tensor(kadam_setup* setup, const char* name, int64_t elements) {
  change(__func__, setup, [&](kadam_setup& of) {
    const std::string text = &required(name, "the name of a tensor");
    if (elements < 0) {
      throw std::invalid_argument("kadam_setup_tensor: tensor " + text + " has " + std::to_string(elements) +
                                  " elements; expected 0 or more");
    }
    of.tensors.add(text, elements);
  });
}

void kadam_setup_shaped_tensor(kadam_setup* setup, const char* name, int dimensions, const int64_t* shape,
                               int spectral) {
  change(__func__, setup, [&](kadam_setup& of) {
    const std::string text = &required(name, "the name of a tensor");
    if (dimensions < 1) {
      throw std::invalid_argument("kadam_setup_shaped_tensor: tensor " + text + " has " +
                                  std::to_string(dimensions) + " dimensions; expected 1 or more");
    }
    const std::int64_t* const extents = &required(shape, "the extents of a tensor");
    of.tensors.add(text, std::vector<std::int64_t>(extents, extents + dimensions), spectral != 0);
  });
}

void kadam_setup_group(kadam_setup* setup, const char* tensors, double lr_scale, double weight_decay,
                       int dense) {
  change(__func__, setup, [&](kadam_setup& of) {
    kadam::ParameterGroup group{&required(tensors, "the pattern of a group"), lr_scale, {}, dense != 0};
    if (!std::isnan(weight_decay)) group.weight_decay = weight_decay;
    of.groups.push_back(std::move(group));
  });
}

void kadam_setup_memory(kadam_setup* setup, kadam_memory memory) {
  change(__func__, setup, [&](kadam_setup& of) {
    if (memory != KADAM_MEMORY_HOST && memory != KADAM_MEMORY_DEVICE) {
      throw std::invalid_argument(
          "kadam_setup_memory: expected KADAM_MEMORY_HOST (0) or KADAM_MEMORY_DEVICE (1), got " +
          std::to_string(memory));
    }
    of.memory = memory;
  });
}

void kadam_setup_ranks_per_node(kadam_setup* setup, int ranks) {
  change(__func__, setup, [&](kadam_setup& of) {
    if (ranks < 0) {
      throw std::invalid_argument("kadam_setup_ranks_per_node: expected 0 or more ranks, got " +
                                  std::to_string(ranks));
    }
    of.ranks_per_node = ranks;
  });
}

void kadam_setup_gpu_aware(kadam_setup* setup, const char* word) {
  change(__func__, setup,
         [&](kadam_setup& of) { of.exchange.staging = staging_of(&required(word, "the word")); });
}

void kadam_setup_piece_bytes(kadam_setup* setup, int64_t bytes) {
  change(__func__, setup, [&](kadam_setup& of) {
    if (bytes < 0) {
      throw std::invalid_argument("kadam_setup_piece_bytes: expected 0 (automatic) or more bytes, got " +
                                  std::to_string(bytes));
    }
    of.exchange.piece_bytes = static_cast<std::size_t>(bytes);
  });
}

void kadam_setup_timeout_seconds(kadam_setup* setup, double seconds) {
  change(__func__, setup, [&](kadam_setup& of) {
    if (!(seconds >= 0.0)) {
      throw std::invalid_argument("kadam_setup_timeout_seconds: expected 0 (none) or more seconds, got " +
                                  std::to_string(seconds));
    }
    of.exchange.timeout_seconds = seconds;
  });
}

void kadam_setup_wire(kadam_setup* setup, const char* word) {
  change(__func__, setup, [&](kadam_setup& of) {
    const std::string_view wire = &required(word, "the word");
    if (wire != "mpi" && wire != "tcp") {
      throw std::invalid_argument("kadam_setup_wire: expected \"mpi\" or \"tcp\", got \"" +
                                  std::string(wire) + '"');
    }
    of.over_tcp = wire == "tcp";
  });
}

void kadam_setup_allow_alone(kadam_setup* setup, int value) {
  change(__func__, setup, [&](kadam_setup& of) { of.allow_alone = value != 0; });
}
