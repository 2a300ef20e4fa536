import { integer, type SettingValues, text } from '@baton/kernel/process/config';
import { type Settings as LowerSettings, settings as lowerSettings } from '../sign-in/settings.ts';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  IAM_UPSTREAM_CREDENTIALS_FILE: text<string | undefined>({
    default: undefined,
    doc: 'A file with what opens the directories of sources with an upstreamMode, a line for each: `<source id> <upstreamBaseUrl> <client id>:<client secret>` (client_credentials), or `<source id> <upstreamBaseUrl> Bearer <token>`. It is sent to that address only; a source without a line is answered 502. SIGHUP reads it again.',
  }),
  IAM_SCIM_AUDIENCE: text({ default: 'iam-scim', doc: 'The audience of access tokens that SCIM accepts.' }),
  IAM_SCIM_SCOPE: text({ default: 'scim:write', doc: 'The scope that such a token must carry.' }),
  IAM_SCIM_MAX_PAGE_SIZE: integer({
    default: 200,
    min: 1,
    max: 10_000,
    unit: 'resources',
    doc: 'Resources in one page of a SCIM list at most.',
  }),
  ...lowerSettings,
};

export type Settings = LowerSettings & SettingValues<typeof settings>;
