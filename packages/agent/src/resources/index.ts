// Swarm resources: what makes an agent, from YAML and from code, to profiles.
//
//   a bundle's files                readSwarmBundle, then profilesOf
//   resources that were read        readSwarmResources (their tools were loaded elsewhere)
//   written in tessera.config.ts    defineModel, defineAgent, defineSwarm; handed in as `config`
//   a CommonGround profile          readProfileYaml

export type { AgentResource } from "./agent-resource.ts";
export { bundleFileReader, type ReadBundleFile } from "./bundle-path.ts";
export type { ConfigModule } from "./config-resources.ts";
export type { AgentDraft, DefinedAgent, DefinedModel, DefinedSwarm, ModelDraft, SwarmDraft } from "./define.ts";
export { defineAgent, defineModel, defineSwarm } from "./define.ts";
export type { ExtensionResource } from "./extension-resource.ts";
export type { UploadLimits } from "./llm-config.ts";
export type { ModelResource } from "./model-resource.ts";
export type { PackageResource } from "./package-resource.ts";
export { type ProfileUpload, type ProfileUploadOptions, readProfileYaml } from "./profile-yaml.ts";
export { type ProfileOptions, profilesOf } from "./profiles.ts";
export type { BundleWarning } from "./resource-reading.ts";
export { readSwarmBundle, readSwarmResources, type SwarmBundle, type SwarmBundleOptions } from "./swarm-bundle.ts";
export type { SwarmPolicy, SwarmResource } from "./swarm-resource.ts";
