import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import type { Environment, PlatformSettings } from '../config.ts';
import { connectionFile } from '../connection.ts';
import { readPrivateFile } from '../private-files.ts';
import { StartError } from '../start-error.ts';

/**
 * Files that must exist before the folder can be copied. The last of these is written when the first start has
 * finished.
 */
const ownFiles = ['version.json', 'state.json', connectionFile] as const;

const fileBytesMax = 1024 * 1024;
const filesMax = 100;

/** The last seal of the audit log, whose file may be outside of Baton's folder. */
export const auditHead = 'audit-head';

/** The path of the audit log's last seal, as identity's settings define it. */
export function auditHeadFile(settings: PlatformSettings): string {
  const { BATON_HOME: home, IAM_AUDIT_KEY_FILE: key, IAM_AUDIT_HEAD_FILE: head } = settings;
  return head || `${key || join(home, 'secrets', 'audit-key')}.head`;
}

/**
 * The small files of Baton's folder, by their names in a backup. Read before the databases are copied, so that the copy
 * contains the last seal.
 * @throws StartError if the folder's first start has not finished
 */
export function readContents(settings: PlatformSettings): Map<string, Buffer> {
  const home = settings.BATON_HOME;
  const contents = new Map<string, Buffer>();
  for (const name of ownFiles) {
    const text = readPrivateFile(join(home, name));
    if (text === undefined)
      throw new StartError(
        `There is no Baton in ${home} to back up, because its first start has not finished.`,
      );
    contents.set(name, Buffer.from(text));
  }
  for (const name of secretsIn(join(home, 'secrets')))
    contents.set(`secrets/${name}`, readFileSync(join(home, 'secrets', name)));
  const head = readPrivateFile(auditHeadFile(settings));
  if (head !== undefined) contents.set(auditHead, Buffer.from(head));
  return contents;
}

function secretsIn(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => statSync(join(folder, name)).isFile());
  const isLarge = names.some((name) => statSync(join(folder, name)).size > fileBytesMax);
  if (isLarge || names.length > filesMax)
    throw new StartError(
      `${folder} must contain only keys and secrets: at most ${filesMax} files of up to 1 MiB. Move the other files elsewhere.`,
    );
  return names;
}

/** Settings whose files are outside of Baton's folder, and therefore not in a backup. */
export function settingsOutside(env: Environment, home: string): string[] {
  const isOutside = (path: string) => {
    const way = relative(home, resolve(path));
    return existsSync(path) && (way.startsWith('..') || isAbsolute(way));
  };
  return Object.entries(upperCaseNames(env))
    .filter(([name, path]) => /^(IAM|CP)_\w+_FILE$/.test(name) && name !== 'IAM_AUDIT_HEAD_FILE' && path)
    .filter(([, path]) => isOutside(path as string))
    .map(([name]) => name)
    .sort();
}

/** Setting names are case-insensitive. */
export function upperCaseNames(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name.toUpperCase(), value]));
}
