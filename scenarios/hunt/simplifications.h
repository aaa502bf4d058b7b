#pragma once
// The ways in which a failing scenario is made simpler. Each asks a search for many candidates, one
// kind of change at a time; a shrinker goes through all of them until none has anything left.

#include "scenarios/hunt/shrink_search.h"

namespace hooke::hunt {

/// A time limit soon after the failure: what comes later only costs time.
void cut_after_failure(ShrinkSearch& search);
/// Nothing is healed, if the failure is not about that.
void leave_broken(ShrinkSearch& search);
/// First in, first out instead of a random schedule, a small seed instead of a tape, the quiet
/// answer instead of a recorded one.
void calm_choices(ShrinkSearch& search);
/// A schedule that must be random: the few of its choices that matter, on a tape, if they are few.
void name_choices(ShrinkSearch& search);
/// Half of the timeline, a quarter, one entry after the other.
void drop_timeline(ShrinkSearch& search);
/// Nodes, with all that refers to them; the sizes of a round follow or stay.
void drop_nodes(ShrinkSearch& search);
/// What all agents are, said once, where each node says it for itself.
void join_variants(ShrinkSearch& search);
/// Every other thing that the format can do without, from the outside to the inside.
void drop_lines(ShrinkSearch& search);
/// The simplest worker programs instead of what there is.
void replace_programs(ShrinkSearch& search);
/// Smaller counts, shorter spans, fewer digits.
void lower_numbers(ShrinkSearch& search);
/// A time instead of an event, or an event instead of an odd time.
void replace_triggers(ShrinkSearch& search);
/// No time limit of its own, unless the runs become much longer.
void drop_time_limit(ShrinkSearch& search);
/// At the very end: what happens at a time in the order of time.
void order_timeline(ShrinkSearch& search);

}  // namespace hooke::hunt
