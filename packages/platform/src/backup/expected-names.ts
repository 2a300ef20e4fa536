import { configurationFiles } from '../postgres/configuration.ts';

/** What a restore does with a backup's entry. */
export type Use = 'unpack' | 'leave out' | 'refuse';

const relation = String.raw`\d+(_(fsm|vm|init))?(\.\d+)?`;
const segment = '[0-9A-F]{4,16}';
const log = '[0-9A-F]{24}';
const logFile = String.raw`${log}(\.partial|\.[0-9A-F]{8}\.backup)?|[0-9A-F]{8}\.history`;

/**
 * Everything that PostgreSQL 18 writes into a base backup. Other files can control the server: `recovery.signal` and
 * `standby.signal` make it run `restore_command`, and `tablespace_map` makes it follow links.
 */
const folders: Readonly<Record<string, string>> = {
  'pg_(commit_ts|dynshmem|notify|replslot|serial|snapshots|stat_tmp|subtrans|tblspc)': '',
  base: '',
  [String.raw`base/\d+`]: String.raw`${relation}|PG_VERSION|pg_filenode\.map`,
  global: String.raw`${relation}|pg_control|pg_filenode\.map`,
  pg_logical: 'replorigin_checkpoint',
  'pg_logical/mappings': String.raw`map-[0-9a-f-]+-[0-9A-F_a-f-]+`,
  'pg_logical/snapshots': String.raw`[0-9A-F]+-[0-9A-F]+\.snap`,
  pg_multixact: '',
  'pg_multixact/(members|offsets)': segment,
  pg_stat: String.raw`pgstat\.stat`,
  pg_twophase: '[0-9A-F]{8,16}',
  pg_wal: logFile,
  'pg_wal/archive_status': String.raw`(${logFile})\.(done|ready)`,
  'pg_wal/summaries': String.raw`[0-9A-F]{40}\.summary`,
  pg_xact: segment,
  // Baton's own: see contents.ts and artifact-bytes.ts.
  baton: String.raw`backup\.json|sha256|version\.json|state\.json|connection\.json|audit-head`,
  'baton/secrets': '[^/]+',
  'baton/contents(/[^/]+){0,8}': '[^/.]+',
};

const expectedFiles = pattern([
  'PG_VERSION|backup_label',
  ...Object.entries(folders).flatMap(([folder, files]) => (files === '' ? [] : [`(${folder})/(${files})`])),
]);
const expectedFolders = pattern(Object.keys(folders));

/**
 * Files that are not restored: Baton replaces them with its own, or an earlier restore or a crash left them, or they
 * were incomplete at the time of the copy.
 */
const leftOut = pattern([
  ...configurationFiles.map((name) => name.replaceAll('.', String.raw`\.`)),
  String.raw`backup_label\.old|core(\.\d+)?`,
  String.raw`(global|base/\d+)/pg_filenode\.map\.tmp|pg_logical/replorigin_checkpoint\.tmp|pg_stat/pgstat\.tmp`,
  String.raw`pg_logical/snapshots/[0-9A-F]+-[0-9A-F]+\.snap\.\d+\.tmp`,
]);

/**
 * Determines from its name what a restore does with a backup's entry.
 * @param name the name relative to the archive's root, with or without a leading `./` and a trailing `/`
 */
export function useOf(name: string, type: 'File' | 'Directory'): Use {
  const path = name.replace(/^\.\//, '').replace(/\/$/, '');
  if (type === 'Directory') return expectedFolders.test(path) ? 'unpack' : 'refuse';
  if (leftOut.test(path)) return 'leave out';
  return expectedFiles.test(path) ? 'unpack' : 'refuse';
}

function pattern(alternatives: readonly string[]): RegExp {
  return new RegExp(`^(?:${alternatives.join('|')})$`);
}
