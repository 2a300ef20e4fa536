import { integer, type SettingValues, text } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../service/settings.ts';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  IAM_AUDIT_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'A file with 32 characters or more of random text, the key that seals the audit record; keep it away from the database. Without it nothing shows that the record was changed.',
  }),
  IAM_AUDIT_HEAD_FILE: text<string | undefined>({
    default: undefined,
    doc: 'A file that identity can write, outside of the database, for the last seal that it made: nothing is sealed when the database lacks that seal. By default the file of IAM_AUDIT_KEY_FILE with .head added.',
  }),
  IAM_AUDIT_RETENTION_DAYS: integer({
    default: 0,
    max: 36_500,
    unit: 'days',
    doc: 'How long audit records are kept; 0 keeps them for ever. With a key only sealed ones are removed, and their seals stay.',
  }),
  IAM_JOURNAL_RETENTION_DAYS: integer({
    default: 0,
    max: 36_500,
    unit: 'days',
    doc: 'How long events stay in the journal; 0 keeps them for ever. Readers that start below the last removed event are answered 410.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
