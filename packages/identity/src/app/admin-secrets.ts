import { readFile } from 'node:fs/promises';
import { adminSecretCharactersMin } from '@baton/kernel/process/admin-secret';
import { SettingError } from '@baton/kernel/process/config';
import type { Settings } from './settings.ts';

/** An admin secret in addition to the shared one; the audit log identifies its holder as `bootstrap:<name>`. */
export interface NamedSecret {
  readonly name: string;
  readonly secret: string;
}

const setting = 'IAM_BOOTSTRAP_TOKENS_FILE';
const lineForm = /^([A-Za-z0-9._-]{1,100}):(.+)$/;

/**
 * Reads the file of named admin secrets (see docs/reference/directory.md#admin-secret): lines of `name:secret`; empty
 * lines and those that start with `#` are skipped. Without the setting, the list is empty. @throws SettingError with
 * the line number, never its content
 */
export async function readAdminSecrets(
  settings: Pick<Settings, typeof setting | 'IAM_BOOTSTRAP_TOKEN'>,
): Promise<NamedSecret[]> {
  const file = settings[setting];
  if (file === undefined) return [];
  const lines = (await readText(file)).split('\n').map((line) => line.trim());
  const found: NamedSecret[] = [];
  for (const [index, line] of lines.entries()) {
    if (line === '' || line.startsWith('#')) continue;
    const refuse = (why: string) => new SettingError(setting, `has a line ${index + 1} that ${why}.`);
    const [, name = '', rest = ''] = lineForm.exec(line) ?? [];
    const secret = rest.trim();
    if (name === '') throw refuse('is not `name:secret`; a name has letters, digits, `.`, `_` and `-`');
    if (secret.length < adminSecretCharactersMin)
      throw refuse(`has a secret of less than ${adminSecretCharactersMin} characters`);
    if (found.some((other) => other.name === name)) throw refuse('repeats a name');
    if (secret === settings.IAM_BOOTSTRAP_TOKEN || found.some((other) => other.secret === secret))
      throw refuse('repeats a secret');
    found.push({ name, secret });
  }
  return found;
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw Object.assign(new SettingError(setting, 'refers to a file that cannot be read.'), { cause });
  }
}
