#pragma once
// The findings of a campaign in words, each with the command that reproduces it.

#include <pugixml.hpp>
#include <vector>

#include "reports/page/campaign_findings.h"
#include "reports/page/campaign_page.h"

namespace hooke::report {

/// A list for each standing that some finding has, numbered through.
void add_campaign_items(pugi::xml_node parent, const std::vector<CampaignFinding>& findings,
                        const CampaignContent& content);

}  // namespace hooke::report
