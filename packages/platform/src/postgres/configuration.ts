import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The server's configuration files, with the values of initdb. Settings such as `restore_command` and
 * `archive_command` run programs, so a restore never uses the files of the backup.
 */
const files: Readonly<Record<string, string>> = {
  'postgresql.conf': `# Written by "baton restore". Baton starts PostgreSQL with arguments, which take precedence over this file.
datestyle = 'iso, mdy'
timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'
lc_monetary = 'C'
lc_numeric = 'C'
lc_time = 'C'
default_text_search_config = 'pg_catalog.english'
`,
  'postgresql.auto.conf': '',
  // The server has no network address, and only its owner can enter its socket folder.
  'pg_hba.conf': 'local all all trust\nlocal replication all trust\n',
  'pg_ident.conf': '',
};

/** The names of all configuration files in a data directory. */
export const configurationFiles: readonly string[] = Object.keys(files);

/** Writes Baton's own configuration into a data directory. @param data a directory without configuration files */
export function writeConfiguration(data: string): void {
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(data, name), text, { mode: 0o600, flag: 'wx' });
}
