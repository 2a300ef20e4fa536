import { join, resolve } from 'node:path';
import { networks } from '@baton/kernel/listener/client-address';
import { integer, list, readSettings, type SettingValues, text } from '@baton/kernel/process/config';
import { type Environment, settingTable } from '../config.ts';

const optional = (doc: string) => text({ default: '', doc });

/** Settings of `baton console serve`. */
export const consoleServiceSettings = {
  BATON_COORDINATION_URL: text({
    default: 'http://127.0.0.1:8080',
    doc: 'Where coordination answers; `baton env` prints it.',
  }),
  BATON_IDENTITY_URL: optional(
    'Where identity answers; when unset at `/iam` below BATON_COORDINATION_URL, as in the default run.',
  ),
  PORT: integer({ default: 8090, max: 65535, doc: 'The port to listen on; 0 chooses a free one.' }),
  HOST: settingTable.HOST,
  BATON_CONSOLE_PUBLIC_URL: optional(
    'The address at which browsers reach the console, where a reverse proxy stands in front of it.',
  ),
  BATON_ALLOWED_HOSTS: list({
    default: [],
    doc: 'Further host names under which browsers reach the console; without them only `localhost`, addresses, HOST and the host of BATON_CONSOLE_PUBLIC_URL are answered.',
  }),
  BATON_CONSOLE_TRUSTED_PROXIES: networks({
    doc: 'Networks of the proxies in front of the console, for instance `["10.0.0.0/8"]`: the address of a browser is then the last one in `X-Forwarded-For` that is none of theirs. The services take it from the console where IAM_TRUSTED_PROXIES and CP_TRUSTED_PROXIES hold its address.',
  }),
  BATON_MANAGEMENT_NETWORKS: networks({
    doc: 'Networks of other machines whose requests with a secret of an administrator the console passes on to identity, for instance `["10.0.0.0/8"]`; all others get 403. This machine always may. Behind a proxy the address is that of BATON_CONSOLE_TRUSTED_PROXIES.',
  }),
  BATON_HOME: optional(
    'The folder whose `console` keeps the built page where the checkout can not be written to; `.baton` in the current folder when unset.',
  ),
  BATON_CONSOLE_PROVIDERS: settingTable.BATON_CONSOLE_PROVIDERS,
  BATON_CONSOLE_SECRETS_FILE: settingTable.BATON_CONSOLE_SECRETS_FILE,
  BATON_CONSOLE_TENANT_ID: optional('The tenant of these providers, at identity.'),
  IAM_BOOTSTRAP_TOKEN: text({
    default: '',
    doc: 'An admin secret of identity, by which the console reads these providers; needed with BATON_CONSOLE_PROVIDERS alone.',
    secret: true,
  }),
  IAM_OUTBOUND_ALLOWED_HOSTS: settingTable.IAM_OUTBOUND_ALLOWED_HOSTS,
};

export type ConsoleServiceSettings = SettingValues<typeof consoleServiceSettings> & {
  /** Folder for a build of the page. */
  readonly cache: string;
};

/** @throws SettingError with one sentence for a value that can't be used */
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
