import { join, resolve } from 'node:path';
import { networks } from '@baton/kernel/listener/client-address';
import { integer, list, readSettings, type SettingValues, text } from '@baton/kernel/process/config';
import { type Environment, settingTable } from '../config.ts';

const optional = (doc: string) => text({ default: '', doc });

/** Settings of `baton console serve`. */
export const consoleServiceSettings = {
  BATON_COORDINATION_URL: text({
    default: 'http://127.0.0.1:8080',
    doc: 'The URL of coordination; printed by `baton env`.',
  }),
  BATON_IDENTITY_URL: optional(
    'The URL of identity. Defaults to `/iam` below BATON_COORDINATION_URL, as in the default run.',
  ),
  PORT: integer({ default: 8090, max: 65535, doc: 'The port to listen on; 0 chooses a free one.' }),
  HOST: settingTable.HOST,
  BATON_CONSOLE_PUBLIC_URL: optional('The public URL of the console behind a reverse proxy.'),
  BATON_ALLOWED_HOSTS: list({
    default: [],
    doc: 'Additional host names that browsers may use. `localhost`, IP addresses, HOST and the host of BATON_CONSOLE_PUBLIC_URL are always allowed.',
  }),
  BATON_CONSOLE_TRUSTED_PROXIES: networks({
    doc: 'Networks of the proxies in front of the console, for example `["10.0.0.0/8"]`. The address of a browser is then the last one in `X-Forwarded-For` that is not in these networks. For the services to accept it, IAM_TRUSTED_PROXIES and CP_TRUSTED_PROXIES must include the address of the console.',
  }),
  BATON_MANAGEMENT_NETWORKS: networks({
    doc: 'Networks of other machines whose requests with an administrator secret the console forwards to identity, for example `["10.0.0.0/8"]`. Other addresses get 403; this machine is always allowed. Behind a proxy, BATON_CONSOLE_TRUSTED_PROXIES determines the client address.',
  }),
  BATON_HOME: optional(
    'The folder whose subfolder `console` stores the built pages if the checkout is not writable. Defaults to `.baton` in the current folder.',
  ),
  BATON_CONSOLE_PROVIDERS: settingTable.BATON_CONSOLE_PROVIDERS,
  BATON_CONSOLE_SECRETS_FILE: settingTable.BATON_CONSOLE_SECRETS_FILE,
  BATON_CONSOLE_TENANT_ID: optional('The tenant of the identity providers.'),
  IAM_BOOTSTRAP_TOKEN: text({
    default: '',
    doc: 'An admin secret of identity, with which the console reads the identity providers; required with BATON_CONSOLE_PROVIDERS. With BATON_CONSOLE_TENANT_ID it also offers the providers that are `offered` in identity.',
    secret: true,
  }),
  IAM_OUTBOUND_ALLOWED_HOSTS: settingTable.IAM_OUTBOUND_ALLOWED_HOSTS,
};

export type ConsoleServiceSettings = SettingValues<typeof consoleServiceSettings> & {
  /** The folder for the built pages. */
  readonly cache: string;
};

/** @throws SettingError for an invalid value */
export function readConsoleServiceSettings(env: Environment): ConsoleServiceSettings {
  const settings = readSettings(consoleServiceSettings, env);
  const coordination = withoutSlash(settings.BATON_COORDINATION_URL);
  return {
    ...settings,
    BATON_COORDINATION_URL: coordination,
    BATON_IDENTITY_URL: withoutSlash(settings.BATON_IDENTITY_URL) || `${coordination}/iam`,
    cache: resolve(join(settings.BATON_HOME || '.baton', 'console')),
  };
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
