// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-plan: does it pay off on this network?
#include <launch/commands.hpp>
#include <launch/session.hpp>
#include <plan/figures.hpp>
#include <plan/forecast.hpp>
#include <plan/measurement.hpp>
#include <plan/settings.hpp>

#include <fmt/format.h>

#include <cstdio>

namespace kadam::plan_program {
namespace {

using launch::Session;

std::string machine_text(int ranks) {
  return fmt::format("measured here on {} rank{}, {} each", ranks, ranks == 1 ? "" : "s at once",
                     launch::computes_with());
}

bool measures_network(const CommandLine& line, const Figures& figures, int ranks) {
  return !figures.has_link() && line.machine.empty() && ranks > 1;
}

/// Measures what neither the file nor the options say. Collective.
void measure_what_is_missing(Session& session, const CommandLine& line, Figures& figures) {
  Communicator& communicator = *session.communicator();
  const NodeLevels levels = find_node_levels(communicator);
  session.prepare([&] {
    if (!levels.equal_nodes) {
      throw launch::UsageError("some nodes have more ranks than others: start the same number on each");
    }
  });
  if (!figures.kernels) {
    figures.kernels = measure_kernels(communicator, levels.node->size());
    figures.machine = machine_text(communicator.size());
  }
  if (!measures_network(line, figures, communicator.size())) return;
  measure_network(communicator, levels, figures);
  apply(line, figures);  // what an option says counts more than what was measured
}

std::vector<int> ranks_of(const Figures& figures) {
  if (!figures.ranks.empty()) return figures.ranks;
  constexpr int most = 4096;
  const int last = figures.has_link() ? most : figures.network.ranks_per_node;
  std::vector<int> ranks;
  for (int n = 2; n <= last; n *= 2) ranks.push_back(n);
  if (ranks.empty() || ranks.back() < figures.network.ranks_per_node) {
    if (!figures.has_link()) ranks.push_back(last);
  }
  return ranks;
}

void require_parameters(const Figures& figures) {
  if (figures.elements > 0) return;
  throw launch::UsageError("--parameters is needed: give the number of parameters, as in 340M");
}

/// The rates: nothing stands in for them where nobody gave or measured them.
void require_network(const Figures& figures) {
  const int here = figures.network.ranks_per_node;
  if (!figures.has_link() && here == 1) {
    throw launch::UsageError(
        "the rate of the network is unknown: start kadam-plan with mpirun on the hosts, or give --rate, or a "
        "--machine FILE that has the rate");
  }
  if (figures.lacks_node_rate()) {
    throw launch::UsageError(fmt::format(
        "--node-rate is needed with {} ranks on a node: the rate of each rank to the others while all send, "
        "as in 10GB/s through memory; to measure it, start kadam-plan with mpirun on the hosts, without "
        "--rate and --machine",
        here));
  }
  if (!figures.has_link() && !figures.ranks.empty() && figures.ranks.back() > here) {
    throw launch::UsageError(
        fmt::format("{} ranks reach beyond this node, but kadam-plan has found no second host: give --rate",
                    figures.ranks.back()));
  }
}

Forecast make_forecast(const Figures& figures, const std::vector<Contestant>& all) {
  Forecast forecast;
  forecast.figures = figures;
  for (const int ranks : ranks_of(figures)) forecast.columns.push_back(predict_column(figures, all, ranks));
  if (figures.has_link()) forecast.pays_below = pays_below(figures, all, forecast.columns.back().ranks);
  forecast.published = reproduce(figures, all);
  return forecast;
}

void report(const CommandLine& line, const Figures& figures) {
  const std::vector<Contestant> all = contestants(figures);
  const Forecast forecast = make_forecast(figures, all);
  if (!line.save.empty()) write_figures(line.save, figures);
  if (!line.plot.empty() && !draw(line.plot, forecast, all)) {
    fmt::print(stderr,
               "kadam-plan: --plot {0}: kadam-report drew no picture. This command says why, or draws it: "
               "kadam-report --plan {1} --out {0}\n",
               launch::shell_word(line.plot), launch::shell_word(curves_of(line.plot).string()));
  }
  fmt::print("{}", line.json ? json_of(forecast) : tables_of(forecast));
}

int run(Session& session, int argc, char** argv) {
  CommandLine line;
  if (const auto code = parse(session, argc, argv, line)) return *code;
  Figures figures;
  session.prepare([&] {
    if (!line.machine.empty()) read_figures(line.machine, figures);
    apply(line, figures);
    require_parameters(figures);
    if (!measures_network(line, figures, session.communicator()->size())) require_network(figures);
  });
  measure_what_is_missing(session, line, figures);
  session.prepare([&] {
    require_network(figures);
    if (session.is_root()) report(line, figures);
  });
  return launch::exit_success;
}

}  // namespace
}  // namespace kadam::plan_program

int main(int argc, char** argv) {
  return kadam::launch::run_program("kadam-plan", argc, argv, kadam::plan_program::run);
}
