import { integer, list, type SettingValues, text } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../memory/settings.ts';

/** The settings that this layer and the layers below it read. */
export const settings = {
  CP_OUTBOUND_ALLOWED_HOSTS: list({
    default: [],
    doc:
      'Hosts (`host` or `host:port`) of connection types that may be private and reached over http. All others ' +
      'must be public and are reached over https. The default run allows only its own port.',
  }),
  CP_OAUTH_REDIRECT_URI: text({
    default: '',
    doc:
      'The address of `/api/v1/connections:callback` as browsers reach it, to which providers redirect people; ' +
      'https unless it is on this machine. Without it no connection can be authorized by OAuth.',
  }),
  CP_CONNECTIONS_RETURN_URL: text({
    default: '',
    doc:
      'The page to which the callback redirects people, with `connection`, `result` and `reason`; without it the ' +
      'callback returns a line of text.',
  }),
  CP_OAUTH_STATE_TTL_SECONDS: integer({
    default: 600,
    min: 60,
    max: 3600,
    unit: 'seconds',
    doc: 'Timeout for a person to complete the authorization at the provider.',
  }),
  CP_OAUTH_TIMEOUT_SECONDS: integer({
    default: 10,
    min: 1,
    max: 60,
    unit: 'seconds',
    doc: 'Timeout for requesting a token from a provider.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
