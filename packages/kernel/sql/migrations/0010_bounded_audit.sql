-- compat: expand
-- The refusals that a principal has met in this minute, so that what is noted of them can be bounded (functions/18_refusal_notes.sql).

create index audit_log_refusals on state.audit_log (project_id, principal, kind, created_at)
  where kind in ('open_call', 'put_result_card', 'report');
