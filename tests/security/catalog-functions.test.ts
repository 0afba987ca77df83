// What PostgreSQL lets everybody run: every function of pg_catalog that is not without effect and that a role of ours may execute
// after deploy/roles.sql is listed here, with the reason why it holds up no other session and stores nothing. One that is not listed is red: it
// is looked at, then listed or revoked.
//
//   C1. Locks and stores are tried, too, each with real arguments, by each role's own login; all are refused with 42501.

import { readFileSync } from "node:fs";
import { type Database, DatabaseError, migrate, SCHEMA_DIGEST } from "@tessera/kernel";
import { createTestDatabases, type TestDatabase } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROLES = ["kernel", "worker", "api", "api_ro", "tool"] as const;
const ROLES_SQL = readFileSync(new URL("../../deploy/roles.sql", import.meta.url), "utf8");
const suffix = Math.trunc(performance.timeOrigin).toString(36);
const loginOf = (role: string) => `catalog_${role}_${suffix}`;
const FORBIDDEN = "42501";

const names = (text: string) => text.trim().split(/\s+/);

/** Why each of these holds up no other session and stores nothing. */
const HARMLESS: Readonly<Record<string, readonly string[]>> = {
  "answers, and changes nothing": names(`
    amvalidate clock_timestamp current_query currtid2 currval cursor_to_xml cursor_to_xmlschema gen_random_uuid lastval
    pg_blocking_pids pg_collation_actual_version pg_control_checkpoint pg_control_init pg_control_recovery pg_control_system
    pg_current_wal_flush_lsn pg_current_wal_insert_lsn pg_current_wal_lsn pg_database_collation_actual_version pg_database_size
    pg_get_multixact_members pg_get_wal_replay_pause_state pg_get_wal_resource_managers pg_indexes_size pg_is_in_recovery
    pg_is_wal_replay_paused pg_isolation_test_session_is_blocked pg_jit_available pg_last_committed_xact pg_last_wal_receive_lsn
    pg_last_wal_replay_lsn pg_last_xact_replay_timestamp pg_lock_status pg_notification_queue_usage pg_partition_ancestors
    pg_partition_tree pg_prepared_xact pg_relation_size pg_safe_snapshot_blocking_pids pg_sequence_last_value
    pg_stat_get_recovery_prefetch pg_stat_get_xact_blocks_fetched pg_stat_get_xact_blocks_hit pg_stat_get_xact_function_calls
    pg_stat_get_xact_function_self_time pg_stat_get_xact_function_total_time pg_stat_get_xact_numscans
    pg_stat_get_xact_tuples_deleted pg_stat_get_xact_tuples_fetched pg_stat_get_xact_tuples_hot_updated
    pg_stat_get_xact_tuples_inserted pg_stat_get_xact_tuples_returned pg_stat_get_xact_tuples_updated pg_table_size
    pg_tablespace_size pg_total_relation_size pg_xact_commit_timestamp pg_xact_commit_timestamp_origin pg_xact_status query_to_xml
    query_to_xml_and_xmlschema query_to_xmlschema random timeofday ts_rewrite ts_stat txid_status`),
  "changes the session of who calls it": names(`
    pg_sleep pg_sleep_for pg_sleep_until pg_stat_clear_snapshot pg_stat_force_next_flush set_config setseed`),
  "needs a right to the sequence or table that it names": names(`
    brin_desummarize_range brin_summarize_new_values brin_summarize_range gin_clean_pending_list nextval setval`),
  "ends sessions of the same login only": names("pg_cancel_backend pg_terminate_backend"),
  "needs an attribute of the login, REPLICATION or superuser": names(`
    pg_copy_logical_replication_slot pg_copy_physical_replication_slot pg_create_logical_replication_slot
    pg_create_physical_replication_slot pg_drop_replication_slot pg_import_system_collations pg_logical_slot_get_binary_changes
    pg_logical_slot_get_changes pg_logical_slot_peek_binary_changes pg_logical_slot_peek_changes pg_nextoid pg_read_file_old
    pg_replication_slot_advance pg_rotate_logfile_old pg_stop_making_pinned_objects`),
  "runs during an upgrade of the server or of an extension only": names(`
    binary_upgrade_create_empty_extension binary_upgrade_set_missing_value binary_upgrade_set_next_array_pg_type_oid
    binary_upgrade_set_next_heap_pg_class_oid binary_upgrade_set_next_heap_relfilenode binary_upgrade_set_next_index_pg_class_oid
    binary_upgrade_set_next_index_relfilenode binary_upgrade_set_next_multirange_array_pg_type_oid
    binary_upgrade_set_next_multirange_pg_type_oid binary_upgrade_set_next_pg_authid_oid binary_upgrade_set_next_pg_enum_oid
    binary_upgrade_set_next_pg_tablespace_oid binary_upgrade_set_next_pg_type_oid binary_upgrade_set_next_toast_pg_class_oid
    binary_upgrade_set_next_toast_relfilenode binary_upgrade_set_record_init_privs pg_extension_config_dump`),
  "is the command NOTIFY, for which there is no right; a queue that cannot be emptied is the watchdog's":
    names("pg_notify"),
};

/** Each with arguments with which it would lock or store. */
const REVOKED: readonly string[] = [
  ...["", "_xact"].flatMap((scope) =>
    ["", "_shared"].flatMap((mode) =>
      ["1", "1, 1"].flatMap((key) => [
        `pg_advisory${scope}_lock${mode}(${key})`,
        `pg_try_advisory${scope}_lock${mode}(${key})`,
      ]),
    ),
  ),
  ...["pg_advisory_unlock(1)", "pg_advisory_unlock_shared(1)", "pg_advisory_unlock_all()"],
  "pg_advisory_lock(hashtextextended('default/agent', 0))",
  ...[
    "lo_creat(-1)",
    "lo_create(0)",
    "lo_from_bytea(0, 'x')",
    "lo_put(1, 0, 'x')",
    "lo_open(1, 131072)",
    "lowrite(0, 'x')",
  ],
  ...[
    "lo_truncate(0, 1)",
    "lo_truncate64(0, 1)",
    "lo_unlink(1)",
    "lo_get(1)",
    "loread(0, 1)",
    "lo_import('/etc/passwd')",
  ],
  ...[
    "pg_logical_emit_message(false, 'p', 'x')",
    "pg_logical_emit_message(true, 'p', 'x'::bytea)",
    "pg_export_snapshot()",
  ],
];

let store: TestDatabase;
const sessions = new Map<string, Database>();
beforeAll(async () => {
  const prepare = async (database: Database) => void (await migrate(database));
  store = await createTestDatabases({ engine: "postgres", prepare, digest: `kernel-${SCHEMA_DIGEST}` }).open();
  await store.database.script(ROLES_SQL);
  for (const role of ROLES) {
    await store.database.script(`create role ${loginOf(role)} login in role tessera_${role}`);
    sessions.set(role, await store.another({ user: loginOf(role), poolMax: 1 }));
  }
});
afterAll(async () => {
  for (const role of ROLES) await store.database.script(`drop role ${loginOf(role)}`);
  await store.close();
});

describe("what everybody may run", () => {
  it.each(ROLES)("is known to hold up no other session and to store nothing, for %s", async (role) => {
    const rows = await store.database.query<{ name: string }>(
      `select distinct p.proname as name from pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace and p.provolatile = 'v' and p.prokind = 'f'
          and has_function_privilege($1::text, p.oid, 'execute')
          -- No client can call these: they take or return what only the server makes.
          and p.prorettype not in (select t.oid from pg_type t where t.typname ~ '_handler$' or t.typname in ('trigger', 'internal', 'language_handler'))
          and not 'internal'::regtype = any (p.proargtypes) and p.proname <> 'plpgsql_validator'`,
      [loginOf(role)],
    );
    const known = new Set(Object.values(HARMLESS).flat());
    expect(rows.map(({ name }) => name).filter((name) => !known.has(name))).toEqual([]);
    expect(rows.length).toBeGreaterThan(50);
  });

  it.each(ROLES)("is, for %s, no lock that others could wait for and no place to store", async (role) => {
    const open: string[] = [];
    for (const call of REVOKED) {
      const code = await sessions
        .get(role)
        ?.query(`select ${call}`)
        .then(
          () => "done",
          (error: unknown) => (error instanceof DatabaseError ? error.sqlstate : String(error)),
        );
      if (code !== FORBIDDEN) open.push(`${call}: ${code}`);
    }
    expect(open).toEqual([]);
  });

  it("does not keep the owner of the schema, who need not be a superuser, from migrating", async () => {
    const owner = `catalog_owner_${suffix}`;
    await store.database.script(`
      create role ${owner} login; alter schema l0 owner to ${owner}; ${ROLES_SQL}`);
    const session = await store.another({ user: owner, poolMax: 1 });
    await session.query("select pg_advisory_xact_lock(1)");
    await store.database.script(
      `reassign owned by ${owner} to current_user; drop owned by ${owner}; drop role ${owner};`,
    );
  });
});
