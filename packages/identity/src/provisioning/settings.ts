import { integer, type SettingValues, text } from '@baton/kernel/process/config';
import { type Settings as LowerSettings, settings as lowerSettings } from '../sign-in/settings.ts';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  IAM_UPSTREAM_CREDENTIALS_FILE: text<string | undefined>({
    default: undefined,
    doc: 'A file with the credentials for the directories of sources with an upstreamMode, one line per source: `<source id> <upstreamBaseUrl> <client id>:<client secret>` (client_credentials), or `<source id> <upstreamBaseUrl> Bearer <token>`. They are sent to that address only; writes of a source without a line return 502. SIGHUP reloads the file.',
  }),
  IAM_SCIM_AUDIENCE: text({ default: 'iam-scim', doc: 'The audience of access tokens that SCIM accepts.' }),
  IAM_SCIM_SCOPE: text({ default: 'scim:write', doc: 'The scope that such a token must have.' }),
  IAM_SCIM_MAX_PAGE_SIZE: integer({
    default: 200,
    min: 1,
    max: 10_000,
    unit: 'resources',
    doc: 'The maximum number of resources in one page of a SCIM list.',
  }),
  ...lowerSettings,
};

export type Settings = LowerSettings & SettingValues<typeof settings>;
