import { dirname, join, resolve } from 'node:path';
import { networks } from '@baton/kernel/listener/client-address';
import { integer, list, readSettings, type SettingValues, text } from '@baton/kernel/process/config';
import type { Door } from './door.ts';
import type { ManagementDoor } from './management-door.ts';

/** The root of the checkout, or of the installed package, which has the same folders. */
export const projectRoot = dirname(dirname(dirname(import.meta.dirname)));

/** A checkout is run as TypeScript. What npm installed is JavaScript: npm empties its folder, so no data is kept there. */
const isCheckout = import.meta.filename.endsWith('.ts');

export type Environment = Readonly<Record<string, string | undefined>>;

const optional = (doc: string) => text({ default: '', doc });
const secret = (doc: string) => text({ default: '', doc, secret: true });

/** Settings that the default run itself reads. Every other `IAM_*` and `CP_*` setting is passed on to the services. */
export const settingTable = {
  BATON_HOME: optional(
    'The folder of all data; when unset `.baton` in the checkout, or in the current folder where npm installed Baton.',
  ),
  PORT: integer({ default: 8080, max: 65535, doc: 'The one port of the default run; 0 chooses a free one.' }),
  HOST: text({
    default: '127.0.0.1',
    doc: 'The address to listen on; the default serves this machine only.',
  }),
  BATON_ALLOWED_HOSTS: list({
    default: [],
    doc: 'Further host names under which clients reach this Baton; without them only `localhost`, addresses, HOST and the host of IAM_PUBLIC_URL are answered.',
  }),
  BATON_MANAGEMENT_NETWORKS: networks({
    doc: 'Networks of other machines that may use `/metrics` and present secrets of administrators (IAM_BOOTSTRAP_TOKEN, IAM_BOOTSTRAP_TOKENS_FILE, CP_BOOTSTRAP_TOKEN), for instance `["10.0.0.0/8"]`; all others get 403. This machine always may. Behind a proxy the address is that of CP_TRUSTED_PROXIES; without that setting, requests that a proxy forwards count as those of another machine. With CP_METRICS_TOKEN, `/metrics` needs only that token.',
  }),
  CP_METRICS_TOKEN: secret('The bearer token that `/metrics` needs.'),
  CP_CORS_ORIGINS: list({
    default: [],
    doc: 'Origins of other web pages that may call; in the default run the port refuses all others.',
  }),
  BATON_CONSOLE_PROVIDERS: list({
    default: [],
    doc: "Keys of the identity providers through which people may sign in to the console. There, the provider's audience is the client id, and `/console/callback` below the public address the redirect URI.",
  }),
  BATON_CONSOLE_SECRETS_FILE: optional(
    "A file with the console's client secrets, one provider per line: `key address secret`, for example `corporate https://login.example.com the-secret`. The secret is sent only to that scheme, host and port. A line `key:secret` uses the token endpoint that is found first after each start. To a provider without a line the console is a public client.",
  ),
  IAM_OUTBOUND_ALLOWED_HOSTS: list({
    default: [],
    doc: 'Hosts of providers that may be private, or be called over http; for the console, too.',
  }),
  CP_TRUSTED_PROXIES: networks({
    doc: 'Networks of the proxies in front of this Baton, for instance `["10.0.0.0/8"]`. Limits per address then apply to the last address in `X-Forwarded-For` that is not one of these; also at the console and `/mcp`.',
  }),
  IAM_DATABASE_URL: secret("Identity's PostgreSQL, instead of the built-in one."),
  CP_DATABASE_URL: secret("Coordination's PostgreSQL, instead of the built-in one."),
  IAM_PUBLIC_URL: optional(
    'The address at which clients reach this Baton, when a reverse proxy stands in front of it.',
  ),
  IAM_ISSUER: optional('The `iss` of tokens, instead of the one that the first start chose.'),
  IAM_BOOTSTRAP_TOKEN: secret("Identity's admin secret, instead of the one that the first start generated."),
  CP_BOOTSTRAP_TOKEN: secret(
    "Coordination's bootstrap secret, instead of the one that the first start generated.",
  ),
  IAM_AUDIT_KEY_FILE: optional('The key that seals the audit record, instead of the generated one.'),
  IAM_AUDIT_HEAD_FILE: optional('The last seal of the audit record, when it is kept elsewhere.'),
  IAM_SCIM_AUDIENCE: text({ default: 'iam-scim', doc: 'The audience that is registered for provisioning.' }),
  IAM_SCIM_SCOPE: text({ default: 'scim:write', doc: 'Its scope.' }),
};

/** What the port of the default run takes. */
export function doorOf(
  settings: Pick<PlatformSettings, 'HOST' | 'BATON_ALLOWED_HOSTS' | 'IAM_PUBLIC_URL'> &
    Partial<Pick<PlatformSettings, 'CP_CORS_ORIGINS'>>,
): Door {
  const { HOST, BATON_ALLOWED_HOSTS, IAM_PUBLIC_URL, CP_CORS_ORIGINS } = settings;
  const own = URL.canParse(IAM_PUBLIC_URL) ? new URL(IAM_PUBLIC_URL) : undefined;
  const hosts = [HOST, ...(own ? [own.hostname] : []), ...BATON_ALLOWED_HOSTS];
  return {
    hosts: hosts.map((name) => name.toLowerCase()),
    ownOrigins: own ? [own.host] : [],
    origins: CP_CORS_ORIGINS ?? [],
    ...(CP_CORS_ORIGINS !== undefined && { originsSetting: 'CP_CORS_ORIGINS' }),
  };
}

/** Who may use what is for those who run Baton. */
export function managementDoorOf(
  settings: Pick<PlatformSettings, 'BATON_MANAGEMENT_NETWORKS' | 'CP_TRUSTED_PROXIES' | 'CP_METRICS_TOKEN'>,
): ManagementDoor {
  return {
    allowed: settings.BATON_MANAGEMENT_NETWORKS,
    proxies: settings.CP_TRUSTED_PROXIES,
    proxiesSetting: 'CP_TRUSTED_PROXIES',
    hasMetricsToken: settings.CP_METRICS_TOKEN !== '',
  };
}

export type PlatformSettings = SettingValues<typeof settingTable>;

/** @throws SettingError with one sentence for a value that can't be used */
export function readPlatformSettings(env: Environment): PlatformSettings {
  const settings = readSettings(settingTable, env);
  return {
    ...settings,
    BATON_HOME: resolve(settings.BATON_HOME || join(isCheckout ? projectRoot : '.', '.baton')),
  };
}
