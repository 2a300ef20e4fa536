import type { SettingValues } from '@baton/kernel/config';
import { settings as lowerSettings } from '../results/settings.ts';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
