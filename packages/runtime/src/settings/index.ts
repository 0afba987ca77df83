// Settings: the table, their values with where each comes from, and what is shown of them.

export { type DescribedSetting, describeSettings, settingsPage } from "./describe.ts";
export { readSettingsFile, type SettingsFile } from "./file.ts";
export { processSettings } from "./process-settings.ts";
export {
  flagKey,
  type ResolvedSetting,
  type ResolvedSettings,
  resolveSettings,
  type SettingProblem,
  type SettingSource,
  type SettingSources,
} from "./resolve.ts";
export { SETTING_NAMES, SETTINGS, type SettingName, type SettingSpec, type Settings } from "./table.ts";
