import { readFile } from 'node:fs/promises';
import { SettingError } from '@baton/kernel/process/config';
import { secretHash } from '../service/secrets.ts';
import type { Settings } from './settings.ts';

const setting = 'IAM_DELEGATION_CREDENTIAL_FILE';
const charactersMin = 32;
const credentialsMax = 5;
const hashForm = /^sha256:([0-9a-f]{64})$/;
const secretForm = /^[\x21-\x7e]+$/;

/**
 * Reads the hashes of the service credentials with which coordination requests administration tokens: one per line,
 * either the credential itself or `sha256:` and its hash. Without the setting there are none, and nobody gets such
 * tokens.
 * @throws SettingError with the line number, never its content
 */
export async function readDelegationCredentials(settings: Pick<Settings, typeof setting>): Promise<string[]> {
  const file = settings[setting];
  if (file === undefined) return [];
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw Object.assign(new SettingError(setting, 'refers to a file that cannot be read.'), { cause });
  });
  const lines = text.split('\n').map((line) => line.trim());
  const hashes = lines.flatMap((line, index) =>
    line === '' || line.startsWith('#') ? [] : [hashIn(line, index + 1)],
  );
  if (hashes.length === 0 || hashes.length > credentialsMax)
    throw new SettingError(setting, `needs 1 to ${credentialsMax} credentials, one per line.`);
  return hashes;
}

function hashIn(line: string, number: number): string {
  const stored = hashForm.exec(line)?.[1];
  if (stored !== undefined) return stored;
  if (line.startsWith('sha256:') || line.length < charactersMin || !secretForm.test(line))
    throw new SettingError(
      setting,
      `has a line ${number} that is neither a secret of ${charactersMin} characters or more without blanks nor \`sha256:\` with 64 lower-case hexadecimal digits.`,
    );
  return secretHash(line);
}
