// SPDX-License-Identifier: Apache-2.0
//
// Parameter servers.  Workers 0 .. K-1 compute their gradients, push them to the servers
// K .. K+S-1, of which each keeps 1/S of the parameters, and pull the new parameters.
//
//   synchronous    a server updates its part when all have pushed, and answers.  With one server,
//                  all pushes enter one port and all pulls leave it:
//                  T = compute + 2 K (alpha + n/B) + update
//   asynchronous   it takes each push and answers at once, with what it has then: a stream for each
//                  worker
//
// Workers push to the servers in the same order, so pushes form a convoy of K+S-1 messages instead
// of using all ports from the start.
//
// M. Li et al.: Scaling Distributed Machine Learning with the Parameter Server, OSDI 2014.
#include <cmath>
#include <memory>

#include "collectives/workloads/step_data.hpp"
#include "collectives/workloads/workloads.hpp"
#include "topo/error.hpp"

namespace collsim {

namespace {

struct ServerPlan {
  ParameterServer scheme;
  Time forward{}, backward{};  // of all layers
  Time optimizer{};            // of all parameters
  Bytes gradients = 0;
  int workers = 1;

  // A server updates the parameters that it keeps.
  [[nodiscard]] Action update_of(int server, int stream) const {
    const double share = gradients == 0
                             ? 1.0 / scheme.servers
                             : static_cast<double>(shard(server)) / static_cast<double>(gradients);
    const Time own(std::llround(static_cast<double>(optimizer.ps()) * share));
    return labelled(work(stream, own), {Label::Kind::optimizer});
  }

  [[nodiscard]] Bytes shard(int server) const {
    return Span{Buffer::input, 0, gradients}.piece(server, scheme.servers).count;
  }
};

Script worker_step(std::shared_ptr<const ServerPlan> plan, int worker) {
  const int theirs = plan->scheme.asynchronous ? worker : 0;
  const auto server = [&](int s) { return Rank(static_cast<std::size_t>(plan->workers + s)); };
  co_yield labelled(work(0, plan->forward), {Label::Kind::forward});
  co_yield labelled(work(0, plan->backward), {Label::Kind::backward});
  for (int s = 0; s < plan->scheme.servers; ++s)
    co_yield send(0, server(s), plan->shard(s), theirs);
  for (int s = 0; s < plan->scheme.servers; ++s)
    co_yield receive(0, server(s), plan->shard(s), theirs);
}

Script server_step(std::shared_ptr<const ServerPlan> plan, int server) {
  const Bytes shard = plan->shard(server);
  const auto worker = [](int w) { return Rank(static_cast<std::size_t>(w)); };
  for (int w = 0; w < plan->workers; ++w) {
    const int stream = plan->scheme.asynchronous ? w : 0;
    co_yield receive(stream, worker(w), shard, 0);
    if (!plan->scheme.asynchronous) continue;
    co_yield plan->update_of(server, stream);
    co_yield send(stream, worker(w), shard, 0);
  }
  if (plan->scheme.asynchronous) co_return;
  co_yield plan->update_of(server, 0);
  for (int w = 0; w < plan->workers; ++w) co_yield send(0, worker(w), shard, 0);
}

}  // namespace

Workload make_workload(const ParameterServer& scheme, const Model& model, int ranks) {
  if (scheme.servers < 1 || scheme.servers >= ranks)
    throw_error(ErrorCode::invalid_argument, "of ", ranks, " ranks, 1 to ", ranks - 1,
                " can be servers, not ", scheme.servers);
  ServerPlan plan{scheme, model.forward, {}, model.optimizer, 0, ranks - scheme.servers};
  for (const Layer& layer : model.layers) {
    plan.forward += layer.forward;
    plan.backward += layer.backward;
    plan.gradients += layer.gradients;
  }
  Workload::Parts parts;
  parts.group = first_ranks(static_cast<std::size_t>(ranks));
  parts.stream_names = {"main"};
  for (int w = 1; w < plan.workers && scheme.asynchronous; ++w)
    parts.stream_names.push_back(concat("worker ", w));
  parts.script = [plan = std::make_shared<const ServerPlan>(plan)](Rank rank) {
    const int server = static_cast<int>(rank.index()) - plan->workers;
    return server < 0 ? worker_step(plan, static_cast<int>(rank.index()))
                      : server_step(plan, server);
  };
  parts.data = data_of(scheme, ranks);
  return Workload(std::move(parts));
}

}  // namespace collsim
