import { integer, type SettingValues } from '@baton/kernel/process/config';
import { type Settings as LowerSettings, settings as lowerSettings } from '../issuing/settings.ts';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  IAM_UPSTREAM_LEEWAY_SECONDS: integer({
    default: 60,
    max: 300,
    unit: 'seconds',
    doc: 'The tolerance for the clock of an identity provider: `iat` and `nbf` of its tokens may be that far in the future. `exp` has no leeway.',
  }),
  ...lowerSettings,
};

export type Settings = LowerSettings & SettingValues<typeof settings>;
