// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "app/explain/explanation_internal.hpp"
#include "app/explain/page.hpp"
#include "app/explain/step_explanation.hpp"
#include "app/json/screen_text.hpp"

namespace collsim {
namespace {

struct StepShareWords {
  const char* name;
  Time StepShares::*time;
  const char* meaning;
};
constexpr StepShareWords step_shares[] = {
    {"computing", &StepShares::computing, "work of the model's layers and the optimizer"},
    {"wire", &StepShares::wire, "bytes of messages crossing links"},
    {"startup", &StepShares::startup, "overhead of messages on their links"},
    {"sharing", &StepShares::sharing, "links shared with other messages"},
    {"flight", &StepShares::flight, "latency of links"},
    {"other", &StepShares::other, "instructions of collectives, late starts, queueing"}};

std::string shares_text(const StepShares& shares) {
  std::string text;
  for (const StepShareWords& share : step_shares)
    if (const Time time = shares.*share.time; time > Time{})
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", share.name, to_text(time));
  return text;
}

std::string under_text(const CaseResult& row) {
  return row.protocol ? fmt::format(" under {}", to_string(*row.protocol)) : "";
}

void write_step(Page& page, const StepExplanation& e) {
  const StepResult& step = *e.row.step;
  page.heading("The step");
  page.line("  ",
            fmt::format("One training step, {}{}; {}.", e.scheme, under_text(e.row), e.machine), 4);
  page.line(fmt::format("  {:<10}{}", "step", page.bold(to_text(e.row.time))), "", 0);
  const auto row = [&](const char* name, double seconds, const char* meaning) {
    page.line(fmt::format("  {:<10}{:<12} ", name, seconds_text(seconds)), meaning, 25);
  };
  row("compute", step.compute_s, "a stream of the rank works; mean over the ranks");
  row("hidden", step.hidden_s, "collectives under way meanwhile");
  row("exposed", step.exposed_s,
      "collectives under way, or waiting for members, while nothing works");
  row("bubble", step.bubble * e.row.time_s(), "neither: waiting for messages, or finished early");
  if (!step.fits()) page.paragraph("Memory is short: " + shortage_text(step) + ".");
  if (e.row.analytic) {
    const ClosedForm& form = *e.row.analytic;
    page.paragraph(fmt::format("Formula: {} = {}{}.", form.formula, seconds_text(form.seconds),
                               form.reference.empty() ? "" : " (" + form.reference + ")"));
  }
}

void write_step_shares(Page& page, const StepExplanation& e) {
  if (e.row.time == Time{}) return page.paragraph("The step takes no time.");
  page.paragraph("Along the critical path, the one chain of causes that lasts until the end:");
  for (const StepShareWords& share : step_shares) {
    const Time time = e.path.*share.time;
    if (time == Time{}) continue;
    page.line(fmt::format("    {:<13}{:>10} {:>6}  {} ", share.name, to_text(time),
                          percent(time, e.row.time),
                          padded(page.bar(time.seconds() / e.row.time_s()), bar_width)),
              share.meaning, 58);
  }
}

// Of a step that is too large to record: means over the ranks.
void write_mean_times(Page& page, const StepExplanation& e) {
  const StepResult& step = *e.row.step;
  const std::string messages =
      e.row.messages > 0 ? with_commas(static_cast<std::int64_t>(e.row.messages)) + " messages are"
                         : std::string("The lines of its program are");
  page.paragraph(messages +
                 " too many to record, so there is no critical path of this step. Its ranks spend, "
                 "in the mean:");
  const auto row = [&](const std::string& name, double seconds) {
    if (seconds > 0)
      page.line(fmt::format("    {:<26}{:>10} {:>6.1f}%", name, seconds_text(seconds),
                            100 * seconds / e.row.time_s()),
                "", 0);
  };
  row("forward", step.phases.forward_s);
  row("backward", step.phases.backward_s);
  row("other work", step.phases.other_s);
  // What of computing is none of the work that was asked for.
  const StepResult::Phases& phases = step.phases;
  const double longer = step.compute_s - phases.forward_s - phases.backward_s - phases.other_s;
  if (longer > 1e-6 * step.compute_s) row("slowed, or launching", longer);
  for (const StepResult::Communicator& one : step.communicators)
    row("exposed on " + printable(one.name), one.exposed_s);
  row("bubble", step.bubble * e.row.time_s());
  if (e.smaller) return;
  page.paragraph(e.scheme == "program"
                     ? "A program with fewer ranks, rounds of \"repeat\" or chunks shows its path."
                     : "Ask for a step with fewer ranks, layers or microbatches (--set): its path "
                       "has the same parts.");
}

void write_step_path(Page& page, const StepExplanation& e) {
  if (e.lines.empty()) return;
  page.heading("The critical path in words");
  for (std::size_t i = 0; i < e.lines.size(); ++i) {
    const StepPathLine& line = e.lines[i];
    if (e.lines_left_out > 0 && i == e.left_out_after)
      page.line(fmt::format("  {:>9}  ", "..."), count_text(e.lines_left_out, "line") + " more",
                15);
    if (line.in_turn > 0)
      page.line(
          fmt::format("  {:>9}  ", ""),
          fmt::format("{} times in turn, the next {}, with the times of all together:", line.turns,
                      line.in_turn == 1 ? "line" : fmt::format("{} lines", line.in_turn)),
          15);
    page.line(fmt::format("  {:>9}  {}", line.from == Time{} ? "0" : to_text(line.from),
                          line.turns > 1 ? "  " : ""),
              fmt::format("{}: {}", line.what, shares_text(line.shares)), 17);
  }
  page.line(fmt::format("  {:>9}  ", to_text(e.row.time)),
            fmt::format("rank {} has finished, the last", e.last_rank.index()), 15);
}

// Of a long job of such steps, what its time goes to.
void write_job(Page& page, const StepExplanation& e) {
  if (!e.row.step->job) return;
  const StepResult::Job& job = *e.row.step->job;
  page.heading("The job");
  const std::string takes = job.time_s ? seconds_text(*job.time_s) : "";
  if (!job.steps_done_twice) {
    page.paragraph(
        "Of the time of a job of such steps, whose machines fail at random, are in the mean:");
  } else {
    page.paragraph(count_text(static_cast<std::size_t>(job.steps), "step") +
                   ", with the failures that are given, take " + takes + ":");
  }
  const auto row = [&](const char* name, double share, const std::string& meaning) {
    const std::string time = job.steps_done_twice ? seconds_text(share * *job.time_s) : "";
    page.line(fmt::format("    {:<12}{:>10} {:>6.1f}%  {} ", name, time, 100 * share,
                          padded(page.bar(share), bar_width)),
              meaning, 58);
  };
  row("steps", job.useful, "that need not be done again");
  if (!job.steps_done_twice) {
    row("checkpoints", job.checkpoints,
        job.checkpoints > 0
            ? "one after every " + seconds_text(*job.interval_s) + " of work; the best is every " +
                  seconds_text(*job.best_interval_s)
            : "none: the job ends before the first, after " + seconds_text(*job.interval_s) +
                  " of work");
    row("failures", 1 - job.useful - job.checkpoints, "restarts, and what they lost");
    if (job.time_s) page.paragraph("The whole job takes " + takes + ".");
    return;
  }
  row("checkpoints", job.checkpoints, job.checkpoints > 0 ? "that are finished" : "take no time");
  row("restarts", job.restarts, "");
  const auto twice = static_cast<std::size_t>(*job.steps_done_twice);
  row("lost", job.lost,
      job.lost > 0 ? count_text(twice, "step") + " done twice, and what was under way" : "");
  for (const StepResult::Job::Fewer& fewer : job.go_on)
    page.paragraph(fmt::format("After a failure {} go on, whose step takes {}.",
                               count_in_words(fewer.ranks, "rank"), seconds_text(fewer.step_s)));
}

JsonValue job_value(const std::optional<StepResult::Job>& job) {
  if (!job) return {};
  JsonValue value = JsonValue::object({{"useful", job->useful}, {"checkpoints", job->checkpoints}});
  if (job->time_s) value.set("time_s", *job->time_s);
  if (!job->steps_done_twice) {
    value.set("interval_s", *job->interval_s);
    value.set("best_interval_s", *job->best_interval_s);
    return value;
  }
  value.set("restarts", job->restarts);
  value.set("lost", job->lost);
  value.set("steps_done_twice", *job->steps_done_twice);
  return value;
}

std::string exposed_text(const ExposedCalls& calls, Time step) {
  const Time hidden = calls.time - calls.exposed;
  const std::string exposed =
      fmt::format("{} ({} of the step)", to_text(calls.exposed), percent(calls.exposed, step));
  if (hidden == Time{}) return exposed + ", all exposed";
  return fmt::format("{} altogether; computing hides {}, {} are exposed", to_text(calls.time),
                     to_text(hidden), exposed);
}

void write_exposed(Page& page, const StepExplanation& e) {
  if (!e.every_step_recorded) return;
  page.heading(fmt::format("What rank {} waits for", e.last_rank.index()));
  for (const ExposedCalls& calls : e.exposed)
    page.line("  ",
              fmt::format("{}: {}, {}", calls.what,
                          count_in_words(static_cast<std::int64_t>(calls.calls), "call"),
                          exposed_text(calls, e.row.time)),
              4);
  for (const StreamTimes& stream : e.streams) {
    std::string text;
    const auto add = [&](const char* what, Time time) {
      if (time > Time{})
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, to_text(time));
    };
    add("computing", stream.computing);
    add("collectives", stream.communicating);
    if (text.empty()) continue;  // only receives
    add("waiting", stream.waiting);
    page.line("  ", fmt::format("stream {}: {}", stream.name, text), 4);
  }
}

std::string slack_text(const SlackLine& line) {
  if (line.without == line.actions) return "none";
  std::string some = line.most > line.least ? to_text(line.least) + " to " + to_text(line.most)
                                            : to_text(line.least);
  if (line.without == 0) return some;
  return fmt::format("{} of {} none, the others {}", line.without, line.actions, some);
}

void write_slack(Page& page, const StepExplanation& e) {
  if (e.slack.empty()) return;
  page.heading(fmt::format("How much later rank {} could end it, and the step takes no longer",
                           e.last_rank.index()));
  for (const SlackLine& line : e.slack)
    page.line("  ", fmt::format("{}: {}", line.what, slack_text(line)), 4);
}

std::string step_saving(Time time, Time now) {
  if (time == now) return "nothing";
  return time < now ? percent(now - time, now) : "-" + percent_more(time - now, now);
}

std::string best_text(const BestSetting& setting, Time step, const std::string& under) {
  if (!setting.best) return fmt::format("No {} tried{} fits in memory", setting.path, under);
  const BestSetting::Tried& best = setting.tried[*setting.best];
  const BestSetting::Tried& now = setting.tried[setting.now];
  const std::string text = fmt::format("Best {} tried{}: {}", setting.path, under, best.value);
  if (*setting.best == setting.now) return text + ", as now";
  if (!now.fits)
    return text + fmt::format(", with {}; now {}, for which memory is short", to_text(best.time),
                              now.value);
  return text + fmt::format(", with {} ({} saved; now {})", to_text(best.time),
                            step_saving(best.time, step), now.value);
}

void write_settings(Page& page, const StepExplanation& e) {
  for (const BestSetting& setting : e.settings) {
    const bool holds_protocol = e.row.protocol && setting.path != "workload.protocol";
    page.paragraph(best_text(setting, e.row.time, holds_protocol ? under_text(e.row) : "") + ".");
    std::string tried;
    for (const BestSetting::Tried& one : setting.tried)
      tried += fmt::format("{}{}{}: {}{}", tried.empty() ? "" : ", ", one.value,
                           one.without.empty() ? "" : " without \"chunks\"", to_text(one.time),
                           one.fits ? "" : " (out of memory)");
    page.line("    ", "tried " + tried, 10);
  }
}

void write_knob_lines(Page& page, const StepExplanation& e) {
  std::size_t names = 0, changes = 0;
  for (const StepKnob& knob : e.knobs) {
    names = std::max(names, knob.name.size());
    changes = std::max(changes, knob.change().size());
  }
  for (const StepKnob& knob : e.knobs)
    page.line(fmt::format("    {:<{}}  {:<{}}  {:>10}  ", knob.name, names, knob.change(), changes,
                          knob.time ? to_text(*knob.time) : "?"),
              knob.time ? "saves " + step_saving(*knob.time, e.row.time) : knob.why_not,
              names + changes + 20);
}

std::string exposed_share(const StepExplanation& e) {
  return percent(from_seconds(e.row.step->exposed_s), e.row.time);
}

void write_step_knobs(Page& page, const StepExplanation& e) {
  page.heading("The next knob");
  if (e.knobs.empty() && e.smaller && !e.smaller->knobs.empty()) {
    page.paragraph(fmt::format(
        "Of the whole step it would take too long; of the step of {}, whose collectives have "
        "fewer ranks ({} of it is exposed communication, {} of the whole):",
        printable(to_text(e.smaller->changes)), exposed_share(*e.smaller), exposed_share(e)));
    return write_knob_lines(page, *e.smaller);
  }
  if (e.knobs.empty()) return page.paragraph("Not tried, because it would take too long.");
  page.paragraph("Each line is a simulation of the step with one thing changed:");
  write_knob_lines(page, e);
  write_settings(page, e);
}

// --- JSON ---------------------------------------------------------------------------------------

JsonValue shares_value(const StepShares& shares) {
  JsonValue value = JsonValue::object();
  for (const StepShareWords& share : step_shares)
    value.set(fmt::format("{}_s", share.name), (shares.*share.time).seconds());
  return value;
}

JsonValue line_value(const StepPathLine& line) {
  return JsonValue::object({{"from_s", line.from.seconds()},
                            {"to_s", line.to.seconds()},
                            {"what", line.what},
                            {"turns", line.turns},
                            {"shares", shares_value(line.shares)}});
}

JsonValue knob_value(const StepKnob& knob, Time now) {
  return JsonValue::object(
      {{"name", knob.name},
       {"now", knob.now},
       {"then", knob.then},
       {"time_s", knob.time ? JsonValue(knob.time->seconds()) : JsonValue()},
       {"saves_s", knob.time ? JsonValue((now - *knob.time).seconds()) : JsonValue()},
       {"why_not", knob.time ? JsonValue() : JsonValue(knob.why_not)}});
}

JsonValue setting_value(const BestSetting& setting) {
  return JsonValue::object(
      {{"path", setting.path},
       {"now", setting.tried[setting.now].value},
       {"best", setting.best ? JsonValue(setting.tried[*setting.best].value) : JsonValue()},
       {"tried", JsonValue::array(setting.tried, [&](const BestSetting::Tried& one) {
          JsonValue set = JsonValue::object({{setting.path, one.value}});
          if (!one.without.empty()) set.set(one.without, JsonValue());
          return JsonValue::object({{"value", one.value},
                                    {"time_s", one.time.seconds()},
                                    {"fits", one.fits},
                                    {"set", std::move(set)}});
        })}});
}

JsonValue left_out_value(const StepExplanation& e) {
  if (e.lines_left_out == 0) return {};
  return JsonValue::object({{"after", static_cast<std::int64_t>(e.left_out_after)},
                            {"entries", static_cast<std::int64_t>(e.lines_left_out)}});
}

}  // namespace

std::string to_text(const StepExplanation& explanation, const PageStyle& style) {
  Page page(style);
  write_step(page, explanation);
  write_job(page, explanation);
  page.heading("Where the time goes");
  if (!explanation.every_step_recorded) write_mean_times(page, explanation);
  const StepExplanation* const told =
      explanation.every_step_recorded ? &explanation : explanation.smaller.get();
  if (told != nullptr) {
    if (told != &explanation)
      page.paragraph(
          fmt::format("What follows, up to the next knob, is of a smaller step of {}{}: {}.",
                      to_text(told->row.time),
                      told->changes.front().first == "workload.train.dp"
                          ? ", with one replica, whose gradients need no averaging"
                          : "",
                      printable(to_text(told->changes))));
    write_step_shares(page, *told);
    write_step_path(page, *told);
    write_exposed(page, *told);
    write_slack(page, *told);
  }
  write_step_knobs(page, explanation);
  return page.take();
}

JsonValue to_value(const StepExplanation& e) {
  const StepResult& step = *e.row.step;
  JsonValue smaller;
  if (e.smaller) {
    JsonValue changes = JsonValue::object();
    for (const auto& [path, value] : e.smaller->changes) changes.set(path, value);
    smaller = to_value(*e.smaller);
    smaller.set("changes", std::move(changes));
  }
  const auto if_recorded = [&](JsonValue value) {
    return e.every_step_recorded ? std::move(value) : JsonValue();
  };
  return JsonValue::object(
      {{"workload", e.scheme},
       {"step_s", e.row.time_s()},
       {"compute_s", step.compute_s},
       {"hidden_s", step.hidden_s},
       {"exposed_s", step.exposed_s},
       {"bubble", step.bubble},
       {"job", job_value(step.job)},
       {"shares", if_recorded(shares_value(e.path))},
       {"path", if_recorded(JsonValue::array(e.lines, line_value))},
       {"path_left_out", left_out_value(e)},
       {"last_rank", if_recorded(static_cast<std::int64_t>(e.last_rank.index()))},
       {"exposed", if_recorded(JsonValue::array(e.exposed,
                                                [](const ExposedCalls& calls) {
                                                  return JsonValue::object(
                                                      {{"what", calls.what},
                                                       {"calls",
                                                        static_cast<std::int64_t>(calls.calls)},
                                                       {"time_s", calls.time.seconds()},
                                                       {"exposed_s", calls.exposed.seconds()}});
                                                }))},
       {"streams", if_recorded(JsonValue::array(e.streams,
                                                [](const StreamTimes& stream) {
                                                  return JsonValue::object(
                                                      {{"name", stream.name},
                                                       {"computing_s", stream.computing.seconds()},
                                                       {"communicating_s",
                                                        stream.communicating.seconds()},
                                                       {"waiting_s", stream.waiting.seconds()}});
                                                }))},
       {"slack", if_recorded(JsonValue::array(e.slack,
                                              [](const SlackLine& line) {
                                                return JsonValue::object(
                                                    {{"stream", line.stream},
                                                     {"what", line.what},
                                                     {"actions", line.actions},
                                                     {"without", line.without},
                                                     {"least_s", line.least.seconds()},
                                                     {"most_s", line.most.seconds()}});
                                              }))},
       {"knobs", JsonValue::array(
                     e.knobs, [&](const StepKnob& knob) { return knob_value(knob, e.row.time); })},
       {"settings", JsonValue::array(e.settings, setting_value)},
       {"smaller", std::move(smaller)}});
}

}  // namespace collsim
