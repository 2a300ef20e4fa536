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
    doc: 'The maximum lifetime of a platform access token.',
  }),
  IAM_PAT_MAX_AUTHENTICATION_AGE_SECONDS: integer({
    default: 300,
    unit: seconds,
    doc: "The maximum age of a person's recorded sign-in when a token is issued.",
  }),
  IAM_FAILURES_PER_CREDENTIAL_MAX: integer({
    default: 0,
    max: 1_000_000,
    unit: 'failures',
    doc: 'The number of wrong secrets that may be presented for one token prefix or client per window before the response is 429; the right secret always succeeds. Counted per process; 0 means no limit.',
  }),
  IAM_FAILURES_PER_ADDRESS_MAX: integer({
    default: 0,
    max: 1_000_000,
    unit: 'failures',
    doc: 'The number of secrets, sign-ins and SCIM credentials from one address (IPv6: one /64 network) that may fail per window before further ones from that address get 429; for admin secrets, only wrong ones do. 0 means no limit. Behind a proxy set IAM_TRUSTED_PROXIES too; otherwise all clients have its address.',
  }),
  IAM_FAILURE_WINDOW_SECONDS: integer({
    default: 60,
    min: 1,
    max: daySeconds,
    unit: seconds,
    doc: 'The window in which failures are counted, from the first one.',
  }),
  IAM_LEGACY_CREDENTIAL_MAX_TTL_SECONDS: integer({
    default: 90 * daySeconds,
    min: 60,
    unit: seconds,
    doc: 'The maximum lifetime of an imported legacy key.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
