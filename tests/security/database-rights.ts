// Who may do what in the database: what tests/security/database-roles.test.ts holds and docs/reference/security.md shows. What
// is not listed is forbidden: a table or a function that is new is red until it is named here and in deploy/roles.sql.

export const DATABASE_ROLES = ["kernel", "worker", "api", "api_ro", "tool"] as const;
export type DatabaseRole = (typeof DATABASE_ROLES)[number];
export const TABLE_RIGHTS = ["select", "insert", "update", "delete"] as const;

/** One letter for each of TABLE_RIGHTS, `-` where it is missing. */
export type Cells = Readonly<Record<DatabaseRole, string>>;
const cells = (kernel: string, worker: string, api: string, api_ro: string): Cells => ({
  ...{ kernel, worker, api, api_ro },
  tool: "----",
});

const WRITTEN_ONCE = cells("si--", "si--", "si--", "s---");
const MOVED = cells("siu-", "siu-", "siu-", "s---");
const READ_ONLY = cells("s---", "s---", "s---", "s---");

/** Tables and views. */
export const TABLES: Readonly<Record<string, Cells>> = {
  "card.box_cards": WRITTEN_ONCE,
  "card.box_contents": READ_ONLY,
  "card.boxes": WRITTEN_ONCE,
  "card.card_documents": READ_ONLY,
  "card.cards": WRITTEN_ONCE,
  "l0.functions_installed": READ_ONLY,
  "l0.migrations": cells("s---", "s---", "s---", "s---"),
  "l0.store": READ_ONLY,
  "l0.ticket_keys": cells("s---", "s---", "s---", "----"),
  "resource.api_keys": cells("siu-", "----", "siu-", "----"),
  "resource.profiles": MOVED,
  "resource.project_agents": MOVED,
  "resource.projects": cells("siu-", "si--", "siu-", "s---"),
  "resource.target_principals": cells("siud", "s---", "s---", "s---"),
  "resource.tool_versions": WRITTEN_ONCE,
  "resource.tools": READ_ONLY,
  "state.agent_inbox": READ_ONLY,
  "state.agent_state_head": MOVED,
  "state.agent_state_pointers": READ_ONLY,
  "state.agent_steps": READ_ONLY,
  "state.agent_turns": MOVED,
  "state.audit_log": WRITTEN_ONCE,
  "state.calls": cells("siu-", "siu-", "s-u-", "s---"),
  "state.dead_letters": WRITTEN_ONCE,
  "state.edges": cells("siu-", "si--", "si--", "s---"),
  "state.events": WRITTEN_ONCE,
  "state.execution_edges": READ_ONLY,
  "state.failures": cells("si--", "-i--", "si--", "s---"),
  "state.identity_edges": cells("siu-", "si--", "si--", "s---"),
  "state.inbox": MOVED,
  "state.pmo_batch_tasks": cells("siu-", "siu-", "s-u-", "s---"),
  "state.pmo_batches": cells("siu-", "siu-", "s---", "s---"),
  "state.steps": READ_ONLY,
  "state.trace_budgets": MOVED,
  "state.turn_call_edges": READ_ONLY,
  "state.turn_waiting_tools": READ_ONLY,
  "state.turns": READ_ONLY,
  "state.workers": cells("siud", "siu-", "s---", "s---"),
};

/** A right to some columns where the table's right is missing. */
export const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  "api_ro select resource.api_keys": [
    ...["created_at", "delegation_policy", "expires_at", "key_id", "label", "last_used_at", "project_id"],
    ...["revoked_at", "role", "targets"],
  ],
  "worker update resource.projects": ["updated_at"],
  "api update state.pmo_batches": ["due_at"],
};

export interface FunctionGroup {
  readonly what: string;
  readonly roles: readonly DatabaseRole[];
  readonly names: readonly string[];
}

const names = (text: string) => text.trim().split(/\s+/);

export const FUNCTIONS: readonly FunctionGroup[] = [
  {
    what: "An executor's own four.",
    roles: ["kernel", "worker", "api", "tool"],
    names: names(`
      open_call put_result_card renew_call report
    `),
  },
  {
    what: "Reads that are functions.",
    roles: ["kernel", "worker", "api", "api_ro"],
    names: names(`
      agents_by_id cards_by_id cards_of_boxes conversation events_after instructions last_event_seq settled_event_seq target_of
    `),
  },
  {
    what: "The sweeper, and who binds targets.",
    roles: ["kernel"],
    names: names(`
      end_holders free_leases put_target_principals ring_early sweep_call sweep_calls sweep_held_call sweep_inbox sweep_workers
      watched_logins watches_holders
    `),
  },
  {
    what: "Keys, audit, deletion, resets of conversations.",
    roles: ["kernel", "api"],
    names: names(`
      delete_project living_api_key note_api_key_use put_api_keys put_audit reset_conversation
    `),
  },
  {
    what: "The holder of a turn or a batch.",
    roles: ["kernel", "worker"],
    names: names(`
      answer_wake append_cards append_to_output apply_plainly apply_results children_of_stopped defer_turn dispatch_batch_task
      dispatch_one_task end_hung_turn finish_batch finish_one finish_plainly finish_turn has_hung_twice move_batch_task
      note_hang open_batch recover_turn
      renew_worker repeat_call resume resume_plainly retire_worker suspend_locally suspend_on_calls suspend_plainly take_answers take_due_batches take_turn
      with_answer_wakes
    `),
  },
  {
    what: "Resources, asking and stopping, calls with a given time; and the parts that those are made of.",
    roles: ["kernel", "worker", "api"],
    names: names(`
      answer_cards answer_parent ask_by_answers change_project claim_calls command_of consume_answers count_answer dispatch_next end_turn enqueue_idle enqueue_one enqueue_plainly enqueue_turn expect_batch
      fallback_deliverable first_remembered from_session gate has_repeats in_item_order in_place in_rounds kernel_error lapse_call left_over
      living_project make_ticket_key new_card_id note_failures note_refusals open_call_at overdue_rings no_executor put_agents put_boxes put_cards
      open_plainly probe_write put_dead_letters put_profiles put_projects put_result_card_at put_tools record_end refuse_claims
      refuse_holder refuse_result refuse_worker renew_call_at report_at report_plainly report_rarities result_content
      mended_report normal_error normal_result result_mistake
      ring_delay saved_card_id skipped_rows settle_call stop_one stop_turn ticket ticket_was_used wake_of
      with_the_rest without_foreign_tickets
    `),
  },
  {
    what: "Triggers run them.",
    roles: [],
    names: names(`
      batch_is_due refuse_change
    `),
  },
];
