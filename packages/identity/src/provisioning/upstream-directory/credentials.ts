import { readFile } from 'node:fs/promises';
import { SettingError } from '@baton/kernel/process/config';
import type { Settings } from '../settings.ts';

/**
 * How Baton authenticates at the directory of one source: as a client of its realm, or with a token that is renewed
 * elsewhere.
 */
export type UpstreamCredentials = {
  /**
   * The only address that these credentials are sent to. The API can change the address of the source, but not the
   * operator's file.
   */
  readonly baseUrl: string;
} & ({ readonly clientId: string; readonly clientSecret: string } | { readonly token: string });

const setting = 'IAM_UPSTREAM_CREDENTIALS_FILE';
const lineForm =
  /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) +(https?:\/\/[^\s?#]+) +(?:Bearer +([\x21-\x7e]+)|([^\s:]+):(\S+))$/i;

/**
 * Reads the file of upstream credentials (see docs/reference/scim.md#upstream-directory): one line per source. Empty
 * lines and lines that start with `#` are ignored. Without the setting, no source has credentials.
 * @returns the credentials by the id of their source
 * @throws SettingError with the line number, never its content
 */
export async function readUpstreamCredentials(
  settings: Pick<Settings, typeof setting>,
): Promise<ReadonlyMap<string, UpstreamCredentials>> {
  const file = settings[setting];
  const found = new Map<string, UpstreamCredentials>();
  if (file === undefined) return found;
  const lines = (await readText(file)).split('\n').map((line) => line.trim());
  for (const [index, line] of lines.entries()) {
    if (line === '' || line.startsWith('#')) continue;
    const [, id, address, token, clientId = '', clientSecret = ''] = lineForm.exec(line) ?? [];
    if (id === undefined || address === undefined)
      throw new SettingError(setting, `has a line ${index + 1} with an invalid format.`);
    if (found.has(id.toLowerCase()))
      throw new SettingError(setting, `has a line ${index + 1} that repeats a source.`);
    const baseUrl = withoutSlash(address);
    const credentials = token === undefined ? { baseUrl, clientId, clientSecret } : { baseUrl, token };
    found.set(id.toLowerCase(), credentials);
  }
  return found;
}

/** A base address is the same with and without a trailing slash. */
export function withoutSlash(address: string): string {
  return address.replace(/\/+$/, '');
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw Object.assign(new SettingError(setting, 'refers to a file that cannot be read.'), { cause });
  }
}
