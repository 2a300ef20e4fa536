import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import type { Environment, PlatformSettings } from '../config.ts';
import { connectionFile } from '../connection.ts';
import { readPrivateFile } from '../private-files.ts';
import { StartError } from '../start-error.ts';

/** What the folder must have before it can be copied; the last one is written when the first start is finished. */
const ownFiles = ['version.json', 'state.json', connectionFile] as const;

const fileBytesMax = 1024 * 1024;
const filesMax = 100;

/** The last seal of the audit record, whose file may lie outside of Baton's folder. */
export const auditHead = 'audit-head';

/** Where identity keeps the last seal of the audit record (its settings say it in the same way). */
export function auditHeadFile(settings: PlatformSettings): string {
  const { BATON_HOME: home, IAM_AUDIT_KEY_FILE: key, IAM_AUDIT_HEAD_FILE: head } = settings;
  return head || `${key || join(home, 'secrets', 'audit-key')}.head`;
}

/**
 * The small files of Baton's folder, by their names in a backup. Read before the databases are copied: so the last seal
 * is in the copy, too.
 * @throws StartError for a folder that no finished first start has filled
 */
export function readContents(settings: PlatformSettings): Map<string, Buffer> {
  const home = settings.BATON_HOME;
  const contents = new Map<string, Buffer>();
  for (const name of ownFiles) {
    const text = readPrivateFile(join(home, name));
    if (text === undefined)
      throw new StartError(`There is no Baton in ${home} to back up: its first start has not been finished.`);
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
      `${folder} holds more than keys and secrets: move files above 1 MiB, and all beyond ${filesMax}, elsewhere.`,
    );
  return names;
}

/** Settings that name files outside of Baton's folder: a backup has none of them. */
export function settingsOutside(env: Environment, home: string): string[] {
  const isOutside = (path: string) => {
    const way = relative(home, resolve(path));
    return existsSync(path) && (way.startsWith('..') || isAbsolute(way));
  };
  return Object.entries(inCapitals(env))
    .filter(([name, path]) => /^(IAM|CP)_\w+_FILE$/.test(name) && name !== 'IAM_AUDIT_HEAD_FILE' && path)
    .filter(([, path]) => isOutside(path as string))
    .map(([name]) => name)
    .sort();
}

/** The names of settings are case-insensitive. */
export function inCapitals(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name.toUpperCase(), value]));
}
