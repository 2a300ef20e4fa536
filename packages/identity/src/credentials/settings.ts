import { integer, type SettingValues } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../records/settings.ts';

const seconds = 'seconds';
const daySeconds = 86_400;

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  IAM_PAT_DEFAULT_TTL_SECONDS: integer({
    default: 30 * daySeconds,
    min: 60,
    unit: seconds,
    doc: 'The lifetime of a platform access token that is issued without one; never more than the maximum.',
  }),
  IAM_PAT_MAX_TTL_SECONDS: integer({
    default: 365 * daySeconds,
    min: 60,
    unit: seconds,
    doc: 'The longest life of a platform access token.',
  }),
  IAM_PAT_MAX_AUTHENTICATION_AGE_SECONDS: integer({
    default: 300,
    unit: seconds,
    doc: 'How old the recorded sign-in of a person may be when a token is issued.',
  }),
  IAM_FAILURES_PER_CREDENTIAL_MAX: integer({
    default: 0,
    max: 1_000_000,
    unit: 'failures',
    doc: 'How often a wrong secret may be presented for one token prefix or client in a window before it is answered 429; the right secret always passes. Counted per process; 0 is without a limit.',
  }),
  IAM_FAILURES_PER_ADDRESS_MAX: integer({
    default: 0,
    max: 1_000_000,
    unit: 'failures',
    doc: 'How often secrets, sign-ins and SCIM credentials from one address (of IPv6: one network of 64 bits) may fail in a window before all that it presents is answered 429; of admin secrets only wrong ones are. 0 is without a limit. Behind a proxy set IAM_TRUSTED_PROXIES too, or all clients have its address.',
  }),
  IAM_FAILURE_WINDOW_SECONDS: integer({
    default: 60,
    min: 1,
    max: daySeconds,
    unit: seconds,
    doc: 'How long failures are counted, from the first one.',
  }),
  IAM_LEGACY_CREDENTIAL_MAX_TTL_SECONDS: integer({
    default: 90 * daySeconds,
    min: 60,
    unit: seconds,
    doc: 'The longest life of an imported legacy key.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
