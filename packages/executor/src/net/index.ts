// Outbound HTTP of tools: one exchange (`httpCall`), which URLs (`checkUrl`), which addresses (`createGuardedAgent`).

export { checkUrl, parseUrl, URL_POLICY_DEFAULT, type UrlPolicy } from "./check-url.ts";
export { createGuardedAgent, type GuardedAgentOptions, type ResolvedAddress } from "./guarded-agent.ts";
export { type HttpAnswer, type HttpCall, httpCall } from "./http-call.ts";
export { isPublicAddress } from "./public-address.ts";
