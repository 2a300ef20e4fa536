import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** What a running Baton writes to `connection.json` in its folder, for the programs of its owner. */
export interface Connection {
  readonly identityUrl: string;
  readonly coordinationUrl: string;
  readonly issuer: string;
  readonly tenantId: string;
  readonly iamBootstrapToken: string;
  /** A personal access token of the administrator. */
  readonly adminToken: string;
}

export interface ConnectionPlaces {
  /** A connection file: there, and nowhere else. */
  readonly file?: string | undefined;
  /** The folder of a Baton: its file, and no other. */
  readonly home?: string | undefined;
  /** Folders whose `.baton` is looked into, one after the other. */
  readonly folders: readonly string[];
}

/** A connection file that can't be used. The message is a sentence for the user and holds no value of the file. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

const fields = [
  'identityUrl',
  'coordinationUrl',
  'issuer',
  'tenantId',
  'iamBootstrapToken',
  'adminToken',
] as const;

/**
 * Finds how to connect to the Baton of this machine.
 * @example console.log(findConnection({ folders: [folder] })?.coordinationUrl);
 * @returns undefined where none of the places has a file
 * @throws ConnectionError when a file is damaged or can't be read, or the named one is missing
 */
export function findConnection({ file, home, folders }: ConnectionPlaces): Connection | undefined {
  const named = file ?? (home && join(home, 'connection.json'));
  const candidates = named ? [named] : folders.map((folder) => resolve(folder, '.baton', 'connection.json'));
  for (const path of candidates) {
    const text = readText(path);
    if (text !== undefined) return parseConnection(text, path);
  }
  if (file !== undefined) throw new ConnectionError(`There is no file ${file}.`);
  return undefined;
}

/**
 * Reads the text of a connection file; `path` is for the messages.
 * @example
 * const text = JSON.stringify(findConnection({ folders: [folder] }));
 * console.log(parseConnection(text, 'connection.json').tenantId);
 * @throws ConnectionError that names what is missing, never a value
 */
export function parseConnection(text: string, path: string): Connection {
  const values = objectIn(text);
  if (values === undefined)
    throw new ConnectionError(`${path} is not a JSON object: start Baton again to write a new one.`);
  const missing = fields.filter((name) => typeof values[name] !== 'string' || values[name] === '');
  if (missing.length > 0)
    throw new ConnectionError(`${path} lacks ${missing.join(', ')}: start Baton again to write a new one.`);
  return Object.fromEntries(fields.map((name) => [name, values[name]])) as unknown as Connection;
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR'].includes(code)) return undefined;
    throw new ConnectionError(`${path} can't be read (${code}).`);
  }
}
