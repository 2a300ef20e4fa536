import { integer, type SettingValues, text } from '@baton/kernel/process/config';
import { settings as lowerSettings } from '../service/settings.ts';

/** The settings that this layer reads, and those of the layers below it. */
export const settings = {
  IAM_AUDIT_KEY_FILE: text<string | undefined>({
    default: undefined,
    doc: 'A file with 32 characters or more of random text, the key that seals the audit log; keep it away from the database. Without it, changes to the audit log cannot be detected.',
  }),
  IAM_AUDIT_HEAD_FILE: text<string | undefined>({
    default: undefined,
    doc: 'A writable file outside of the database for the last seal: sealing stops if the database lacks that seal. Defaults to the path of IAM_AUDIT_KEY_FILE with .head appended.',
  }),
  IAM_AUDIT_RETENTION_DAYS: integer({
    default: 0,
    max: 36_500,
    unit: 'days',
    doc: 'The retention period of audit records; 0 keeps them forever. With a key, only sealed ones are removed, and their seals remain.',
  }),
  IAM_JOURNAL_RETENTION_DAYS: integer({
    default: 0,
    max: 36_500,
    unit: 'days',
    doc: 'The retention period of events in the journal; 0 keeps them forever. Readers that start below the last removed event get 410.',
  }),
  ...lowerSettings,
};

export type Settings = SettingValues<typeof settings>;
