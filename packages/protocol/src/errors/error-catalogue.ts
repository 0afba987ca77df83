// The error catalogue: the only list of error codes of Tessera.
//
// docs/reference/errors.md and schema/error-codes.json are generated from it, and a test holds the three equal.
//
//   C1. A code never changes its meaning and is never reused. New codes are added; readers treat the list as open.
//   C2. `retry` says what a caller may do without thinking: `never`; `same-call` (repeat the identical request at once,
//       it is idempotent); `later` (wait, then repeat).
//   C3. `http`: malformed 400, no key 401, forged or forbidden 403, unknown 404, stale or settled 409, too large 413,
//       too much 429, ours 500, not reachable 503.

export const ERROR_CLASSES = [
  "BadRequest",
  "NotFound",
  "Conflict",
  "PolicyDenied",
  "ProtocolViolation",
  "UpstreamUnavailable",
  "ToolTimeout",
  "Internal",
] as const;
export type ErrorClass = (typeof ERROR_CLASSES)[number];

export type Retry = "never" | "same-call" | "later";

export interface ErrorCatalogueEntry {
  readonly class: ErrorClass;
  readonly http: number;
  readonly retry: Retry;
  /** What happened, in one sentence. */
  readonly meaning: string;
  /** What the reader of the error should do. */
  readonly todo: string;
}

// biome-ignore format: a catalogue reads best with one code per line
export const ERROR_CATALOGUE = {
  // General
  bad_request: { class: "BadRequest", http: 400, retry: "never", meaning: "The request or the arguments are not valid.", todo: "Correct what the message names and send it again." },
  not_found: { class: "NotFound", http: 404, retry: "never", meaning: "What was asked for does not exist, or not in this project.", todo: "Check the id and the project." },
  conflict: { class: "Conflict", http: 409, retry: "never", meaning: "The request contradicts what is already stored.", todo: "Read the current state and decide again." },
  duplicate: { class: "Conflict", http: 409, retry: "never", meaning: "The same thing was already accepted; nothing changed.", todo: "Nothing: the first one counts. `report` answers this as an outcome, not as a failure." },
  forbidden: { class: "PolicyDenied", http: 403, retry: "never", meaning: "The caller is known but may not do this.", todo: "Use a key or role that may, or ask an administrator." },
  auth_failed: { class: "PolicyDenied", http: 403, retry: "never", meaning: "The proof that came with the request is missing, forged, expired or belongs to something else.", todo: "Send the ticket, capability or key that was issued for exactly this call." },
  unauthenticated: { class: "PolicyDenied", http: 401, retry: "never", meaning: "No valid API key was sent.", todo: "Send a key that is not expired or revoked." },
  canceled: { class: "Conflict", http: 409, retry: "never", meaning: "The turn or call was canceled.", todo: "Start a new turn if the work is still wanted." },
  timeout: { class: "ToolTimeout", http: 504, retry: "never", meaning: "A bounded piece of work took too long and was ended.", todo: "Ask for less, or raise its limit." },
  not_implemented: { class: "BadRequest", http: 501, retry: "never", meaning: "This build does not support what was asked for.", todo: "See the documentation for what is supported." },
  internal_error: { class: "Internal", http: 500, retry: "never", meaning: "Tessera or a tool failed in a way that it was not prepared for.", todo: "Look at its stack, with `tessera turns show TURN --stack` or in the log. If the mistake is not in your code, report it." },
  stop_incomplete: { class: "Internal", http: 500, retry: "never", meaning: "A stopping process left parts behind that did not end in time, such as a connection to a server that hangs.", todo: "Nothing is lost: what was held is given out again. Look at the servers that the parts named depend on." },
  unknown_error: { class: "Internal", http: 500, retry: "never", meaning: "A tool said that it failed but not why.", todo: "Let the tool report an error with a code and a message." },
  upstream_unavailable: { class: "UpstreamUnavailable", http: 503, retry: "later", meaning: "A service that the tool depends on cannot be reached or failed.", todo: "Wait, then repeat." },
  model_failed: { class: "UpstreamUnavailable", http: 503, retry: "later", meaning: "The language model could not be reached or gave no usable answer.", todo: "Check key, quota and endpoint of the model, then repeat." },

  // JSON gate and encoding
  invalid_json: { class: "BadRequest", http: 400, retry: "never", meaning: "The text is not exactly one JSON value.", todo: "Send one complete JSON value." },
  invalid_payload: { class: "BadRequest", http: 400, retry: "never", meaning: "The top level of a message is not a JSON object.", todo: "Send an object." },
  invalid_encoding: { class: "BadRequest", http: 400, retry: "never", meaning: "The bytes are not UTF-8 without a byte order mark.", todo: "Encode as UTF-8." },
  too_deep: { class: "BadRequest", http: 400, retry: "never", meaning: "The JSON value is nested deeper than allowed.", todo: "Flatten the value." },
  forbidden_key: { class: "BadRequest", http: 400, retry: "never", meaning: "An object holds the key `__proto__`.", todo: "Rename the key." },
  schema_invalid: { class: "BadRequest", http: 400, retry: "never", meaning: "A value does not fit its schema, or cannot be written as JSON without loss.", todo: "Correct the value at the pointer that is named; send numbers beyond 2^53 - 1 as strings." },
  payload_too_large: { class: "BadRequest", http: 413, retry: "never", meaning: "A body, card, result or message is larger than allowed.", todo: "Store the data elsewhere and send a pointer." },
  invalid_id: { class: "BadRequest", http: 400, retry: "never", meaning: "An id breaks the rule for ids.", todo: "Use letters, digits, `_` and `-`, at most 64 of them." },

  // Bus messages and contexts
  protocol_violation: { class: "ProtocolViolation", http: 400, retry: "never", meaning: "A message breaks the wire contract.", todo: "Correct the sender; the detail names the header, field or check." },
  invalid_subject: { class: "ProtocolViolation", http: 400, retry: "never", meaning: "The subject does not follow the grammar.", todo: "Build subjects with `formatSubject`." },
  unsupported_version: { class: "ProtocolViolation", http: 400, retry: "never", meaning: "The protocol or content version is not known to this build.", todo: "Upgrade this process, or send a supported version." },
  tenant_mismatch: { class: "PolicyDenied", http: 403, retry: "never", meaning: "The subject names another project than the card.", todo: "Send the command in the project of its card." },
  invalid_context: { class: "ProtocolViolation", http: 400, retry: "never", meaning: "Stored context headers cannot be turned into a context.", todo: "Correct the program that enqueued the row." },
  invalid_source_actor: { class: "PolicyDenied", http: 403, retry: "never", meaning: "The sender is neither in the roster nor a service.", todo: "Register the agent, or send as `tool.*` or `sys.*`." },
  recursion_depth_exceeded: { class: "BadRequest", http: 400, retry: "never", meaning: "Agents have called each other too deeply.", todo: "Break the cycle, or let one agent do more itself." },

  // Commands, cards, results
  card_not_found: { class: "NotFound", http: 404, retry: "never", meaning: "The card does not exist in this project, or is not of the expected type.", todo: "Check the card id; a foreign or wrong card is answered the same way." },
  card_fetch_failed: { class: "UpstreamUnavailable", http: 503, retry: "same-call", meaning: "The card could not be read.", todo: "Repeat." },
  invalid_card: { class: "BadRequest", http: 400, retry: "never", meaning: "A card or its content has the wrong shape.", todo: "Build cards with the published schemas." },
  invalid_card_type: { class: "BadRequest", http: 400, retry: "never", meaning: "The card is of another type than this operation needs.", todo: "Pass the card that the operation names." },
  deliverable_invalid: { class: "BadRequest", http: 400, retry: "never", meaning: "A turn succeeded and delivered something that does not fit the schema that was asked for.", todo: "Look at the turn's deliverable; let the agent's instructions and the schema ask for the same." },
  missing_card_id: { class: "BadRequest", http: 400, retry: "never", meaning: "A card id is missing.", todo: "Name the card." },
  tool_call_id_mismatch: { class: "ProtocolViolation", http: 400, retry: "never", meaning: "The card belongs to another call.", todo: "Report the card that was made for this call." },
  invalid_status: { class: "BadRequest", http: 400, retry: "never", meaning: "The tool gave a status outside the five known ones.", todo: "Use success, failed, canceled, timeout or partial." },
  invalid_after_execution: { class: "BadRequest", http: 400, retry: "never", meaning: "`after_execution` is neither `suspend` nor `terminate`.", todo: "Use one of the two." },
  after_execution_mismatch: { class: "Conflict", http: 409, retry: "never", meaning: "The command's `after_execution` differs from the tool's definition.", todo: "Send the value of the definition, or none." },
  result_not_serializable: { class: "BadRequest", http: 400, retry: "never", meaning: "The tool returned something that is not JSON.", todo: "Return plain JSON values." },
  error_not_serializable: { class: "BadRequest", http: 400, retry: "never", meaning: "The tool's error object is not JSON.", todo: "Report an error with a code and a message." },
  missing_tool_call_id: { class: "ProtocolViolation", http: 400, retry: "never", meaning: "A result does not say which call it answers.", todo: "Send the call id." },
  missing_tool_result_card: { class: "ProtocolViolation", http: 400, retry: "never", meaning: "A report names no result card.", todo: "Write the result card first and name it." },
  invalid_tool_result_type: { class: "ProtocolViolation", http: 400, retry: "never", meaning: "The card named by a report is not a `tool.result`.", todo: "Name the result card." },
  tool_result_not_found: { class: "NotFound", http: 404, retry: "never", meaning: "The result card does not exist.", todo: "Check the id; write the card before reporting it." },
  invalid_args: { class: "BadRequest", http: 400, retry: "never", meaning: "The arguments of an action are not an object or do not fit.", todo: "Correct the arguments." },

  // Calls and attempts
  unknown_call: { class: "NotFound", http: 404, retry: "never", meaning: "No such call: it was never committed, or was lost with a failed-over database.", todo: "Undo the side effect if there was one." },
  already_settled: { class: "Conflict", http: 409, retry: "never", meaning: "The call or turn has its outcome already.", todo: "Stop; the stored outcome stands." },
  already_claimed: { class: "Conflict", http: 409, retry: "never", meaning: "Another executor holds the call.", todo: "Do not run it." },
  stale_attempt: { class: "Conflict", http: 409, retry: "never", meaning: "The write belongs to an attempt that is no longer the current one.", todo: "Stop all side effects of this attempt." },
  stale_epoch: { class: "Conflict", http: 409, retry: "never", meaning: "The write belongs to an epoch that is no longer the current one.", todo: "Stop all side effects of this turn; another worker has it." },
  stale_turn: { class: "Conflict", http: 409, retry: "never", meaning: "The turn is not the agent's current one.", todo: "Stop; read the agent's state." },
  lease_lost: { class: "Conflict", http: 409, retry: "never", meaning: "The lease lapsed or was given to another holder.", todo: "Stop all side effects." },
  worker_lapsed: { class: "Conflict", http: 409, retry: "never", meaning: "The worker did not renew its leases in time; its turns were dispatched again.", todo: "Register again and take new work." },
  no_executor: { class: "ToolTimeout", http: 504, retry: "later", meaning: "No executor took the call in the time it may wait for one; this attempt did not run.", todo: "Start an executor for the target, or raise the tool's `queueTimeoutMs`." },
  outcome_unknown: { class: "Internal", http: 500, retry: "never", meaning: "The executor was lost while the tool ran; the side effect may or may not have happened.", todo: "Check the outside system before repeating; give the tool a `reconcile`." },
  tool_crashed: { class: "Internal", http: 500, retry: "never", meaning: "The tool's process ended on every attempt before it reported.", todo: "Look at the executor's logs." },
  tool_timeout: { class: "ToolTimeout", http: 504, retry: "never", meaning: "The tool gave no result before its deadline.", todo: "Raise the tool's timeout, or ask for less." },
  tool_not_in_catalog: { class: "NotFound", http: 404, retry: "never", meaning: "The model called a tool that this step does not offer.", todo: "Call one of the offered tools." },
  tool_definition_missing: { class: "NotFound", http: 404, retry: "never", meaning: "The tool has no definition in this project.", todo: "Register the tool." },
  stale_tool_definition: { class: "NotFound", http: 404, retry: "never", meaning: "The call was made with a definition that this host has no code for: the tool was removed or moved meanwhile.", todo: "Call the tool again as it is defined now, or use another one." },
  too_many_calls: { class: "BadRequest", http: 400, retry: "never", meaning: "One step asked for more calls than allowed; the surplus was not run.", todo: "Ask for the rest in the next step." },

  // Turns, agents, inbox
  agent_not_found: { class: "NotFound", http: 404, retry: "never", meaning: "The agent is not in the roster of this project.", todo: "Create the agent first." },
  agent_busy: { class: "Conflict", http: 409, retry: "later", meaning: "The agent has an active turn.", todo: "Wait until it is idle, or enqueue instead." },
  backlog_full: { class: "UpstreamUnavailable", http: 429, retry: "later", meaning: "The agent's inbox is full.", todo: "Wait until it has drained, or use another agent." },
  trace_budget_exceeded: { class: "PolicyDenied", http: 429, retry: "never", meaning: "This trace has used up its turns.", todo: "Start a new request; look for a loop between agents." },
  fan_out_exceeded: { class: "BadRequest", http: 400, retry: "never", meaning: "More tasks at once than allowed.", todo: "Split the work." },
  crash_loop: { class: "Internal", http: 500, retry: "never", meaning: "The turn crashed its worker several times in a row and was ended.", todo: "Look at the worker's logs for this turn." },
  process_hung: { class: "Internal", http: 500, retry: "never", meaning: "The turn's code held its process up for good, twice, and was ended.", todo: "Look at the log of the process that ended with exit code 8: it names the place. Mend the tool, extension or model that loops, or run it isolated." },
  max_steps_reached: { class: "BadRequest", http: 400, retry: "never", meaning: "The turn used up its steps before it finished.", todo: "Ask for less, or raise the limit of steps." },
  resume_retry_exhausted: { class: "Internal", http: 500, retry: "never", meaning: "The turn could not be resumed after several deferrals.", todo: "Look at the defer reasons of its inbox rows." },
  resume_failed: { class: "Internal", http: 500, retry: "never", meaning: "The turn could not be resumed.", todo: "Look at the detail." },
  judge_fail_fast: { class: "PolicyDenied", http: 403, retry: "never", meaning: "A judge ended the turn.", todo: "Read the judge's feedback card." },
  missing_step_id: { class: "ProtocolViolation", http: 400, retry: "never", meaning: "A result cannot be tied to a step.", todo: "Keep the lineage of the call's card." },
  missing_agent_thought: { class: "ProtocolViolation", http: 400, retry: "never", meaning: "The message that made the calls is missing.", todo: "Report this: a step was stored incompletely." },
  missing_tool_calls: { class: "ProtocolViolation", http: 400, retry: "never", meaning: "The message that made the calls holds none.", todo: "Report this: a step was stored incompletely." },
  missing_agent_turn_id: { class: "ProtocolViolation", http: 400, retry: "never", meaning: "The turn id is missing.", todo: "Send it in its header." },
  missing_agent_id: { class: "BadRequest", http: 400, retry: "never", meaning: "The agent id is missing.", todo: "Name the agent." },
  missing_required_fields: { class: "BadRequest", http: 400, retry: "never", meaning: "Fields that this message needs are missing.", todo: "Send the fields that the message names." },
  invalid_payload_json: { class: "BadRequest", http: 400, retry: "never", meaning: "A stored payload is not JSON.", todo: "Correct the program that enqueued the row." },
  invalid_payload_type: { class: "BadRequest", http: 400, retry: "never", meaning: "A stored payload is not an object.", todo: "Correct the program that enqueued the row." },
  invalid_metadata: { class: "BadRequest", http: 400, retry: "never", meaning: "`metadata` is not an object.", todo: "Send an object or leave it out." },
  inbox_not_empty: { class: "Conflict", http: 409, retry: "later", meaning: "The turn cannot end yet: other messages of it are still open.", todo: "Wait for them." },
  dispatch_failed: { class: "Internal", http: 500, retry: "never", meaning: "A command could not be issued.", todo: "Look at the detail." },

  // UI actions
  invalid_worker_target: { class: "BadRequest", http: 400, retry: "never", meaning: "The worker target is not one legal token, or not the one this needs.", todo: "Use letters, digits, `_` and `-`." },
  ui_not_allowed: { class: "PolicyDenied", http: 403, retry: "never", meaning: "The tool may not be called from a user interface.", todo: "Set `options.ui_allowed` in its definition." },
  idempotency_inflight: { class: "Conflict", http: 409, retry: "later", meaning: "The same action is being worked on.", todo: "Wait for its acknowledgement." },
  l0_error: { class: "Internal", http: 500, retry: "never", meaning: "The kernel could not start the action.", todo: "Look at the detail." },

  // PMO: delegation, provisioning, batches
  unsupported_pmo_route: { class: "NotFound", http: 404, retry: "never", meaning: "No internal tool has this name.", todo: "Call one of the internal tools." },
  delegation_denied: { class: "PolicyDenied", http: 403, retry: "never", meaning: "The caller's delegation policy does not allow this target.", todo: "Allow the profile in the policy, or choose another." },
  invalid_action: { class: "BadRequest", http: 400, retry: "never", meaning: "`action` is not ensure, create or derive.", todo: "Use one of the three." },
  invalid_tags: { class: "BadRequest", http: 400, retry: "never", meaning: "`tags` is not a list of strings.", todo: "Send a list of strings." },
  missing_derived_from: { class: "BadRequest", http: 400, retry: "never", meaning: "`derive` needs `derived_from`.", todo: "Name the agent to derive from." },
  missing_profile_name: { class: "BadRequest", http: 400, retry: "never", meaning: "The profile name is missing.", todo: "Name the profile." },
  missing_derived_profile_name: { class: "BadRequest", http: 400, retry: "never", meaning: "The agent to derive from has no profile name.", todo: "Name the profile." },
  profile_not_found: { class: "NotFound", http: 404, retry: "never", meaning: "No profile has this name in this project.", todo: "Upload the profile first." },
  profile_box_missing: { class: "NotFound", http: 404, retry: "never", meaning: "The profile's box does not exist.", todo: "Upload the profile again." },
  profile_mismatch: { class: "Conflict", http: 409, retry: "never", meaning: "Profile name and profile box name different profiles.", todo: "Send one of the two." },
  derived_agent_conflict: { class: "Conflict", http: 409, retry: "never", meaning: "The agent exists and was derived from another one.", todo: "Choose another agent id." },
  worker_target_missing: { class: "BadRequest", http: 400, retry: "never", meaning: "Neither the request nor the profile names a worker target.", todo: "Name one." },
  existing_agent_profile_mutation_forbidden: { class: "Conflict", http: 409, retry: "never", meaning: "The agent exists with another profile.", todo: "Use another agent id; agents keep their profile." },
  existing_agent_owner_mutation_forbidden: { class: "Conflict", http: 409, retry: "never", meaning: "The agent exists with another owner.", todo: "Use another agent id; agents keep their owner." },
  existing_agent_worker_target_mutation_forbidden: { class: "Conflict", http: 409, retry: "never", meaning: "The agent exists with another worker target.", todo: "Use another agent id; agents keep their worker target." },
  existing_agent_tags_mutation_forbidden: { class: "Conflict", http: 409, retry: "never", meaning: "The agent exists with other tags.", todo: "Use another agent id; agents keep their tags." },
  batch_failed: { class: "Internal", http: 500, retry: "never", meaning: "Not every task of the batch succeeded.", todo: "Read the result of each task." },
  dispatch_retry_exhausted: { class: "UpstreamUnavailable", http: 503, retry: "later", meaning: "A task could not be handed to its agent after several tries.", todo: "Repeat when the agent is idle." },
  downstream_unavailable: { class: "UpstreamUnavailable", http: 503, retry: "later", meaning: "A task was handed out and no worker took it.", todo: "Check that a worker serves the agent's target." },

  // Definitions, YAML, arguments of tools
  root_must_be_mapping: { class: "BadRequest", http: 400, retry: "never", meaning: "The YAML document is empty or not a mapping.", todo: "Upload one mapping." },
  aliases_not_allowed: { class: "BadRequest", http: 400, retry: "never", meaning: "The YAML document uses more aliases than allowed, or merge keys.", todo: "Write the values out." },
  tag_not_allowed: { class: "BadRequest", http: 400, retry: "never", meaning: "The YAML document uses a custom tag.", todo: "Use plain values." },
  invalid_target_subject: { class: "BadRequest", http: 400, retry: "never", meaning: "`target_subject` is not a template of a tool command.", todo: "Use `cg.v1r4.{project_id}.{channel_id}.cmd.tool.<target>.<action>`." },
  reserved_name: { class: "BadRequest", http: 400, retry: "never", meaning: "The name belongs to Tessera.", todo: "Choose another name." },
  invalid_name: { class: "BadRequest", http: 400, retry: "never", meaning: "The name breaks the rule for its kind.", todo: "Use letters, digits, `_` and `-`; at most one `__`." },
  env_not_allowed: { class: "PolicyDenied", http: 400, retry: "never", meaning: "The tool asks for an environment variable it may not have.", todo: "Use another variable, or allow it in the executor." },
  conflicting_arg: { class: "BadRequest", http: 400, retry: "never", meaning: "One argument appears in more than one of defaults, fixed and envs.", todo: "Keep one." },
  unknown_template_var: { class: "BadRequest", http: 400, retry: "never", meaning: "A template uses a variable that does not exist.", todo: "Use the documented variables." },
  invalid_path: { class: "BadRequest", http: 400, retry: "never", meaning: "The path is not usable: too long, holds NUL, or names no regular file.", todo: "Send another path." },
  path_outside_workdir: { class: "PolicyDenied", http: 403, retry: "never", meaning: "The path leads out of the agent's working directory.", todo: "Use a path inside it." },
  url_not_allowed: { class: "PolicyDenied", http: 403, retry: "never", meaning: "The address is not one that tools may reach.", todo: "Use an allowed host over https." },

  // Storage and process
  storage_error: { class: "UpstreamUnavailable", http: 503, retry: "same-call", meaning: "The database could not be reached or refused; the write may or may not have happened.", todo: "Repeat: every operation of the kernel is safe to repeat." },
  storage_busy: { class: "UpstreamUnavailable", http: 503, retry: "same-call", meaning: "Another session of the database keeps a row locked that this needs; nothing was written.", todo: "Repeat: the session is ended within seconds, where a watchdog may (`tessera doctor`)." },
  storage_full: { class: "UpstreamUnavailable", http: 507, retry: "later", meaning: "The database or disk has no space.", todo: "Make room; work goes on by itself." },
  store_in_use: { class: "Conflict", http: 409, retry: "never", meaning: "Another process holds the data directory.", todo: "Reach it through that process, or stop it." },
  shutting_down: { class: "UpstreamUnavailable", http: 503, retry: "later", meaning: "This process is stopping and takes no new work.", todo: "Send it to another process." },

  // HTTP edge
  rate_limited: { class: "UpstreamUnavailable", http: 429, retry: "later", meaning: "Too many requests.", todo: "Wait as long as `Retry-After` says." },
  method_not_allowed: { class: "BadRequest", http: 405, retry: "never", meaning: "The route does not know this method.", todo: "See `Allow`." },
  unsupported_media_type: { class: "BadRequest", http: 415, retry: "never", meaning: "The body has the wrong content type.", todo: "Send `application/json`, or what the route names." },
  precondition_failed: { class: "Conflict", http: 412, retry: "never", meaning: "The resource changed since it was read.", todo: "Read it again and decide." },
  origin_not_allowed: { class: "PolicyDenied", http: 403, retry: "never", meaning: "Host or Origin is not one this server answers to.", todo: "Use the address it was configured with." },

  // Goondan tools (as a tool author sees them)
  E_TOOL: { class: "Internal", http: 500, retry: "never", meaning: "The tool threw an error without a code.", todo: "Read the message." },
  E_TOOL_INVALID_ARGS: { class: "BadRequest", http: 400, retry: "never", meaning: "The arguments do not fit the tool's parameters.", todo: "Call again with arguments that fit." },
  E_TOOL_NOT_FOUND: { class: "NotFound", http: 404, retry: "never", meaning: "The tool has no handler.", todo: "Export the handler." },
  E_TOOL_NOT_IN_CATALOG: { class: "NotFound", http: 404, retry: "never", meaning: "This step does not offer the tool.", todo: "Call one of the offered tools." },

  // Extensions
  E_EXT_LOAD: { class: "BadRequest", http: 400, retry: "never", meaning: "An extension that an agent lists is not in this process, cannot be loaded, exports no `register`, or failed in it.", todo: "Export `register(api, config)` from its entry and look at the worker's log; an extension that only observes may have `onError: skip`." },
  E_MESSAGE_TARGET_NOT_FOUND: { class: "NotFound", http: 404, retry: "never", meaning: "An extension replaced or removed a message that the conversation does not have; nothing was changed.", todo: "Take ids from `conversationState.nextMessages`; a message may have left the memory of the agent." },
  extension_failed: { class: "Internal", http: 500, retry: "never", meaning: "An extension around a turn, a step or a tool call threw, did not answer in time or answered wrongly, so what it wraps was not let through.", todo: "Look at the worker's log for the extension's stack and correct it; an extension that only observes may have `onError: skip`." },

  // Configuration bundles
  E_CONFIG_UNSUPPORTED_API_VERSION: { class: "BadRequest", http: 400, retry: "never", meaning: "`apiVersion` is not supported.", todo: "Use `tessera/v1`, or `goondan.ai/v1`, which means the same." },
  E_CONFIG_UNKNOWN_KIND: { class: "BadRequest", http: 400, retry: "never", meaning: "`kind` is not known.", todo: "Use a known kind." },
  E_CONFIG_INVALID_NAME: { class: "BadRequest", http: 400, retry: "never", meaning: "A resource name breaks the rule for names.", todo: "Use lower-case letters, digits and `-`, starting with a letter." },
  E_CONFIG_DUPLICATE_NAME: { class: "BadRequest", http: 400, retry: "never", meaning: "Two resources of one kind share a name.", todo: "Rename one." },
  E_CONFIG_INVALID_REF: { class: "BadRequest", http: 400, retry: "never", meaning: "A reference is malformed.", todo: "Write `Kind/name` or `{kind, name}`." },
  E_CONFIG_REF_NOT_FOUND: { class: "BadRequest", http: 400, retry: "never", meaning: "A reference points to nothing.", todo: "Define the resource, or correct the name." },
  E_CONFIG_SCHEMA_INVALID: { class: "BadRequest", http: 400, retry: "never", meaning: "A resource does not fit its schema.", todo: "Correct the field that is named." },
  E_CONFIG_PACKAGE_DOC_DUPLICATED: { class: "BadRequest", http: 400, retry: "never", meaning: "There is more than one Package document.", todo: "Keep one." },
  E_CONFIG_PACKAGE_DOC_POSITION: { class: "BadRequest", http: 400, retry: "never", meaning: "The Package document is not the first.", todo: "Move it to the top." },
  E_CONFIG_PARSE_ERROR: { class: "BadRequest", http: 400, retry: "never", meaning: "The file is not valid YAML.", todo: "Correct the line that is named." },
  E_CONFIG_FILE_TOO_LARGE: { class: "BadRequest", http: 413, retry: "never", meaning: "The file is larger than allowed.", todo: "Split it." },
  E_CONFIG_TOO_MANY_DOCUMENTS: { class: "BadRequest", http: 400, retry: "never", meaning: "The file holds more documents than allowed.", todo: "Split it." },
  E_CONFIG_ENTRY_NOT_FOUND: { class: "BadRequest", http: 400, retry: "never", meaning: "The entry file of a tool or extension is missing.", todo: "Correct `spec.entry`." },
  E_CONFIG_PACKAGE_LOCK_MISSING: { class: "BadRequest", http: 400, retry: "never", meaning: "Dependencies are declared but not locked.", todo: "Create the lock file." },
  E_CONFIG_PACKAGE_NOT_INSTALLED: { class: "BadRequest", http: 400, retry: "never", meaning: "A locked dependency is not installed.", todo: "Install it." },
  E_CONFIG_PACKAGE_MANIFEST_MISSING: { class: "BadRequest", http: 400, retry: "never", meaning: "An installed dependency has no manifest.", todo: "Install it again." },
} as const satisfies Record<string, ErrorCatalogueEntry>;

/** The code of an error: one of the error catalogue (docs/reference/errors.md). */
export type ErrorCode = keyof typeof ERROR_CATALOGUE;
export const ERROR_CODES = Object.keys(ERROR_CATALOGUE) as readonly ErrorCode[];

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === "string" && Object.hasOwn(ERROR_CATALOGUE, value);
}
