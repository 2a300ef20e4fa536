import { integer, list, type SettingValues, text } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../memory/settings.ts';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  CP_OUTBOUND_ALLOWED_HOSTS: list({
    default: [],
    doc: 'Hosts (`host` or `host:port`) that may be private and be asked over http, where a connection type names them; all others are asked over https on public addresses only. The default run names its own port alone.',
  }),
  CP_OAUTH_REDIRECT_URI: text({
    default: '',
    doc: 'Where providers send people back after they agreed: the address of `/api/v1/connections:callback` as browsers reach it, https unless it is this machine. Without it nobody can connect by OAuth.',
  }),
  CP_CONNECTIONS_RETURN_URL: text({
    default: '',
    doc: 'The page to which the callback sends people on, with `connection`, `result` and `reason`; without it they read a line of text.',
  }),
  CP_OAUTH_STATE_TTL_SECONDS: integer({
    default: 600,
    min: 60,
    max: 3600,
    unit: 'seconds',
    doc: 'How long a person may take at the provider.',
  }),
  CP_OAUTH_TIMEOUT_SECONDS: integer({
    default: 10,
    min: 1,
    max: 60,
    unit: 'seconds',
    doc: 'The longest wait for a provider to give a token.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
