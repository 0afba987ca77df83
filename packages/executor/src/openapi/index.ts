// Tools that are definitions only: Jina's search and reader, and any operation of an OpenAPI document.
//
//   A definition is run                createOpenApiHost({ dispatcher, env, clock, onWarning }).codeFor(definition, invocation)
//   What a definition asks for         credentialGrants(definition), for `grants` of the host

export { credentialGrants, jinaKeyGrants, readCredentialGrant } from "./credential-grants.ts";
export { createOpenApiHost, type OpenApiHost } from "./host.ts";
