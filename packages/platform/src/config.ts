import { dirname, join, resolve } from 'node:path';
import { networks } from '@baton/kernel/listener/client-address';
import { integer, list, readSettings, type SettingValues, text } from '@baton/kernel/process/config';
import type { ManagementPolicy } from './management-policy.ts';
import type { OriginPolicy } from './origin-policy.ts';

/** The root of the checkout, or of the installed package, which has the same folders. */
export const projectRoot = dirname(dirname(dirname(import.meta.dirname)));

/**
 * A checkout runs as TypeScript. An npm package is JavaScript, and npm empties its folder, so no data is stored
 * there.
 */
const isCheckout = import.meta.filename.endsWith('.ts');

export type Environment = Readonly<Record<string, string | undefined>>;

const optional = (doc: string) => text({ default: '', doc });
const secret = (doc: string) => text({ default: '', doc, secret: true });

/** Settings that the default run itself reads. All other `IAM_*` and `CP_*` settings are passed to the services. */
export const settingTable = {
  BATON_HOME: optional(
    'The data folder. Defaults to `.baton` in the checkout, or in the current folder if Baton was installed with npm.',
  ),
  PORT: integer({ default: 8080, max: 65535, doc: 'The port of the default run; 0 chooses a free one.' }),
  HOST: text({
    default: '127.0.0.1',
    doc: 'The address to listen on; the default serves this machine only.',
  }),
  BATON_ALLOWED_HOSTS: list({
    default: [],
    doc: 'Additional host names that clients may use. `localhost`, IP addresses, HOST and the host of IAM_PUBLIC_URL are always allowed.',
  }),
  BATON_MANAGEMENT_NETWORKS: networks({
    doc: 'Networks of other machines that may use `/metrics` and administrator secrets (IAM_BOOTSTRAP_TOKEN, IAM_BOOTSTRAP_TOKENS_FILE, CP_BOOTSTRAP_TOKEN), for example `["10.0.0.0/8"]`. Other addresses get 403; this machine is always allowed. Behind a proxy, CP_TRUSTED_PROXIES determines the client address; without it, forwarded requests count as those of another machine. With CP_METRICS_TOKEN, `/metrics` requires only that token.',
  }),
  CP_METRICS_TOKEN: secret('The bearer token that `/metrics` requires.'),
  CP_CORS_ORIGINS: list({
    default: [],
    doc: 'Origins of other web pages that may call the API. The default run rejects all others.',
  }),
  BATON_CONSOLE_PROVIDERS: list({
    default: [],
    doc: "Keys of the identity providers for sign-in to the console, in addition to those that are `offered` at identity. The console's client ID is the provider's audience; its redirect URI is `/console/callback` below the public URL.",
  }),
  BATON_CONSOLE_SECRETS_FILE: optional(
    "A file with the console's client secrets, one provider per line: `key address secret`, for example `corporate https://login.example.com the-secret`. The secret is sent only to that scheme, host and port. A line `key:secret` uses the first token endpoint that is discovered after each start. For a provider without a line, the console is a public client.",
  ),
  IAM_OUTBOUND_ALLOWED_HOSTS: list({
    default: [],
    doc: 'Hosts of identity providers that may have private addresses or use http; also applies to the console.',
  }),
  CP_TRUSTED_PROXIES: networks({
    doc: 'Networks of the proxies in front of this Baton, for example `["10.0.0.0/8"]`. Limits per address then apply to the last address in `X-Forwarded-For` that is not in these networks; also for the console and `/mcp`.',
  }),
  IAM_DATABASE_URL: secret("Identity's PostgreSQL, instead of the built-in one."),
  CP_DATABASE_URL: secret("Coordination's PostgreSQL, instead of the built-in one."),
  IAM_PUBLIC_URL: optional('The public URL of this Baton behind a reverse proxy.'),
  IAM_ISSUER: optional('The `iss` of tokens. Defaults to the one that the first start chose.'),
  IAM_BOOTSTRAP_TOKEN: secret("Identity's admin secret. Defaults to the one that the first start generated."),
  CP_BOOTSTRAP_TOKEN: secret(
    "Coordination's bootstrap secret. Defaults to the one that the first start generated.",
  ),
  IAM_AUDIT_KEY_FILE: optional('The key that seals the audit log. Defaults to the generated one.'),
  IAM_AUDIT_HEAD_FILE: optional(
    'The file of the last audit seal, if it is stored outside of the data folder.',
  ),
  IAM_SCIM_AUDIENCE: text({
    default: 'iam-scim',
    doc: 'The audience that is registered for SCIM provisioning.',
  }),
  IAM_SCIM_SCOPE: text({ default: 'scim:write', doc: 'The scope of IAM_SCIM_AUDIENCE.' }),
};

/** The hosts and origins that the port of the default run accepts. */
export function readOriginPolicy(
  settings: Pick<PlatformSettings, 'HOST' | 'BATON_ALLOWED_HOSTS' | 'IAM_PUBLIC_URL'> &
    Partial<Pick<PlatformSettings, 'CP_CORS_ORIGINS'>>,
): OriginPolicy {
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

/** The addresses that may use operator endpoints. */
export function readManagementPolicy(
  settings: Pick<PlatformSettings, 'BATON_MANAGEMENT_NETWORKS' | 'CP_TRUSTED_PROXIES' | 'CP_METRICS_TOKEN'>,
): ManagementPolicy {
  return {
    allowed: settings.BATON_MANAGEMENT_NETWORKS,
    proxies: settings.CP_TRUSTED_PROXIES,
    proxiesSetting: 'CP_TRUSTED_PROXIES',
    hasMetricsToken: settings.CP_METRICS_TOKEN !== '',
  };
}

export type PlatformSettings = SettingValues<typeof settingTable>;

/** @throws SettingError for an invalid value */
export function readPlatformSettings(env: Environment): PlatformSettings {
  const settings = readSettings(settingTable, env);
  return {
    ...settings,
    BATON_HOME: resolve(settings.BATON_HOME || join(isCheckout ? projectRoot : '.', '.baton')),
  };
}
