//! The tests that every engine passes: one function per promise of the contract, its name the promise.
//!
//! An engine's test crate says how to make a fresh store and gets one `#[test]` per case:
//!
//! ```ignore
//! async fn fresh() -> Box<dyn store::conformance::Subject> { /* … */ }
//! store::conformance_tests!(fresh);
//! ```
//!
//! [`model`] drives random histories into an engine and into the reference engine and compares what both answer.
//!
//! Nothing here knows an engine. A case touches a store through the contract alone, so it holds for engines of the future.

#![expect(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "these are tests that happen to live in a library: they panic to fail, spawn to race, and say it in the name"
)]

pub mod chunks;
pub mod conflicts;
pub mod contents;
pub mod epochs;
pub mod fences;
pub mod guards;
pub mod limits;
pub mod manifests;
pub mod maps;
pub mod model;
pub mod order;
pub mod races;
pub mod rows;
pub mod spills;
pub mod support;
pub mod survival;

use std::future::Future;

use crate::{answer::BoxFuture, chunk::ChunkRef, transact::Store};

/// An engine under test, in a place of its own.
pub trait Subject: Send {
    /// The store, always a clone of the same one: latches and the pins of downloads are its own. A case drops every
    /// clone, snapshot, source and pending chunk before it reopens.
    fn store(&self) -> Store;

    /// Closes the store and opens it again, like a restart of the process. False when the engine keeps nothing; the
    /// cases about survival then end without a finding.
    fn reopen(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async { false })
    }

    /// Lets the engine put the bytes of a live chunk elsewhere, if it ever does so. References stay what they are.
    fn move_chunk(&self, chunk: ChunkRef) -> BoxFuture<'static, ()> {
        let _stays = chunk;
        Box::pin(async {})
    }
}

/// A subject made of an engine that restarts in place.
pub struct Restartable<E> {
    engine: E,
    store: Store,
    open: fn(&E) -> Store,
    restart: fn(&E) -> E,
}

impl<E: Send + 'static> Restartable<E> {
    /// The engine, how to make its store, and how to make the engine after a restart.
    #[must_use]
    pub fn boxed(engine: E, open: fn(&E) -> Store, restart: fn(&E) -> E) -> Box<dyn Subject> {
        Box::new(Self { store: open(&engine), engine, open, restart })
    }
}

impl<E: Send> Subject for Restartable<E> {
    fn store(&self) -> Store {
        self.store.clone()
    }

    fn reopen(&mut self) -> BoxFuture<'_, bool> {
        self.engine = (self.restart)(&self.engine);
        self.store = (self.open)(&self.engine);
        Box::pin(async { true })
    }
}

/// Runs one case on a fresh subject. The executor has two threads, so that what can race does.
pub fn run<Make, Made, Case, Ran>(make: Make, case: Case)
where
    Make: FnOnce() -> Made,
    Made: Future<Output = Box<dyn Subject>>,
    Case: FnOnce(Box<dyn Subject>) -> Ran,
    Ran: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async { case(make().await).await });
}

/// One `#[test]` per case, in one module per family. Takes the path of an `async fn() -> Box<dyn Subject>`.
#[macro_export]
macro_rules! conformance_tests {
    ($make:path) => {
        $crate::conformance_tests! { @cases $make;
            rows {
                a_transaction_reads_its_own_writes
                a_scan_lays_own_writes_over_the_view_in_both_directions
                a_scan_keeps_to_its_range_and_its_order
                a_deleted_row_is_gone_and_can_come_back
                an_empty_value_is_a_value
                a_snapshot_does_not_move
                a_scan_in_progress_does_not_move
                what_is_answered_is_in_the_next_snapshot
                the_rows_of_the_engine_are_out_of_reach
            }
            conflicts {
                a_changed_read_runs_the_transaction_again
                a_read_of_an_absent_row_conflicts_with_its_creation
                a_read_conflicts_with_a_deletion
                a_hook_runs_once_for_the_attempt_that_got_its_place
                a_read_conflicts_with_an_equal_value_written_again
                a_blind_write_conflicts_with_another
                a_blind_delete_of_an_absent_row_conflicts_with_its_creation
                scans_do_not_join_the_read_set
                a_peek_does_not_join_the_read_set_and_sees_own_writes
                what_happened_before_the_transaction_does_not_conflict
                unrelated_rows_do_not_conflict
                every_read_of_an_attempt_is_of_one_instant
                a_transaction_that_is_never_first_answers_busy
                a_read_only_transaction_never_runs_again
                refusals_change_nothing
                a_refused_attempt_leaves_no_trace_in_the_next
            }
            guards {
                shared_and_shared_pass
                shared_after_exclusive_conflicts
                exclusive_after_shared_conflicts
                exclusive_and_exclusive_conflict
                both_kinds_in_one_transaction_count_as_exclusive
                a_guard_taken_before_does_not_conflict
                guards_of_different_keys_pass
                a_guard_is_not_a_row
                a_refusal_takes_no_guard
                a_phantom_is_closed_by_guards
                write_skew_is_closed_by_guards
            }
            limits {
                keys_up_to_the_limit_are_stored
                a_longer_key_is_refused
                values_up_to_the_limit_are_stored
                a_longer_value_is_refused
                rows_up_to_the_limit_are_stored_in_one_transaction
                more_rows_are_refused
                spilled_values_up_to_the_limit_are_stored_in_one_transaction
                more_spilled_values_are_refused
                a_key_outside_every_space_is_refused
            }
            spills {
                values_around_the_spill_limit_come_back
                a_spilled_value_is_replaced_by_any_other
                a_spilled_value_is_deleted
                a_snapshot_keeps_the_spilled_value_that_was_replaced
                spilled_values_are_scanned_in_both_directions
            }
            order {
                writers_of_one_object_go_first_come_first_served
                a_latch_is_free_again_after_a_refusal
                events_come_after_their_commit_is_visible
                events_come_in_the_order_of_commits
                refused_transactions_tell_nothing
                a_transaction_that_only_tells_is_told
                fresh_ids_never_repeat
                time_never_goes_backwards
            }
            chunks {
                chunks_of_every_size_come_back_in_any_pieces
                ranges_of_a_chunk_come_back
                the_reference_carries_length_and_checksum
                the_empty_chunk_needs_no_row
                an_unfinished_chunk_vanishes
                an_unlinked_chunk_vanishes
                a_linked_chunk_outlives_its_pending_value
                a_freed_chunk_is_gone_and_freed_once
                only_its_owner_frees_a_chunk
                an_open_source_outlives_the_free
                a_refused_link_leaves_the_chunk_pending
                many_chunks_at_once_do_not_mix
                a_moved_chunk_is_read_by_its_old_reference
                an_empty_chunk_is_never_mistaken_for_a_moved_one
                every_reference_of_a_chunk_is_the_same_and_no_other_has_its_token
                a_chunk_that_is_moved_while_it_is_freed_is_freed
                a_move_disturbs_nobody_who_counts_slices
            }
            contents {
                what_the_only_user_needs_can_be_adopted
                a_content_lives_until_its_last_user_goes_in_every_order
                a_chain_of_users_keeps_its_source
                a_pin_ends_by_itself
                a_renewed_pin_lasts_to_its_new_deadline
                a_content_being_swept_takes_no_new_users
                a_pinned_download_is_not_swept
                a_sweep_frees_exactly_what_is_unreachable
                releasing_twice_is_harmless
                two_sweepers_at_once_are_harmless
            }
            epochs {
                a_reader_sees_the_newest_row_of_its_epoch
                without_snapshots_one_row_is_kept
                a_delete_leaves_a_tombstone_only_over_kept_rows
                random_epoch_rows_match_a_map_per_snapshot
            }
            fences {
                what_is_fenced_off_is_refused
                what_was_begun_before_the_fence_ends_without_harm
                nothing_is_sequenced_behind_a_fence
            }
            manifests {
                manifests_of_any_length_are_read_and_searched
                a_block_id_past_its_limit_is_refused
                what_is_no_manifest_is_corrupt
                a_manifest_is_swept_with_all_its_blocks
            }
            maps {
                a_chunk_lives_until_the_last_map_lets_go
                an_append_is_found_where_it_was_put
                random_histories_match_an_array_of_bytes_per_epoch
                the_bytes_of_a_map_come_back
                a_row_never_crosses_a_cell
                a_chunk_overwritten_in_its_own_transaction_is_freed
                two_writers_of_one_map_never_overlap
                clearing_nothing_changes_nothing
                no_call_looks_at_a_whole_map
                a_large_map_is_swept_in_steps
            }
            races {
                increments_of_one_counter_lose_nothing_without_a_latch
                increments_of_one_counter_lose_nothing_behind_a_latch
                transfers_keep_the_sum_of_a_bank
            }
            survival {
                commits_survive_a_reopen
                spilled_values_survive_a_reopen
                chunks_survive_a_reopen
                a_token_is_the_same_after_moves_and_reopens
                unlinked_chunks_do_not_survive_a_reopen
                ids_and_time_go_on_after_a_reopen
                a_sweep_goes_on_after_a_reopen
                a_map_survives_a_reopen
            }
        }
    };
    (@cases $make:path; $($family:ident { $($case:ident)+ })+) => {
        $(
            mod $family {
                #[allow(unused_imports, reason = "the path may be absolute")]
                use super::*;
                $(
                    #[test]
                    fn $case() {
                        $crate::conformance::run($make, $crate::conformance::$family::$case);
                    }
                )+
            }
        )+
    };
}
