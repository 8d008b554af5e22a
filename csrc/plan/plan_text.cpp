// Plans as text: name(field=value, …).
#include <sstream>
#include <stdexcept>

#include "plan/plan.h"

namespace reduce_ops {

namespace {

struct Field {
  const char* name;
  int Plan::*member;
};

constexpr Field kFields[] = {
    {"threads", &Plan::threads}, {"vector", &Plan::vector}, {"across", &Plan::across},
    {"down", &Plan::down},       {"deep", &Plan::deep},     {"segments", &Plan::segments},
    {"parts", &Plan::parts},
};

constexpr struct {
  const char* name;
  Engine engine;
} kEngines[] = {
    {"fill", Engine::kFill},
    {"map", Engine::kMap},
    {"thread_row", Engine::kThreadRow},
    {"warp_row", Engine::kWarpRow},
    {"block_row", Engine::kBlockRow},
    {"split_row", Engine::kSplitRow},
    {"column", Engine::kColumn},
    {"split_column", Engine::kSplitColumn},
    {"narrow_column", Engine::kNarrowColumn},
    {"cpu_row", Engine::kCpuRow},
    {"cpu_column", Engine::kCpuColumn},
};

[[noreturn]] void fail(const std::string& text, const std::string& why) {
  throw std::invalid_argument("reduce_ops: \"" + text + "\" is no plan: " + why +
                              "; expected for example \"split_row(segments=4)\"");
}

std::string strip(const std::string& s) {
  const size_t first = s.find_first_not_of(' ');
  return first == std::string::npos ? "" : s.substr(first, s.find_last_not_of(' ') - first + 1);
}

}  // namespace

std::string to_string(const Plan& plan) {
  std::ostringstream out;
  for (const auto& e : kEngines) {
    if (e.engine == plan.engine) out << e.name;
  }
  out << '(';
  const char* separator = "";
  for (const Field& f : kFields) {
    if (plan.*f.member == 0) continue;
    out << separator << f.name << '=' << plan.*f.member;
    separator = ", ";
  }
  out << ')';
  return out.str();
}

Plan parse_plan(const std::string& text) {
  const std::string all = strip(text);
  const size_t open = all.find('(');
  if (open == std::string::npos || all.back() != ')') fail(text, "it has no \"(…)\"");
  Plan plan;
  const std::string name = strip(all.substr(0, open));
  bool known = false;
  for (const auto& e : kEngines) {
    if (name != e.name) continue;
    plan.engine = e.engine;
    known = true;
  }
  if (!known) fail(text, "there is no engine \"" + name + "\"");
  std::istringstream fields(all.substr(open + 1, all.size() - open - 2));
  for (std::string item; std::getline(fields, item, ',');) {
    item = strip(item);
    const size_t equals = item.find('=');
    const std::string key = strip(item.substr(0, equals));
    const Field* field = nullptr;
    for (const Field& f : kFields) {
      if (key == f.name) field = &f;
    }
    if (!field || equals == std::string::npos) fail(text, "there is no field \"" + item + "\"");
    const std::string value = strip(item.substr(equals + 1));
    if (value.empty() || value.size() > 9 ||
        value.find_first_not_of("0123456789") != std::string::npos)
      fail(text, key + " must be a whole number, got \"" + value + "\"");
    if (plan.*field->member != 0) fail(text, key + " stands twice");
    plan.*field->member = std::stoi(value);
  }
  return plan;
}

}  // namespace reduce_ops
