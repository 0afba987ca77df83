// Tools that are definitions only: Jina's search and reader, and any operation of an OpenAPI document.
//
//   A document becomes definitions     openApiTools(document, { resource, hosts, operations, auth })
//   A definition is run                createOpenApiHost({ dispatcher, env, clock, onWarning }).codeFor(definition, invocation)
//   What a definition asks for         credentialGrants(definition), for `grants` of the host

export { type CredentialGrant, credentialGrants, jinaKeyGrants, readCredentialGrant } from "./credential-grants.ts";
export { type OpenApiToolsOptions, openApiTools } from "./document-tools.ts";
export { createOpenApiHost, type OpenApiHost, type OpenApiHostOptions } from "./host.ts";
