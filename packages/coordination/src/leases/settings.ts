import { flag, integer, type SettingValues } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../ledger/settings.ts';

const seconds = 'seconds';

/** The settings of this layer and of the layers below it. */
export const settings = {
  CP_SESSION_TTL_SECONDS: integer({
    default: 300,
    min: 1,
    unit: seconds,
    doc: 'The default lease of a session.',
  }),
  CP_SESSION_TTL_MIN_SECONDS: integer({
    default: 10,
    min: 1,
    unit: seconds,
    doc: 'The shortest lease of a session.',
  }),
  CP_SESSION_TTL_MAX_SECONDS: integer({
    default: 3600,
    min: 1,
    unit: seconds,
    doc: 'The longest lease of a session.',
  }),
  CP_CLAIM_TTL_SECONDS: integer({
    default: 300,
    min: 1,
    unit: seconds,
    doc: 'The default lease of a claim.',
  }),
  CP_CLAIM_TTL_MIN_SECONDS: integer({
    default: 10,
    min: 1,
    unit: seconds,
    doc: 'The shortest lease of a claim.',
  }),
  CP_CLAIM_TTL_MAX_SECONDS: integer({
    default: 3600,
    min: 1,
    unit: seconds,
    doc: 'The longest lease of a claim.',
  }),
  CP_DELEGATION_NARROWS: flag({
    default: false,
    doc: "Whether an agent's writes in a session for a person also require the right in their delegation, if it lists any.",
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
