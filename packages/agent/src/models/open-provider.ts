// The AI SDK's client for a ModelSpec.
//
//   O1. Loaded when needed (C1 of create-models.ts).
//   O2. Everything is passed explicitly: left to themselves, the clients read the process's environment.
//   O3. A provider that is not one of the three, and has an endpoint, speaks OpenAI's chat completions. So does `openai`
//       at an endpoint of its own, unless `options.api` is `responses`: that is what compatible servers have in common.

import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelSpec } from "../profile.ts";
import { AttemptFailed } from "./model-failure.ts";

export interface OpenedProvider {
  readonly model: LanguageModelV4;
  /** Under which name this client looks for provider options. */
  readonly optionsName: string;
}

interface ProviderSettings {
  readonly apiKey: string;
  readonly baseURL: string;
  readonly fetch: typeof globalThis.fetch;
}

interface ProviderEntry {
  readonly optionsName: string;
  readonly baseURL: string;
  open(spec: ModelSpec, settings: ProviderSettings): Promise<LanguageModelV4>;
}

const PROVIDERS: Readonly<Record<string, ProviderEntry>> = {
  openai: {
    optionsName: "openai",
    baseURL: "https://api.openai.com/v1",
    async open(spec, settings) {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const openai = createOpenAI(settings);
      return openaiApi(spec) === "chat" ? openai.chat(spec.model) : openai.responses(spec.model);
    },
  },
  anthropic: {
    optionsName: "anthropic",
    baseURL: "https://api.anthropic.com/v1",
    async open(spec, settings) {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic(settings)(spec.model);
    },
  },
  google: {
    optionsName: "google",
    baseURL: "https://generativelanguage.googleapis.com/v1beta",
    async open(spec, settings) {
      const { createGoogle } = await import("@ai-sdk/google");
      return createGoogle(settings)(spec.model);
    },
  },
};

const COMPATIBLE_OPTIONS_NAME = "openaiCompatible";

export async function openProvider(
  spec: ModelSpec,
  apiKey: string | undefined,
  fetch: typeof globalThis.fetch,
): Promise<OpenedProvider> {
  const entry = entryOf(spec);
  const endpoint = spec.endpoint === undefined ? undefined : checkEndpoint(spec.endpoint);
  if (entry !== undefined) {
    const settings = { apiKey: apiKey ?? "", baseURL: endpoint ?? entry.baseURL, fetch }; // O2
    return { model: await entry.open(spec, settings), optionsName: entry.optionsName };
  }
  if (endpoint === undefined) {
    const known = [...Object.keys(PROVIDERS), "scripted"].join(", ");
    throw new AttemptFailed({
      text: `is not known here: use ${known}, or give the \`endpoint\` of an OpenAI-compatible server`,
      retryable: false,
    });
  }
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const provider = createOpenAICompatible({
    name: COMPATIBLE_OPTIONS_NAME,
    baseURL: endpoint,
    includeUsage: true,
    fetch,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  return { model: provider.chatModel(spec.model), optionsName: COMPATIBLE_OPTIONS_NAME };
}

function entryOf(spec: ModelSpec): ProviderEntry | undefined {
  return Object.hasOwn(PROVIDERS, spec.provider) ? PROVIDERS[spec.provider] : undefined;
}

function openaiApi(spec: ModelSpec): "chat" | "responses" {
  const api = spec.options?.api;
  if (api === "chat" || api === "responses") return api;
  return spec.endpoint === undefined ? "responses" : "chat"; // O3
}

function checkEndpoint(endpoint: string): string {
  const url = URL.parse(endpoint);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") {
    throw new AttemptFailed({
      text: "has an `endpoint` that is not an http or https address without user and password",
      retryable: false,
    });
  }
  return endpoint;
}
