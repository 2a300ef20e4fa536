import { docsBaseUrl } from '@baton/kernel/http/error-docs';
import { networks } from '@baton/kernel/listener/client-address';
import { choice, integer, readSettings, type SettingValues, text } from '@baton/kernel/process/config';
import { type Settings as LowerSettings, settings as lowerSettings } from '../provisioning/settings.ts';
import { deriveSettings } from '../sign-in/settings.ts';

/** Every setting of identity (see docs/configuration.md#identity): those of this layer, and of those below it. */
export const settings = {
  IAM_BOOTSTRAP_TOKEN: text({
    default: '',
    secret: true,
    doc: 'The admin secret; empty closes every admin endpoint.',
  }),
  IAM_BOOTSTRAP_TOKENS_FILE: text<string | undefined>({
    default: undefined,
    doc: 'A file with further admin secrets, one `name:secret` per line; the audit log identifies their holders as `bootstrap:<name>`. They are accepted only if IAM_BOOTSTRAP_TOKEN is set. SIGHUP reloads the file.',
  }),
  IAM_DELEGATION_CREDENTIAL_FILE: text<string | undefined>({
    default: undefined,
    doc: 'A file with the credential that coordination presents for administration tokens (CP_IDENTITY_ADMIN_CREDENTIAL_FILE): one or, while it is rotated, several, one per line, each as itself or as `sha256:<hash>`. Without it people cannot administer identity with their own sign-in. SIGHUP reloads the file. The default run creates one in BATON_HOME.',
  }),
  IAM_HOST: text({ default: '127.0.0.1', doc: 'The address that `baton identity serve` listens on.' }),
  IAM_PORT: integer({ default: 8010, min: 0, max: 65_535, doc: 'The port of `baton identity serve`.' }),
  IAM_METRICS_PORT: integer({
    default: 0,
    min: 0,
    max: 65_535,
    doc: 'The port that serves `/metrics`, on the same address; 0 disables it.',
  }),
  IAM_TRUSTED_PROXIES: networks({
    doc: 'Networks of the reverse proxies, for instance `["10.0.0.0/8"]`: the address of a client, for limits and the log, is then the last one in `X-Forwarded-For` outside of these networks. Without it the header is ignored. Don\'t include networks from which clients connect directly.',
  }),
  IAM_DOCS_BASE_URL: docsBaseUrl(),
  IAM_LOG_LEVEL: choice(['debug', 'info', 'warn', 'error'], {
    default: 'info',
    doc: 'The least severe line that is logged.',
  }),
  ...lowerSettings,
};

export type Settings = LowerSettings & SettingValues<typeof settings>;

/**
 * Reads the settings of identity.
 * @throws SettingError with one sentence for a value that can't be used
 */
export function readIdentitySettings(env: Readonly<Record<string, string | undefined>>): Settings {
  return deriveSettings(readSettings(settings, env));
}
