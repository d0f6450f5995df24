"""How many examples each random test draws: one table, by file and test.

Two numbers are for plain Python (NUMBA_DISABLE_JIT=1) and for compiled code, where each query takes seconds to compile.
`EVENTIDE_EXAMPLES=0.1` draws a tenth of all of them. `MOST` bounds the sum: who needs more takes it from another test.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings

WITHOUT_JIT = os.environ.get("NUMBA_DISABLE_JIT") == "1"
SCALE = float(os.environ.get("EVENTIDE_EXAMPLES", "1"))
# Cases that are drawn whole, from a language: Hypothesis finds them slow to draw, and many of them do not fit.
QUICK: dict[str, Any] = {"suppress_health_check": list(HealthCheck)}
# Shrinking on Spark takes longer than reading a large example.
ON_SPARK: dict[str, Any] = {**QUICK, "phases": (Phase.explicit, Phase.reuse, Phase.generate)}

# In plain Python, and compiled.
MOST = 21_000, 9_500
EXAMPLES: dict[str, dict[str, int | tuple[int, int]]] = {
    "families.trends.test_single_events": {
        "test_single_events_have_the_oracles_values": (200, 40),
        "test_micro_batches_of_single_events_have_the_oracles_values": (100, 20),
    },
    "families.windows.test_empty": {
        "test_windows_without_events_are_the_oracles": (100, 20),
        "test_micro_batches_and_restarts_leave_the_oracles_windows": (150, 30),
    },
    "families.windows.test_aggregates": {
        "test_windows_have_the_oracles_aggregates": (150, 30),
        "test_micro_batches_and_restarts_leave_the_oracles_aggregates": (150, 30),
        "test_windows_of_events_have_the_oracles_aggregates": (60, 20),
    },
    "families.allen.test_derived": {
        "test_intervals_that_come_after_their_end_give_the_pairs_of_one_batch": (150, 20),
    },
    "families.allen.test_same_pairs": {
        "test_the_embedded_engine_finds_the_oracles_pairs": (200, 100),
        "test_micro_batches_find_the_pairs_of_one_batch": (200, 100),
        "test_exactly_one_relation_holds_and_its_inverse_the_other_way_round": 100,
        "test_slices_of_time_find_every_pair_once": (180, 100),
    },
    "families.builder.test_same_matches": {
        "test_the_embedded_engine_finds_the_oracles_matches": (300, 20),
        "test_a_search_that_pauses_after_every_few_steps_finds_the_oracles_matches": (60, 4),
    },
    "families.builder.test_streams": {
        "test_micro_batches_find_the_matches_of_one_batch": 100,
    },
    "families.joins.test_same_pairs": {
        "test_the_embedded_engine_finds_the_oracles_results": (200, 4),
        "test_micro_batches_find_the_results_of_one_batch": (80, 3),
        "test_slices_of_time_find_every_result_once": (40, 3),
    },
    "engines.diagnosis.test_builder": {
        "test_random_patterns_come_as_far_as_the_oracle_says": (50, 2),
    },
    "engines.diagnosis.test_longest": {
        "test_the_longest_partial_match_and_the_symbol_behind_it_are_those_of_the_oracle": (60, 5),
        "test_a_partition_is_matched_exactly_when_the_query_has_a_row": (20, 3),
    },
    "engines.diagnosis.test_rows": {
        "test_the_longest_partial_match_and_the_label_behind_it_are_those_of_the_oracle": (60, 2),
    },
    "engines.test_beginnings": {
        "test_rows_in_slices_are_the_oracles": (400, 2),
        "test_builder_patterns_in_slices_find_the_oracles_matches": (250, 1),
    },
    "engines.test_compiled_rows": {
        "test_the_compiled_matcher_returns_the_oracles_rows": 6,
    },
    "engines.test_near": {
        "test_what_lies_near_a_needed_event_is_enough_for_the_oracles_rows_of_a_pattern": (120, 4),
        "test_what_lies_near_a_needed_event_is_enough_for_the_oracles_rows_of_a_sequence": (50, 4),
        "test_what_is_near_is_found_whatever_the_hashes": 30,
    },
    "engines.test_live": {
        "test_live_rows_are_those_of_a_bounded_run": 25,
    },
    "engines.test_overlaps": {
        "test_a_pattern_in_slices_returns_the_oracles_rows": (120, 5),
        "test_a_sequence_in_slices_returns_the_oracles_rows": (80, 5),
    },
    "families.events.test_pattern_rows": {
        "test_a_pattern_returns_the_oracles_rows": (400, 6),
        "test_a_pattern_with_and_returns_the_oracles_rows": (200, 3),
        "test_a_search_that_pauses_after_every_few_steps_returns_the_oracles_rows": (60, 3),
        "test_a_batch_returns_what_a_stream_has_returned_when_its_watermark_reaches_the_latest_event": (200, 3),
        "test_what_is_said_about_one_match_is_what_the_oracle_says": (120, 2),
        "test_spark_says_the_same_about_one_match": 3,
        "test_a_spark_dataframe_returns_the_rows_of_the_oracle": 6,
        "test_a_stream_returns_the_rows_of_the_oracle": 3,
    },
    "engines.test_processor": {
        "test_micro_batches_return_the_rows_of_one_batch_of_the_events_in_time": 100,
    },
    "families.events.test_same_rows": {
        "test_the_embedded_engine_returns_the_oracles_rows": (300, 15),
        "test_files_cut_by_partition_return_the_same_rows": (100, 8),
        "test_a_spark_dataframe_returns_the_oracles_rows": 8,
        "test_files_read_by_spark_tasks_return_the_oracles_rows": 8,
        "test_a_stream_returns_the_oracles_rows": 5,
    },
    "families.test_toy": {
        "test_micro_batches_with_saved_state_give_the_same": 20,
    },
    "inputs.test_csv_lines": {
        "test_text_comes_back_as_it_was_written_or_is_refused": 40,
    },
    "inputs.test_exact_numbers": {
        "test_what_is_written_comes_back_or_is_refused": 40,
    },
    "families.intervals.test_same_intervals": {
        "test_the_embedded_engine_derives_the_oracles_intervals": (400, 8),
        "test_micro_batches_with_a_restart_after_each_derive_the_intervals_of_one_batch": (300, 5),
        "test_files_in_time_order_are_worked_off_piece_by_piece": (60, 3),
        "test_threads_and_little_room_change_nothing": (100, 3),
        "test_a_spark_dataframe_gives_the_intervals_of_the_oracle": 4,
        "test_files_read_by_spark_tasks_give_the_intervals_of_the_oracle": 3,
        "test_a_stream_gives_the_intervals_that_are_decided": 1,
    },
    "families.intervals.test_slices": {
        "test_slices_put_together_have_the_intervals_of_the_oracle": (200, 5),
    },
    "kafka.test_json_records": {
        "test_what_is_read_is_what_pythons_reader_reads": 100,
    },
    "lang.rows.test_fuzz_parse": {
        "test_arbitrary_text": 250,
        "test_token_soup": 250,
        "test_mutated_texts": 250,
        "test_random_expressions": 250,
    },
    "lang.rows.test_write": {
        "test_random_patterns_survive_the_round_trip": 300,
        "test_random_clauses_survive_the_round_trip": 120,
    },
    "lang.test_fuzz_parse": {
        "test_arbitrary_text": 250,
        "test_token_soup": 250,
        "test_mutated_queries": 250,
        "test_random_expressions": 250,
    },
    "lang.test_write": {
        "test_random_queries_survive_the_round_trip": 120,
    },
    "families.events.test_conjunctions": {
        "test_small_pieces_return_the_oracles_rows": (150, 3),
    },
    "families.events.test_patterns": {
        "test_batches_with_restarts_give_the_same_matches": (220, 5),
        "test_batches_without_a_window_give_the_same_matches": (80, 2),
        "test_batches_give_the_same_matches_with_and": (100, 3),
        "test_small_arrays_pause_and_resume": (100, 3),
    },
    "families.events.test_sequence": {
        "test_one_block_gives_the_oracles_matches": 300,
        "test_batches_with_restarts_give_the_same_matches": 200,
        "test_a_small_result_array_pauses_and_resumes": 100,
    },
    "oracle.rows.test_self_check": {
        "test_every_match_is_the_one_with_the_least_decisions": 670,
    },
    "oracle.test_self_check": {
        "test_any_equals_all_subsequences": 300,
        "test_every_strategy_equals_the_online_machine": 400,
        "test_negation_equals_definition_2_2": 300,
    },
    "oracle.test_situations": {
        "test_exactly_one_relation_holds_and_its_inverse_the_other_way_round": 100,
        "test_detection_is_that_of_the_endpoints": 100,
    },
    "expressions.test_residue": {
        "test_generated_tests_equal_duckdb": 300,
    },
    "plan.relational.test_same_rows": {
        "test_joins_of_a_sequence_return_the_oracles_rows": (250, 5),
        "test_joins_of_a_pattern_return_the_oracles_rows": (250, 5),
        "test_joins_of_a_pattern_with_and_return_the_oracles_rows": (120, 3),
        "test_joins_with_absences_return_the_oracles_rows": (200, 5),
        "test_joins_in_any_order_return_the_oracles_rows": (120, 3),
        "test_joins_over_windows_that_count_events_return_the_oracles_rows": (120, 3),
        "test_joins_say_about_one_match_what_the_oracle_says": (60, 2),
        "test_trends_of_one_event_counted_by_aggregation_are_those_of_the_operator": (120, 3),
        "test_joins_of_spark_return_the_oracles_rows": 6,
        "test_joins_of_spark_for_a_pattern_return_the_oracles_rows": 8,
    },
    "plan.test_bind": {
        "test_mutated_queries_bind_or_raise_our_errors": 300,
        "test_random_expressions_bind_or_raise_our_errors": 300,
    },
    "families.rows.test_same_rows": {
        "test_a_search_that_pauses_after_every_few_steps_returns_the_oracles_rows": (60, 4),
        "test_the_embedded_engine_returns_the_oracles_rows": (300, 12),
        "test_a_spark_dataframe_returns_the_oracles_rows": 10,
        "test_files_read_by_spark_tasks_return_the_oracles_rows": 6,
    },
    "families.rows.test_streams": {
        "test_micro_batches_return_the_rows_of_one_batch": 150,
    },
    "rules.test_random_changes": {
        "test_each_rule_finds_what_the_batches_that_it_saw_hold": 60,
    },
    "families.situations.test_relations": {
        "test_a_mask_holds_the_names_it_was_made_of": 100,
        "test_the_relation_is_the_one_that_is_defined_and_its_inverse_holds_the_other_way": 100,
    },
    "families.situations.test_same_matches": {
        "test_matches_are_those_of_the_oracle": (200, 20),
        "test_durations_defer_matches_as_in_the_oracle": (150, 10),
        "test_gaps_end_situations_as_in_the_oracle": (150, 10),
        "test_prefix_groups_are_found_when_the_oracle_finds_them": (150, 10),
        "test_partitions_are_matched_apart": (60, 6),
        "test_long_streams_have_the_matches_of_the_oracle": (60, 6),
        "test_rows_in_any_order_give_the_same_matches": (60, 6),
        "test_events_cut_by_partition_give_the_same_matches": (30, 4),
        "test_a_file_in_pieces_gives_the_same_matches": (30, 4),
        "test_shares_of_threads_and_chunks_of_time_give_the_same_matches": (80, 6),
        "test_micro_batches_give_the_matches_of_the_oracle": (150, 8),
        "test_a_spark_dataframe_gives_the_matches_of_the_oracle": 6,
        "test_files_read_by_spark_tasks_give_the_matches_of_the_oracle": 4,
        "test_a_stream_gives_the_matches_of_the_oracle": 3,
    },
    "families.situations.test_slices": {
        "test_slices_put_together_have_the_matches_of_the_oracle": (100, 10),
        "test_stretches_matched_apart_have_the_matches_of_the_oracle_in_order_of_time": (100, 10),
    },
    "streams.test_every_family": {
        "test_micro_batches_give_the_rows_of_a_batch": 6,
        "test_related_intervals_of_micro_batches_are_those_of_a_batch": 10,
    },
    "show.test_axis": {
        "test_any_stretch_of_time_has_few_ticks_in_order_and_inside": 100,
    },
    "show.test_thinning": {
        "test_rows_hold_intervals_that_do_not_overlap_and_are_as_few_as_can_be": 100,
        "test_bars_are_no_more_than_the_limit_and_cover_all_intervals": 100,
        "test_every_nth_is_in_order_starts_with_the_first_and_keeps_to_the_limit": 100,
        "test_an_outline_keeps_the_lowest_and_the_highest_value": 100,
    },
    "families.statement.test_window_rows": {
        "test_groups_of_windows_are_the_oracles": (150, 10),
        "test_expanded_rows_are_the_oracles": (100, 40),
        "test_groups_of_expanded_rows_are_the_oracles": (40, 20),
        "test_the_language_returns_the_same_windows": (40, 4),
        "test_on_spark_groups_and_rows_are_the_oracles": 3,
    },
    "families.trends.test_queues": {
        "test_a_queue_gives_what_is_below_least_first": 100,
        "test_a_queue_of_equal_values_gives_those_at_a_place_once": 100,
    },
    "families.trends.test_same_values": {
        "test_aggregates_over_trends_are_those_of_the_oracle": (250, 10),
        "test_negation_leaves_the_trends_of_the_oracle": (150, 6),
        "test_conditions_on_adjacent_events_leave_the_trends_of_the_oracle": (150, 6),
        "test_windows_walked_at_once_give_the_values_of_the_oracle": (150, 6),
        "test_conditions_inside_a_negation_leave_the_trends_of_the_oracle": (150, 6),
        "test_pairs_of_trends_are_those_of_the_oracle": (120, 4),
        "test_approximate_counts_are_near_those_of_the_oracle": (80, 4),
        "test_events_cut_by_partition_give_the_same_values": (100, 3),
        "test_dictionaries_give_the_values_of_a_table": (60, 2),
        "test_micro_batches_give_the_values_of_the_oracle": (120, 5),
        "test_micro_batches_find_what_must_be_absent_by_its_neighbours": (100, 3),
        "test_micro_batches_wait_for_what_must_be_absent": (100, 3),
        "test_micro_batches_fill_windows_over_positions": (60, 2),
        "test_a_spark_dataframe_gives_the_values_of_the_oracle": 6,
        "test_files_read_by_spark_tasks_give_the_values_of_the_oracle": 4,
        "test_a_stream_gives_the_values_of_the_oracle": 3,
    },
    "families.windows.test_same_windows": {
        "test_the_embedded_engine_returns_the_oracles_windows": (500, 40),
        "test_micro_batches_with_a_restart_after_each_return_the_oracles_windows": (400, 20),
        "test_files_in_pieces_return_the_oracles_windows": (100, 10),
        "test_threads_and_small_batches_change_nothing": (200, 10),
    },
    "families.trends.test_slices": {
        "test_slices_give_the_values_of_the_oracle": (80, 5),
        "test_negation_reaches_across_slices": (60, 3),
        "test_micro_batches_that_leave_matrices_give_the_values_of_the_oracle": (60, 4),
        "test_slices_on_spark_give_the_values_of_the_oracle": 2,
    },
    "families.windows.test_early": {
        "test_early_rows_are_those_of_the_oracle": (150, 10),
    },
    "families.windows.test_on_spark": {
        "test_a_spark_dataframe_returns_the_oracles_windows": 6,
        "test_files_read_by_spark_tasks_return_the_oracles_windows": 4,
        "test_a_stream_returns_the_oracles_windows": 3,
    },
}


def both(given: int | tuple[int, int]) -> tuple[int, int]:
    """What the table says of a test, in plain Python and compiled."""
    return given if isinstance(given, tuple) else (given, given)


def n_examples(test: Callable[..., Any]) -> int:
    """The examples of a test, by its module and name."""
    module, name = test.__module__.removeprefix("tests."), test.__name__
    if name not in EXAMPLES.get(module, ()):
        raise LookupError(f"tests/budget.py does not say how many examples {module}: {name} draws")
    plain, compiled = both(EXAMPLES[module][name])
    return max(1, round(SCALE * (plain if WITHOUT_JIT else compiled)))


def budgeted(**others: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Settings of a random test: as many examples as the table says, however long one takes."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        decorated: Callable[..., Any] = settings(max_examples=n_examples(test), **{"deadline": None, **others})(test)
        return decorated

    return decorate
