#pragma once
// A plan for a person, and for programs.

#include <nlohmann/json.hpp>
#include <string>

#include "reports/plan/advice.h"
#include "reports/style.h"

namespace hooke::report {

std::string plan_text(const PlanResult& result, const PlanOptions& options, const Style& style);
nlohmann::ordered_json plan_json(const PlanResult& result, const PlanOptions& options);

}  // namespace hooke::report
