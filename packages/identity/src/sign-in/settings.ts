import { choice, integer, list, SettingError, type SettingValues, text } from '@baton/kernel/process/config';
import {
  deriveSettings as deriveLowerSettings,
  type Settings as LowerSettings,
  settings as lowerSettings,
} from '../issuing/settings.ts';

const seconds = 'seconds';
const daySeconds = 86_400;

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
    doc: 'How many used assertions of one identity provider are remembered until they expire, for workload rules with `singleUse`; a single rule may have half of them. Any beyond that get 503 with Retry-After.',
  }),
  IAM_PASSKEY_RP_ID: text<string | undefined>({
    default: undefined,
    doc: 'The domain that passkeys are bound to (the relying party id of WebAuthn); if unset, the host of IAM_PUBLIC_URL, and `localhost` if that is a loopback address. After a change, the existing passkeys no longer work.',
  }),
  IAM_PASSKEY_ORIGINS: list({
    default: [],
    doc: 'The origins of the pages where people use passkeys, for example `["https://console.example"]`: on IAM_PASSKEY_RP_ID or a subdomain of it, https except on localhost. Empty: the origin of IAM_PUBLIC_URL.',
  }),
  IAM_PASSKEY_USER_VERIFICATION: choice(['required', 'preferred'], {
    default: 'required',
    doc: 'Whether a passkey must verify its user with a PIN, fingerprint or face. `preferred` also accepts security keys without a PIN; their sign-ins lack `mfa`.',
  }),
  IAM_PASSKEYS_PER_PERSON_MAX: integer({
    default: 10,
    min: 1,
    max: 50,
    unit: 'passkeys',
    doc: 'The maximum number of passkeys of a person in a tenant.',
  }),
  IAM_PASSKEY_CHALLENGE_SECONDS: integer({
    default: 300,
    min: 10,
    max: 900,
    unit: seconds,
    doc: 'How long a person may take to use or to create a passkey after the page has requested it.',
  }),
  IAM_BROWSER_SESSION_IDLE_SECONDS: integer({
    default: daySeconds / 2,
    min: 60,
    max: 30 * daySeconds,
    unit: seconds,
    doc: 'How long a browser session may be unused; then it has expired.',
  }),
  IAM_BROWSER_SESSION_MAX_SECONDS: integer({
    default: 7 * daySeconds,
    min: 60,
    max: 30 * daySeconds,
    unit: seconds,
    doc: 'The lifetime of a browser session, however often it is used.',
  }),
  IAM_ADMINISTRATION_AUTHENTICATION_AGE_SECONDS: integer({
    default: 300,
    min: 10,
    max: 300,
    unit: seconds,
    doc: "How long after a person's sign-in their administration tokens live, and may be issued.",
  }),
  IAM_INVITATIONS_OPEN_MAX: integer({
    default: 500,
    min: 1,
    max: 10_000,
    unit: 'links',
    doc: 'The maximum number of invitations and recovery links of a tenant that are neither accepted, revoked nor expired.',
  }),
  IAM_SIGN_IN_REQUESTS_MAX: integer({
    default: 500,
    min: 1,
    max: 10_000,
    unit: 'requests',
    doc: 'The maximum number of pending sign-in requests of a tenant; a single provider may have half of them, and a single address (IPv6: one /64 network) a quarter. Behind a proxy set IAM_TRUSTED_PROXIES too; otherwise all clients have its address.',
  }),
  IAM_SIGN_IN_REQUEST_SECONDS: integer({
    default: 14 * daySeconds,
    min: 60,
    max: 90 * daySeconds,
    unit: seconds,
    doc: 'How long a sign-in request is pending; then it has expired.',
  }),
  IAM_OAUTH_PAGES_URL: text<string | undefined>({
    default: undefined,
    doc: 'The address below which browsers reach the sign-in pages of identity (`/oauth2/…`). Its origin must be one of IAM_PASSKEY_ORIGINS. If unset, the issuer, with `localhost` instead of a loopback address.',
  }),
  IAM_OAUTH_CONSOLE_URL: text({
    default: '',
    doc: 'The address of the console, on whose page `/consent` people decide who sign in through an identity provider. If empty, the sign-in pages offer passkeys only.',
  }),
  IAM_COORDINATION_URL: text({
    default: '',
    doc: 'The address at which identity reaches coordination, to name the workspaces in which an OAuth client would have rights. If empty, they are not named.',
  }),
  IAM_OAUTH_GRANT_SECONDS: integer({
    default: 90 * daySeconds,
    min: 300,
    max: 365 * daySeconds,
    unit: seconds,
    doc: 'How long an OAuth client may act after a person has allowed it; after that, it must request access again.',
  }),
  IAM_OAUTH_REFRESH_SECONDS: integer({
    default: 30 * daySeconds,
    min: 60,
    max: 365 * daySeconds,
    unit: seconds,
    doc: 'How long a refresh token of an OAuth client may be unused; then it has expired.',
  }),
  IAM_OAUTH_GRANTS_PER_PERSON_MAX: integer({
    default: 50,
    min: 1,
    max: 1000,
    unit: 'grants',
    doc: 'The maximum number of live grants that a person has given to OAuth clients; another one ends the one that has been unused the longest.',
  }),
  ...lowerSettings,
};

/** Where passkeys are used: WebAuthn's relying party. */
export interface RelyingParty {
  readonly id: string;
  readonly origins: readonly string[];
  /** The issuer of the external identities of passkeys. */
  readonly issuer: string;
}

export interface Settings extends LowerSettings, SettingValues<typeof settings> {
  readonly relyingParty: RelyingParty;
  /** The address below which browsers reach the pages of OAuth requests, without a trailing slash. */
  readonly oauthPagesUrl: string;
}

const loopback = /^(127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * The settings with the values derived from them.
 * @throws SettingError for an origin at which a browser would refuse the passkeys
 */
export function deriveSettings<Values extends SettingValues<typeof settings>>(
  values: Values,
): Values & Settings {
  const derived = deriveLowerSettings(values);
  if (!URL.canParse(values.IAM_PUBLIC_URL))
    throw new SettingError('IAM_PUBLIC_URL', 'must be an http or https address.');
  const ours = new URL(values.IAM_PUBLIC_URL);
  // Browsers don't accept an IP address as a relying party id, so a console on this machine is opened as localhost.
  if (loopback.test(ours.hostname)) ours.hostname = 'localhost';
  const id = values.IAM_PASSKEY_RP_ID ?? ours.hostname;
  const origins = values.IAM_PASSKEY_ORIGINS.length === 0 ? [ours.origin] : values.IAM_PASSKEY_ORIGINS;
  if (values.IAM_PASSKEY_ORIGINS.length > 0 && !origins.every((origin) => isOriginOf(origin, id)))
    throw new SettingError(
      'IAM_PASSKEY_ORIGINS',
      'must be origins on the domain of IAM_PASSKEY_RP_ID, https except on localhost.',
    );
  const relyingParty = { id, origins, issuer: `${derived.issuer}/passkeys` };
  requireWebAddress('IAM_OAUTH_CONSOLE_URL', values.IAM_OAUTH_CONSOLE_URL);
  requireWebAddress('IAM_COORDINATION_URL', values.IAM_COORDINATION_URL);
  return { ...derived, relyingParty, oauthPagesUrl: pagesUrlOf(values.IAM_OAUTH_PAGES_URL, derived.issuer) };
}

/** @throws SettingError for a value that is neither empty nor the address of a service */
function requireWebAddress(name: string, value: string): void {
  const url = URL.parse(value);
  const isUsable =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.search === '' &&
    url.hash === '' &&
    url.username === '';
  if (value !== '' && !isUsable)
    throw new SettingError(name, 'must be an http or https address without a query.');
}

function pagesUrlOf(configured: string | undefined, issuer: string): string {
  const url = URL.parse(configured ?? issuer);
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new SettingError('IAM_OAUTH_PAGES_URL', 'must be an http or https address without a query.');
  if (configured === undefined && loopback.test(url.hostname)) url.hostname = 'localhost';
  return url.href.replace(/\/+$/, '');
}

function isOriginOf(origin: string, id: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { origin: parsed, protocol, hostname } = new URL(origin);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && /(^|\.)localhost$/.test(hostname));
  return parsed === origin && isSafe && (hostname === id || hostname.endsWith(`.${id}`));
}
