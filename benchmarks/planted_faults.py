"""The catalogue of faults that the audit ought to find, each at three strengths."""

from __future__ import annotations

from planted_lists import (
    chosen_on_test,
    few_users,
    item_leak,
    missing_lists,
    pair_leak,
    seen_items,
    served_worse,
    shuffled_ids,
    ties,
    time_leak,
    tuned_rows,
)
from planted_mistakes import (
    backwards,
    cut_lists,
    heavy_testers,
    hits_first,
    no_threshold,
    one_sampled,
    one_system_twice,
    sampled_lists,
    seen_likes,
    twin_items,
    wrong_users,
)
from planted_observation import by_popularity, by_value, loop, opposed, popularity_wins, sampled
from planted_types import Fault, lost_lead, off_by_a_third, reversed_order, undetectable
from planted_worlds import SECOND

_LEAD = "lead of {} over {}"
FAULTS = (
    Fault("leakage by time", "future_rows", "what is known of later rows, in standard deviations of tastes",
          (1.0, 3.0, 10.0), _LEAD.format("the leaky system", "an honest one"), time_leak, reversed_order),
    Fault("leakage by pair", "leaked_pairs", "share of the test rows that are in train", (0.001, 0.05, 0.3),
          "value", pair_leak, None, ("wrong",)),
    Fault("leakage through an item's future", "item_future", "share of the items", (0.05, 0.2, 0.5), "value",
          item_leak, off_by_a_third),
    Fault("seen items", "seen_items", "share of the users", (0.1, 0.4, 1.0), "value", seen_items, off_by_a_third),
    Fault("shuffled ids", "random_baseline", "share of the users", (0.25, 0.5, 1.0), "value", shuffled_ids,
          off_by_a_third),
    Fault("missing lists", "missing_lists", "share of the users", (0.1, 0.35, 0.7),
          _LEAD.format("the better system", "the other"), missing_lists, reversed_order),
    Fault("value-biased observation", "unbiased_order", "bias by value", (0.25, 0.75, 2.0),
          _LEAD.format("a few favourites", "broad taste"), by_value, reversed_order),
    Fault("ties at the cut", "ties_at_cut", "steps of scores, in standard deviations", (0.05, 0.5, 2.0), "value", ties,
          off_by_a_third),
    Fault("sampled candidates", "sampled_candidates", "candidates", (100, 50, 20),
          _LEAD.format("a steady system", "a lucky one"), sampled, reversed_order),
    Fault("too few users", "too_few_users", "users", (600, 150, 25),
          "difference found with 80 % power, and the true one",
          few_users, undetectable, ("cannot tell",)),
    Fault("test rows tuned on", "tuned_on_test", "share of the test rows that are in the validation set",
          (0.01, 0.2, 1.0), "value", tuned_rows, None, ("wrong",)),
    Fault("a winner chosen on the test set", "selected_on_test", "variants tried", (10, 50, 250),
          _LEAD.format("the winner", "the mean of the others"), chosen_on_test, lost_lead,
          reported_on=SECOND.name),
    Fault("a popularity baseline that wins", "popularity_baseline", "noise of the systems", (0.5, 1.5, 6.0),
          "value, and that of popularity", popularity_wins, off_by_a_third),
    Fault("a group served worse", "served_groups", "share of the group", (0.25, 0.5, 1.0),
          "value, and that of the others", served_worse, off_by_a_third),
    Fault("feedback loop", "feedback_loop", "items shown in each of two rounds", (1, 2, 4),
          _LEAD.format("the earlier system", "a better one"), loop, reversed_order),
    Fault("lists of sampled candidates", "sampled_candidates", "candidates besides the relevant ones", (50, 35, 20),
          "value", sampled_lists, off_by_a_third),
    Fault("one system ranks a sample", "sampled_candidates", "candidates besides the relevant ones", (50, 35, 20),
          _LEAD.format("the system with a sample", "a better one"), one_sampled, reversed_order),
    Fault("test rows learned", "relevant_items_first", "share of the relevant test rows", (0.1, 0.3, 0.6), "value",
          seen_likes, off_by_a_third),
    Fault("ties broken by relevance", "relevant_items_first", "steps of scores, in standard deviations",
          (1.0, 2.0, 4.0), "value", hits_first, off_by_a_third),
    Fault("lists cut below the cutoff", "short_lists", "share of the users", (0.25, 0.5, 1.0), "value",
          cut_lists, None),
    Fault("lists turned round", "backward_lists", "length of the lists", (10, 20, 40),
          _LEAD.format("the better system", "the other"), backwards, reversed_order),
    Fault("a forgotten threshold", "low_ratings", "share of the rows with low ratings", (0.1, 0.4, 1.0), "value",
          no_threshold, None),
    Fault("twin items", "twin_items", "share of the items", (0.05, 0.2, 0.5), "value", twin_items, off_by_a_third),
    Fault("a test set of heavy users", "active_test_users", "share of the users", (0.5, 0.2, 0.05), "value",
          heavy_testers, None),
    Fault("one system under two names", "same_lists", "share of the users", (0.8, 0.95, 1.0),
          _LEAD.format("the copy", "the original"), one_system_twice, None),
    Fault("lists of the wrong users", "wrong_users", "share of the users", (0.25, 0.5, 1.0), "value", wrong_users,
          off_by_a_third),
)  # fmt: skip
# How popularity decides what is observed is no fault that a check can tell from its opposite: popularity_bias and
# false_positives show views, and what may be claimed is said for every pair of systems.
OBSERVATION = (
    Fault("popularity-biased observation", "popularity_bias", "γ", (0.25, 0.75, 1.5),
          _LEAD.format("popular items", "taste"), by_popularity, reversed_order, ("cannot tell",), SECOND.name),
    Fault("opposed popularity", "false_positives", "strength of the opposition", (0.25, 0.5, 1.0),
          _LEAD.format("popular items", "taste"), opposed, reversed_order, ("cannot tell",)),
)  # fmt: skip
