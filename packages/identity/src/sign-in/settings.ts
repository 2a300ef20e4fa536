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
  IAM_USED_ASSERTIONS_MAX: integer({
    default: 10_000,
    min: 100,
    max: 100_000,
    unit: 'assertions',
    doc: 'How many used assertions of one identity provider are remembered until they expire, for workload rules with `singleUse`; further ones get 503 with Retry-After.',
  }),
  ...lowerSettings,
};

export type Settings = LowerSettings & SettingValues<typeof settings>;
