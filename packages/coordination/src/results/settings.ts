import { integer, type SettingValues } from '@baton/kernel/config';
import { settings as lowerSettings } from '../access/settings.ts';

const seconds = 'seconds';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  CP_VERIFICATION_CHECK_SECONDS: integer({
    default: 15,
    min: 1,
    max: 3600,
    unit: seconds,
    doc: 'How often a verification that waits looks again.',
  }),
  CP_VERIFICATION_EXTERNAL_TIMEOUT_SECONDS: integer({
    default: 86_400,
    min: 1,
    max: 31_536_000,
    unit: seconds,
    doc: 'How long a verification waits for an event or for evidence from outside.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
