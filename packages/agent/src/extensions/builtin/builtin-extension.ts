// One built-in extension: its fields with their defaults, and what it registers.

import type { JsonValue } from "@tessera/protocol";
import type { ExtensionApi, ExtensionModule, OnError } from "../api.ts";
import { type Fields, readConfig } from "./config.ts";

export interface BuiltinSpec<T extends Readonly<Record<string, JsonValue>>> {
  readonly name: string;
  readonly fields: Fields<T>;
  readonly onError?: OnError;
  readonly register: (api: ExtensionApi, config: T) => void;
}

export interface BuiltinExtension extends ExtensionModule {
  /** Throws what is wrong with a configuration. */
  checkConfig(config: JsonValue): void;
}

export function builtinOf<T extends Readonly<Record<string, JsonValue>>>(spec: BuiltinSpec<T>): BuiltinExtension {
  const { name, fields, onError, register } = spec;
  return {
    name,
    register: (api, config) => register(api, readConfig(config ?? null, fields)),
    checkConfig: (config) => void readConfig(config, fields),
    ...(onError === undefined ? {} : { onError }),
  };
}
